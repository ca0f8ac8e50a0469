//! Metrics of the caches of LocalResponseCache.

use std::fmt::Write as _;
use std::sync::Arc;

use weir_cache::{CacheCounts, Caches, ResponseCache};

/// Rows of each metric at most.
const ROWS_MAX: usize = 1_000;

type Read = fn(&CacheCounts) -> u64;

const ROWS: [(&str, &str, &str, Read); 7] = [
    ("hits_total", "counter", "Requests answered from the cache.", |c| c.hits),
    ("stale_total", "counter", "Of these, those whose answer was no longer fresh.", |c| c.stale),
    ("misses_total", "counter", "Requests that the cache had no answer for.", |c| c.misses),
    ("waited_total", "counter", "Requests that waited for another one's fetch.", |c| c.waited),
    ("stored_total", "counter", "Responses that were kept.", |c| c.stored),
    ("entries", "gauge", "Entries of the cache.", |c| c.entries),
    ("bytes", "gauge", "Bytes of the cache.", |c| c.bytes),
];

/// The metrics in the Prometheus text format; nothing without caches.
pub fn prometheus(caches: &Caches) -> String {
    let caches = caches.all();
    if caches.is_empty() { String::new() } else { metrics_of(&caches) }
}

/// Name, type and meaning of every metric, without values: for the reference.
pub fn metrics() -> String {
    metrics_of(&[])
}

fn metrics_of(caches: &[Arc<ResponseCache>]) -> String {
    let mut out = String::new();
    for (name, kind, help, read) in ROWS {
        let name = format!("weir_cache_{name}");
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for cache in caches.iter().take(ROWS_MAX) {
            let label =
                cache.name().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = writeln!(out, "{name}{{cache=\"{label}\"}} {}", read(&cache.counts()));
        }
    }
    out
}
