//! The caches of LocalResponseCache: their metrics, `/actuator/caches`, and clearing them.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use weir_cache::{CacheCounts, Caches, ResponseCache};

/// Rows of each metric at most.
const ROWS_MAX: usize = 1_000;

type Read = fn(&CacheCounts) -> u64;

const ROWS: [(&str, &str, &str, Read); 7] = [
    ("hits_total", "counter", "Requests answered from the cache.", |c| c.hits),
    ("stale_total", "counter", "Of these, those whose answer was no longer fresh.", |c| c.stale),
    ("misses_total", "counter", "Requests not answered from the cache.", |c| c.misses),
    ("waited_total", "counter", "Requests that waited for another one's fetch.", |c| c.waited),
    ("stored_total", "counter", "Responses stored.", |c| c.stored),
    ("entries", "gauge", "Entries of the cache.", |c| c.entries),
    ("bytes", "gauge", "Bytes of the cache.", |c| c.bytes),
];

/// Spring Cloud Gateway's names for the cache that routes share, and for what manages all.
const SHARED: &str = "response-cache";
const MANAGER: &str = "gatewayCacheManager";

/// One cache, or all of them, as Spring Boot shows them, with counts; `None` if there is none.
pub fn show(caches: &Caches, name: Option<&str>) -> Option<Value> {
    let all = caches.all();
    if let Some(name) = name {
        let found = all.iter().find(|cache| shown_name(cache) == name)?;
        let mut one = shown(found);
        one.insert("name".to_owned(), json!(name));
        one.insert("cacheManager".to_owned(), json!(MANAGER));
        return Some(Value::Object(one));
    }
    let all: Map<String, Value> =
        all.iter().map(|one| (shown_name(one).to_owned(), Value::Object(shown(one)))).collect();
    Some(json!({ "cacheManagers": { MANAGER: { "caches": all } } }))
}

/// Empties the cache of this name, or all of them; false if there is none.
pub fn empty(caches: &Caches, name: Option<&str>) -> bool {
    let mut all = caches.all();
    all.retain(|cache| name.is_none_or(|name| shown_name(cache) == name));
    all.iter().for_each(|cache| cache.clear());
    name.is_none() || !all.is_empty()
}

fn shown_name(cache: &ResponseCache) -> &str {
    if cache.name().is_empty() { SHARED } else { cache.name() }
}

fn shown(cache: &ResponseCache) -> Map<String, Value> {
    let counts = cache.counts();
    let mut shown = Map::new();
    let mut add = |name: &str, value: Value| shown.insert(name.to_owned(), value);
    add("target", json!("weir"));
    add("entries", json!(counts.entries));
    add("bytes", json!(counts.bytes));
    add("bytesMax", json!(cache.bytes_max()));
    add("hits", json!(counts.hits));
    add("stale", json!(counts.stale));
    add("misses", json!(counts.misses));
    shown
}

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
