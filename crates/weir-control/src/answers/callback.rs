//! Callbacks of mocks: sent once the mock has answered, a few times if nobody takes them.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use http::{HeaderName, Method, StatusCode};
use tokio::sync::Semaphore;
use weir_mock::CallbackRequest;

use crate::http::{Answer, Ask, Failure, Pool, Reach, shown};

/// Callbacks on their way at the same time; others wait.
const AT_ONCE: usize = 64;
/// Callbacks that wait or are on their way; more are dropped.
const PLACES: usize = 1_024;
/// Kibibytes that all of them may hold; more are dropped.
const KIB_MAX: usize = 64 * 1024;
/// How often one is sent at most.
const TRIES_MAX: u32 = 3;
/// Wait before it is sent again the first time; each further wait is four times as long.
const AGAIN: Duration = Duration::from_millis(500);
/// From the connection to the end of the answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest answer.
const BODY_BYTES_MAX: usize = 1 << 20;

/// What became of callbacks.
#[derive(Clone, Copy)]
enum Outcome {
    /// Answered with a status below 400.
    Accepted,
    /// Answered with another one.
    Rejected,
    /// Not answered.
    Failed,
    /// Not sent, as too many were waiting.
    Dropped,
    /// Sent once more.
    Retried,
}

impl Outcome {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Accepted, "accepted"),
        (Self::Rejected, "rejected"),
        (Self::Failed, "failed"),
        (Self::Dropped, "dropped"),
        (Self::Retried, "retried"),
    ];
}

static COUNTS: [AtomicU64; Outcome::ALL.len()] = [const { AtomicU64::new(0) }; Outcome::ALL.len()];

/// Bounds callbacks, and holds their connections.
#[derive(Debug)]
pub(super) struct Callbacks {
    places: Arc<Semaphore>,
    kib: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    /// Connections of their own: each was judged when it was opened.
    pool: Pool,
}

impl Default for Callbacks {
    fn default() -> Self {
        Self::bounded(PLACES, KIB_MAX)
    }
}

impl Callbacks {
    fn bounded(places: usize, kib: usize) -> Self {
        let bound = |max| Arc::new(Semaphore::new(max));
        let (places, kib, turns) = (bound(places), bound(kib), bound(AT_ONCE));
        Self { places, kib, turns, pool: Pool::default() }
    }

    /// Sends a callback, if there is room for it. Nobody waits for it.
    pub fn send(&self, request: CallbackRequest, reach: Reach) {
        let kib = u32::try_from(request.body.len() / 1024 + 1).unwrap_or(u32::MAX);
        let place = Arc::clone(&self.places).try_acquire_owned();
        let kib = Arc::clone(&self.kib).try_acquire_many_owned(kib);
        let (Ok(place), Ok(kib)) = (place, kib) else {
            count(Outcome::Dropped);
            warn(&format!("callback {}: dropped, too many are waiting", request.name));
            return;
        };
        let (turns, pool) = (Arc::clone(&self.turns), self.pool.clone());
        tokio::spawn(async move {
            let _held = (place, kib);
            deliver(&request, reach, &pool, &turns).await;
        });
    }
}

/// Sends a callback until somebody takes it, or often enough.
async fn deliver(request: &CallbackRequest, reach: Reach, pool: &Pool, turns: &Semaphore) {
    let mut wait = AGAIN;
    let mut tries = 1;
    let sent = loop {
        // Given back while it waits for the next try.
        let turn = turns.acquire().await;
        let sent = attempt(request, reach, Some(pool)).await;
        drop(turn);
        if tries == TRIES_MAX || !may_be_sent_again(&sent) {
            break sent;
        }
        count(Outcome::Retried);
        tokio::time::sleep(wait).await;
        (wait, tries) = (wait * 4, tries + 1);
    };
    let CallbackRequest { name, method, url, why, .. } = request;
    let (url, tries) =
        (shown(url), if tries == 1 { String::new() } else { format!(", try {tries}") });
    match sent {
        Ok(answer) => {
            let status = answer.status.as_u16();
            let told = format!("callback {name}: {method} {url} → {status} ({why}{tries})");
            if status < 400 {
                count(Outcome::Accepted);
                tracing::debug!(target: "weir::mock", "{told}");
            } else {
                count(Outcome::Rejected);
                warn(&told);
            }
        }
        Err(failure) => {
            count(Outcome::Failed);
            warn(&format!(
                "callback {name}: {method} {url} not delivered: {failure} ({why}{tries})"
            ));
        }
    }
}

/// A webhook that was sent once: what was answered, or why nothing was.
///
/// # Errors
/// Why there is no answer.
pub async fn send_webhook(
    request: &CallbackRequest,
    admin: Option<SocketAddr>,
) -> Result<(u16, Vec<u8>), String> {
    let answer = attempt(request, Reach { admin, metadata: false }, None).await;
    let answer = answer.map_err(|failure| failure.to_string())?;
    Ok((answer.status.as_u16(), answer.body.to_vec()))
}

async fn attempt(
    request: &CallbackRequest,
    reach: Reach,
    pool: Option<&Pool>,
) -> Result<Answer, Failure> {
    let nonsense = |error: &dyn std::fmt::Display| Failure::Nonsense(error.to_string());
    let mut ask = Ask::get(&request.url, TIMEOUT, BODY_BYTES_MAX);
    ask.method = Method::from_bytes(request.method.as_bytes()).map_err(|error| nonsense(&error))?;
    ask.headers.clear();
    for (name, value) in &request.fields {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| nonsense(&error))?;
        ask.fields.push((name, value.clone()));
    }
    ask.content.clone_from(&request.body);
    ask.reach = Some(reach);
    match pool {
        Some(pool) => ask.send_by(pool).await,
        None => ask.send().await,
    }
}

fn may_be_sent_again(sent: &Result<Answer, Failure>) -> bool {
    match sent {
        Ok(answer) => {
            let busy = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
            answer.status.is_server_error() || busy.contains(&answer.status)
        }
        Err(failure) => matches!(failure, Failure::Unreachable(_) | Failure::TimedOut(_)),
    }
}

fn warn(message: &str) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    weir_server::warn_of_callback(now_ms, message);
}

fn count(outcome: Outcome) {
    if let Some(counter) = COUNTS.get(outcome as usize) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Metrics of all callbacks in the Prometheus text format.
pub fn callbacks_prometheus() -> String {
    let mut out = String::new();
    let name = "weir_mock_callbacks_total";
    let help = "Callbacks of mocks by what became of them; `retried` counts further tries.";
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n");
    for ((_, outcome), count) in Outcome::ALL.iter().zip(&COUNTS) {
        let count = count.load(Ordering::Relaxed);
        let _ = writeln!(out, "{name}{{outcome=\"{outcome}\"}} {count}");
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use tokio::net::TcpListener;
    use weir_mock::CallbackRequest;

    use super::{COUNTS, Callbacks, Outcome};
    use crate::http::Reach;

    #[tokio::test]
    async fn what_finds_no_room_is_dropped() {
        // Nobody accepts, so that nothing is answered.
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let request = |bytes: usize| CallbackRequest {
            name: "a: b".to_owned(),
            method: "POST".to_owned(),
            url: url.clone(),
            fields: Vec::new(),
            body: vec![0; bytes],
            why: String::new(),
        };
        let dropped = || COUNTS[Outcome::Dropped as usize].load(Ordering::Relaxed);
        let reach = Reach { admin: None, metadata: false };
        let callbacks = Callbacks::bounded(2, 10);
        callbacks.send(request(8 * 1024), reach);
        assert_eq!(dropped(), 0);
        callbacks.send(request(8 * 1024), reach);
        assert_eq!(dropped(), 1, "too many bytes");
        callbacks.send(request(1), reach);
        assert_eq!(dropped(), 1);
        callbacks.send(request(1), reach);
        assert_eq!(dropped(), 2, "too many callbacks");
    }
}
