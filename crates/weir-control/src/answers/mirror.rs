//! Copies of requests: sent after the response to the original, and compared by status.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderName, Method};
use tokio::sync::Semaphore;
use weir_filter::Copied;

use crate::http::{Ask, Failure, Pool};

/// Copies on their way at the same time; more are dropped.
const AT_ONCE: usize = 256;
/// Answers are dropped; longer ones are not read to their end.
const BODY_BYTES_MAX: usize = 4 << 20;
/// Routes that are counted by name; others together.
const ROUTES_MAX: usize = 1_000;

/// Counters of copies, by route and outcome.
static COUNTS: Mutex<BTreeMap<(String, &'static str), u64>> = Mutex::new(BTreeMap::new());

/// Bounds how many copies are on their way.
#[derive(Debug)]
pub(super) struct Mirrors(Arc<Semaphore>);

impl Default for Mirrors {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Mirrors {
    /// Sends a copy in the background, if the limit of copies in flight permits.
    pub fn send(&self, copied: Copied, pool: Pool) {
        let Ok(room) = Arc::clone(&self.0).try_acquire_owned() else {
            return count(&copied.route, "dropped");
        };
        tokio::spawn(async move {
            let _room = room;
            let outcome = match send(&copied, &pool).await {
                Ok(status) if status == copied.status => "same",
                Ok(status) => {
                    let (route, own) = (&copied.route, copied.status);
                    tracing::debug!(route, "the mirror answered {status} instead of {own}");
                    "different"
                }
                Err(why) => {
                    tracing::debug!(route = copied.route, "the mirror did not answer: {why}");
                    "failed"
                }
            };
            count(&copied.route, outcome);
        });
    }
}

async fn send(copied: &Copied, pool: &Pool) -> Result<u16, Failure> {
    let nonsense = |error: &dyn std::fmt::Display| Failure::Nonsense(error.to_string());
    let mut ask = Ask::get(&copied.url, Duration::from_millis(copied.timeout_ms), BODY_BYTES_MAX);
    ask.method = Method::from_bytes(copied.method.as_bytes()).map_err(|error| nonsense(&error))?;
    ask.headers.clear();
    for (name, value) in &copied.fields {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| nonsense(&error))?;
        ask.fields.push((name, value.clone()));
    }
    ask.content.clone_from(&copied.content);
    Ok(ask.send_by(pool).await?.status.as_u16())
}

fn count(route: &str, outcome: &'static str) {
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = counts.len() < ROUTES_MAX || counts.contains_key(&(route.to_owned(), outcome));
    let route = if is_known { route } else { "_other" };
    *counts.entry((route.to_owned(), outcome)).or_default() += 1;
}

/// Metrics of all copies in the Prometheus text format; nothing without any.
pub fn mirrors_prometheus() -> String {
    let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    if counts.is_empty() { String::new() } else { metrics_of(&counts) }
}

/// Name, type and meaning of the metric, without values: for the reference.
pub fn mirrors_metrics() -> String {
    metrics_of(&BTreeMap::new())
}

fn metrics_of(counts: &BTreeMap<(String, &'static str), u64>) -> String {
    let mut out = String::new();
    let name = "weir_mirror_total";
    let help = "Copies of requests, by how their status compared.";
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n");
    for ((route, outcome), count) in counts {
        let route = route.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = writeln!(out, "{name}{{route=\"{route}\",outcome=\"{outcome}\"}} {count}");
    }
    out
}
