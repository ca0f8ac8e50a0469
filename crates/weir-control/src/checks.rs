//! Active health checks of the instances of clusters, independent of traffic. Unhealthy instances
//! are taken out.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use weir_balance::{Check, Directory, Instance, Member, Verdict};

use crate::http::Ask;
use crate::plane::Plane;

/// The interval at which the list of instances is read.
const ASK: Duration = Duration::from_millis(500);
/// Looks at the same time; others wait for their turn.
const LOOKS_MAX: usize = 64;

/// A monotonic clock in milliseconds; the one that requests use.
pub type Clock = fn() -> u64;

/// Looks at instances as the rules of their clusters say, for as long as the plane lives.
pub fn check_upstreams(plane: &Plane, directory: &Arc<Directory>, clock: Clock) -> AbortHandle {
    let directory = Arc::clone(directory);
    plane.supervise("checks", move || watch(Arc::clone(&directory), clock))
}

/// Checks each instance in its own task: a check that hangs delays no other.
async fn watch(directory: Arc<Directory>, clock: Clock) {
    let turns = Arc::new(Semaphore::new(LOOKS_MAX));
    let mut tended: Vec<(Arc<Member>, Weak<()>)> = Vec::new();
    let mut running = JoinSet::new();
    loop {
        while running.try_join_next().is_some() {}
        tended.retain(|(_, life)| life.strong_count() > 0);
        for cluster in directory.clusters() {
            if cluster.rules().check.is_none() {
                continue;
            }
            for (member, _) in cluster.members() {
                if tended.iter().any(|(known, _)| Arc::ptr_eq(known, &member)) {
                    continue;
                }
                let life = Arc::new(());
                tended.push((Arc::clone(&member), Arc::downgrade(&life)));
                let tending = Tending {
                    directory: Arc::clone(&directory),
                    service: cluster.name().to_owned(),
                    member,
                    turns: Arc::clone(&turns),
                    clock,
                    _life: life,
                };
                running.spawn(tending.run());
            }
        }
        tokio::time::sleep(ASK).await;
    }
}

/// One instance under check.
struct Tending {
    directory: Arc<Directory>,
    service: String,
    member: Arc<Member>,
    turns: Arc<Semaphore>,
    clock: Clock,
    /// Marks the instance as checked while this task lives.
    _life: Arc<()>,
}

impl Tending {
    async fn run(self) {
        let mut verdict = Verdict::default();
        let mut is_first = true;
        let mut is_done = false;
        while let Some((check, instance)) = self.wanted() {
            if std::mem::replace(&mut is_first, false) {
                tokio::time::sleep(check.initial_delay).await;
            }
            if check.repeats || !is_done {
                // The semaphore is never closed.
                let turn = self.turns.acquire().await;
                let found = look(&check, &instance).await;
                drop(turn);
                is_done |= found.is_ok();
                self.note(found, &mut verdict, &check);
            }
            tokio::time::sleep(check.interval).await;
        }
        self.member.checked(true, (self.clock)());
    }

    /// The current check of the instance; `None` if it is no longer checked.
    fn wanted(&self) -> Option<(Check, Arc<Instance>)> {
        let cluster = self.directory.cluster(&self.service)?;
        let check = cluster.rules().check.clone()?;
        let mut all = cluster.members().into_iter();
        let (_, instance) = all.find(|(member, _)| Arc::ptr_eq(member, &self.member))?;
        Some((check, instance))
    }

    fn note(&self, found: Result<(), String>, verdict: &mut Verdict, check: &Check) {
        let is_up = verdict.add(found.is_ok(), check.rise, check.fall);
        let why = found.err();
        self.member.note_check(why.clone());
        let is_news = is_up.is_some_and(|is_up| self.member.checked(is_up, (self.clock)()));
        let (service, target) = (&self.service, &self.member.target);
        let instance = format_args!("{}:{}", target.host, target.port);
        match why {
            None if is_news => tracing::info!(service, %instance, "up again"),
            Some(why) if is_news => tracing::warn!(service, %instance, "taken out: {why}"),
            _ => {}
        }
    }
}

/// Looks at one instance once.
async fn look(check: &Check, instance: &Instance) -> Result<(), String> {
    let time = check.timeout;
    let looked = tokio::time::timeout(time, ask(check, instance)).await;
    looked.unwrap_or_else(|_| Err(format!("no answer within {time:?}")))
}

async fn ask(check: &Check, instance: &Instance) -> Result<(), String> {
    let (host, port) = (&instance.target.host, check.port.unwrap_or(instance.target.port));
    let Some(path) = &check.path else {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let connected = TcpStream::connect((bare, port)).await;
        return connected.map(drop).map_err(|error| error.to_string());
    };
    let url = format!("http://{host}:{port}{path}");
    // The head is enough: a long body is not read.
    let answer = Ask::get(&url, check.timeout, 0).open().await;
    let status = answer.map_err(|failure| failure.to_string())?.status.as_u16();
    let (first, last) = check.status;
    match (first..=last).contains(&status) {
        true => Ok(()),
        false => Err(format!("status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// A server that answers one connection with `answer`.
    fn server(answer: &'static str) -> Instance {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer.as_bytes());
        });
        Instance::new("127.0.0.1", port, false)
    }

    #[tokio::test]
    async fn a_look_is_good_or_says_why_not() {
        let path = Check { path: Some("/health".into()), ..Check::default() };
        let check = |check: Check, answer| async move { look(&check, &server(answer)).await };
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nstart";
        assert_eq!(check(path.clone(), ok).await, Ok(()));
        let bad = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(check(path.clone(), bad).await, Err("status 503".to_owned()));
        let wide = Check { status: (200, 503), ..path.clone() };
        assert_eq!(check(wide, bad).await, Ok(()));
        assert_eq!(check(Check::default(), "").await, Ok(()));
        assert!(check(path.clone(), "nonsense\r\n\r\n").await.is_err());
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let gone = Instance::new("127.0.0.1", port, false);
        assert!(look(&Check::default(), &gone).await.is_err());
    }
}
