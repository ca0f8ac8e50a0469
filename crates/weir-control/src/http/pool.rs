//! A pool of connections: ForwardAuth, Mirror, TokenRelay and the keys of issuers send requests to
//! the same few servers.
//!
//! The connections themselves are hyper's; here is only which of them lie idle. A connection that
//! the server closes meanwhile is noticed by its task, so it is not handed out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connection::{Connection, Target};
use super::reach::Reach;

/// Idle connections to one server.
const PER_TARGET_MAX: usize = 32;
/// Idle connections to all servers.
const IDLE_MAX: usize = 256;
/// The maximum idle time of a connection.
const IDLE: Duration = Duration::from_secs(15);
/// The maximum lifetime of a connection, so that names are resolved again.
const LIFE: Duration = Duration::from_secs(300);
/// The time for a connection to become ready for another request once its answer was read.
const READY: Duration = Duration::from_secs(1);

/// Idle connections, by server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    idle: Arc<Mutex<Idle>>,
    /// Where its connections may lead; anywhere if `None`.
    reach: Option<Reach>,
}

#[derive(Debug, Default)]
struct Idle {
    /// Idle connections by target, the most recently used last. No list is empty.
    connections: HashMap<Target, Vec<(Connection, Instant)>>,
    /// Whether the task that closes connections after their idle time is running.
    is_swept: bool,
}

impl Pool {
    /// A pool whose connections stay within `reach`.
    pub fn within(reach: Reach) -> Self {
        Self { reach: Some(reach), ..Self::default() }
    }

    /// Where its connections may lead.
    pub(super) fn reach(&self) -> Option<Reach> {
        self.reach
    }

    /// The connection to `target` that was used last.
    pub fn take(&self, target: &Target) -> Option<Connection> {
        let mut idle = self.idle();
        let list = idle.connections.get_mut(target)?;
        let found = loop {
            match list.pop() {
                Some((connection, since)) if is_usable(&connection, since) => {
                    break Some(connection);
                }
                Some(_) => {}
                None => break None,
            }
        };
        if list.is_empty() {
            idle.connections.remove(target);
        }
        found
    }

    /// Keeps a connection whose answer has been read, once it is ready for another request.
    pub fn put(&self, target: Target, mut connection: Connection) {
        if connection.made.elapsed() >= LIFE {
            return;
        }
        let pool = self.clone();
        tokio::spawn(async move {
            if let Ok(Ok(())) = tokio::time::timeout(READY, connection.sender.ready()).await {
                pool.keep(target, connection);
            }
        });
    }

    fn keep(&self, target: Target, connection: Connection) {
        let mut idle = self.idle();
        if idle.count() >= IDLE_MAX {
            idle.sweep();
        }
        if idle.count() >= IDLE_MAX {
            return;
        }
        let list = idle.connections.entry(target).or_default();
        if list.len() >= PER_TARGET_MAX {
            return;
        }
        list.push((connection, Instant::now()));
        if !std::mem::replace(&mut idle.is_swept, true) {
            tokio::spawn(self.clone().sweep());
        }
    }

    /// Closes connections after their idle time, until the pool is empty.
    async fn sweep(self) {
        loop {
            tokio::time::sleep(IDLE).await;
            let mut idle = self.idle();
            idle.sweep();
            if idle.connections.is_empty() {
                idle.is_swept = false;
                return;
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn count(&self) -> usize {
        self.connections.values().map(Vec::len).sum()
    }

    fn sweep(&mut self) {
        self.connections.retain(|_, list| {
            list.retain(|(connection, since)| is_usable(connection, *since));
            !list.is_empty()
        });
    }
}

fn is_usable(connection: &Connection, since: Instant) -> bool {
    since.elapsed() < IDLE && connection.made.elapsed() < LIFE && connection.sender.is_ready()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use http::Method;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::{IDLE, PER_TARGET_MAX, Pool};
    use crate::http::Ask;

    /// The reaction of a server to further requests on a connection.
    #[derive(Clone, Copy)]
    enum Then {
        Answers,
        /// Closes at once, and says so.
        SaysClose,
        /// Closes at once without a word.
        Closes,
        /// Reads the next request and closes without an answer.
        Breaks,
    }

    /// A server on a port of its own, and the number of connections it has accepted.
    async fn server(then: Then) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let count = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&count);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, then));
            }
        });
        (url, count)
    }

    async fn serve(mut stream: TcpStream, then: Then) {
        let close = if matches!(then, Then::SaysClose) { "Connection: close\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{close}\r\nok");
        let mut served = 0;
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { return };
                head.push(byte);
            }
            if served > 0 && matches!(then, Then::Breaks) {
                return;
            }
            let _ = stream.write_all(answer.as_bytes()).await;
            served += 1;
            if matches!(then, Then::SaysClose | Then::Closes) {
                return;
            }
        }
    }

    fn ask(url: &str, method: Method) -> Ask<'_> {
        Ask { method, ..Ask::get(url, Duration::from_secs(30), 100) }
    }

    /// Until `pool` has `count` connections.
    async fn holds(pool: &Pool, count: usize) {
        while pool.idle().count() != count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_connection_is_used_again() {
        let (url, accepted) = server(Then::Answers).await;
        let pool = Pool::default();
        for _ in 0..3 {
            let answer = ask(&url, Method::POST).send_by(&pool).await.expect("an answer");
            assert_eq!(answer.body, "ok");
            holds(&pool, 1).await;
        }
        assert_eq!(accepted.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn closed_ones_are_not() {
        let (url, accepted) = server(Then::SaysClose).await;
        let pool = Pool::default();
        for count in 1..4 {
            ask(&url, Method::POST).send_by(&pool).await.expect("an answer");
            assert_eq!(accepted.load(Ordering::Relaxed), count);
        }
        // A safe request is sent again, whether the close is noticed before it or by it.
        let (url, _) = server(Then::Closes).await;
        for _ in 0..20 {
            ask(&url, Method::GET).send_by(&pool).await.expect("an answer");
        }
    }

    #[tokio::test]
    async fn only_what_may_be_asked_twice_is_asked_again() {
        let (url, accepted) = server(Then::Breaks).await;
        let pool = Pool::default();
        let repeatable = |method| Ask { is_repeatable: true, ..ask(&url, method) };
        for (question, is_answered) in [
            (ask(&url, Method::GET), true),
            (repeatable(Method::POST), true),
            (ask(&url, Method::POST), false),
        ] {
            ask(&url, Method::GET).send_by(&pool).await.expect("an answer");
            holds(&pool, 1).await;
            let before = accepted.load(Ordering::Relaxed);
            let answer = question.send_by(&pool).await;
            assert_eq!(answer.is_ok(), is_answered, "{answer:?}");
            let connections = accepted.load(Ordering::Relaxed) - before;
            assert_eq!(connections, usize::from(is_answered));
            if is_answered {
                holds(&pool, 1).await;
                pool.idle().connections.clear();
            }
        }
    }

    #[tokio::test]
    async fn idle_ones_are_closed() {
        let (url, _) = server(Then::Answers).await;
        let pool = Pool::default();
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..PER_TARGET_MAX + 5 {
            let (url, pool) = (url.clone(), pool.clone());
            asking.spawn(async move { ask(&url, Method::GET).send_by(&pool).await.map(drop) });
        }
        let answers = asking.join_all().await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert!((1..=PER_TARGET_MAX).contains(&pool.idle().count()));
        let long_ago = Instant::now().checked_sub(IDLE).expect("a moment");
        for (_, since) in pool.idle().connections.values_mut().flatten() {
            *since = long_ago;
        }
        let target = pool.idle().connections.keys().next().cloned().expect("a server");
        assert!(pool.take(&target).is_none());
        assert_eq!(pool.idle().count(), 0);
    }
}
