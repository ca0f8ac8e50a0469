//! Password checks against bcrypt hashes. Each takes tens of milliseconds of CPU, so they run on
//! threads of their own, at a lower priority than the workers.
//!
//! One address gets at most half of the threads, so that a client that guesses passwords does not
//! delay the others. Equal questions share one check.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, oneshot};
use weir_filter::Answer;

/// Checks at the same time at least, and at most.
const AT_ONCE: std::ops::RangeInclusive<usize> = 2..=8;
/// The maximum number of addresses that are remembered without a waiting check.
const SPENT_MAX: usize = 1_000;
/// The niceness of the checking threads.
const NICE: i32 = 10;

/// Shares out how many passwords are checked at a time.
#[derive(Debug)]
pub(super) struct Passwords {
    all: Arc<Semaphore>,
    share: usize,
    shares: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
    /// Checks in progress that a request waits for.
    asked: Mutex<HashMap<Asked, Arc<OnceCell<bool>>>>,
}

/// A hash and a password.
type Asked = (Arc<str>, String);

/// The permits for a check; held until the work is done, even when no request waits for it any
/// more.
type Turn = [OwnedSemaphorePermit; 2];

impl Default for Passwords {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::new(cores.clamp(*AT_ONCE.start(), *AT_ONCE.end()))
    }
}

impl Passwords {
    fn new(at_once: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(at_once)),
            share: (at_once / 2).max(1),
            shares: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Whether `password`, sent by `client`, matches `hash`.
    pub async fn check(&self, hash: &Arc<str>, password: &str, client: IpAddr) -> Answer {
        let waiting = self.wait((Arc::clone(hash), password.to_owned()));
        let checked = waiting.cell.get_or_try_init(|| async {
            let turn = self.turn(client).await?;
            verify(waiting.asked.clone(), turn).await
        });
        match checked.await {
            Ok(right) => Answer::Password(*right),
            Err(why) => Answer::Nobody(why),
        }
    }

    async fn turn(&self, client: IpAddr) -> Result<Turn, String> {
        let ended = |_| "nobody checks passwords any more".to_owned();
        let own = self.share_of(client).acquire_owned().await.map_err(ended)?;
        let of_all = Arc::clone(&self.all).acquire_owned().await.map_err(ended)?;
        Ok([own, of_all])
    }

    fn share_of(&self, client: IpAddr) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= SPENT_MAX {
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        Arc::clone(shares.entry(client).or_insert_with(|| Arc::new(Semaphore::new(self.share))))
    }

    fn wait(&self, asked: Asked) -> Waiting<'_> {
        let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = Arc::clone(all.entry(asked.clone()).or_default());
        Waiting { passwords: self, asked, cell }
    }
}

/// A request that waits for a check; the entry is removed with the last one.
struct Waiting<'a> {
    passwords: &'a Passwords,
    asked: Asked,
    cell: Arc<OnceCell<bool>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = self.passwords.asked.lock().unwrap_or_else(PoisonError::into_inner);
        // The references of the map and of this request.
        if Arc::strong_count(&self.cell) == 2 {
            all.remove(&self.asked);
        }
    }
}

/// Runs the check on a new thread: the cost of starting one is negligible against the work.
async fn verify((hash, password): Asked, turn: Turn) -> Result<bool, String> {
    let (done, checked) = oneshot::channel();
    let work = move || {
        // Where the system refuses the lower priority, checks run at that of the workers.
        let _ = rustix::process::setpriority_process(None, NICE);
        let right = bcrypt::verify(password, &hash).map_err(|error| error.to_string());
        drop(turn);
        // Fails only if the asker is gone.
        let _ = done.send(right);
    };
    let thread = std::thread::Builder::new().name("weir-password".into());
    thread.spawn(work).map_err(|error| format!("no thread for the check: {error}"))?;
    checked.await.unwrap_or_else(|_| Err("the check was given up".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::pin::pin;
    use std::sync::Arc;

    use weir_filter::Answer;

    use super::Passwords;

    /// The example of Spring's documentation: `password`.
    const HASH: &str = "$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG";

    const fn client(n: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, n))
    }

    #[tokio::test]
    async fn passwords_are_checked() {
        let passwords = Passwords::default();
        let (hash, one) = (HASH.into(), client(1));
        assert_eq!(passwords.check(&hash, "password", one).await, Answer::Password(true));
        assert_eq!(passwords.check(&hash, "Password", one).await, Answer::Password(false));
    }

    #[tokio::test]
    async fn one_address_leaves_room_for_others() {
        let passwords = Passwords::new(4);
        let first = passwords.turn(client(1)).await.expect("a turn");
        let second = passwords.turn(client(1)).await.expect("a turn");
        let mut third = pin!(passwords.turn(client(1)));
        tokio::select! {
            biased;
            _ = &mut third => panic!("more than its share"),
            turn = passwords.turn(client(2)) => drop(turn.expect("a turn")),
        }
        drop(first);
        drop(third.await.expect("its turn"));
        drop(second);
    }

    #[tokio::test]
    async fn equal_questions_are_one_check() {
        let passwords = Passwords::default();
        let hash = HASH.into();
        let first = passwords.wait((Arc::clone(&hash), "a".to_owned()));
        first.cell.set(true).expect("an answer");
        assert_eq!(passwords.check(&hash, "a", client(1)).await, Answer::Password(true));
        assert_eq!(passwords.check(&hash, "b", client(1)).await, Answer::Password(false));
        drop(first);
        assert!(passwords.asked.lock().expect("a lock").is_empty());
        assert_eq!(passwords.check(&hash, "a", client(1)).await, Answer::Password(false));
    }
}
