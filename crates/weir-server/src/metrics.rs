//! Counters of the data plane and their Prometheus text.
//!
//! Each worker writes its own counters; a scrape adds them up. Label values come from route
//! definitions, statuses and a fixed set of methods, never from requests.

mod series;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::{HashMap, HashSet};
use weir_config::RouteTarget;
use weir_route::Route;

pub(crate) use self::series::RouteKey;
use self::series::{Method, SeriesKey, Timer};
use crate::error::ErrorKind;
use crate::files::{Files, FilesPlan};

/// Series kept by each worker at most; what comes later is counted under routeId `_other`.
const SERIES_MAX: usize = 10_000;

/// What one worker counts. Written by that worker, read by a scrape.
#[derive(Debug, Default)]
pub struct WorkerCounters {
    workers: usize,
    /// Its bit in [`RouteTarget::unlisted`]; beyond 64 workers, some have the same.
    bit: u64,
    connections: AtomicI64,
    accepted: AtomicU64,
    requests: AtomicU64,
    tunnels: AtomicI64,
    upstream_opened: AtomicU64,
    resent: AtomicU64,
    accept_failed: AtomicU64,
    refused_connections: AtomicU64,
    statuses: [AtomicU64; 6],
    errors: Mutex<BTreeMap<&'static str, u64>>,
    series: Mutex<Series>,
    unlisted: AtomicU64,
}

#[derive(Debug, Default)]
struct Series {
    by_key: HashMap<SeriesKey, Timer>,
    /// Routes that have a series of their own.
    listed: HashSet<RouteKey>,
}

impl WorkerCounters {
    /// Those of worker number `n`.
    pub(crate) fn new(n: usize, workers: usize) -> Self {
        Self { workers, bit: 1 << (n % 64), ..Self::default() }
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Connections open now.
    pub fn connections(&self) -> i64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn connection_accepted(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connection_refused(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn accept_failed(&self) {
        self.accept_failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn tunnel_opened(&self) {
        self.tunnels.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn tunnel_closed(&self) {
        self.tunnels.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn upstream_opened(&self) {
        self.upstream_opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn resent(&self) {
        self.resent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn finished(&self, status: u16) {
        count(&self.requests);
        if let Some(class) = self.statuses.get(usize::from(status / 100)) {
            count(class);
        }
    }

    pub(crate) fn failed(&self, kind: ErrorKind) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(kind.name()).or_default() += 1;
    }

    /// Under which requests through `route` are counted. One that has no series, when there is no
    /// room for more, is not looked for again: in a large table, that would be in no cache.
    pub(crate) fn key_of(&self, route: &Route<RouteTarget>) -> RouteKey {
        match route.target.unlisted.load(Ordering::Relaxed) & self.bit {
            0 => RouteKey::of(route),
            _ => RouteKey::default(),
        }
    }

    pub(crate) fn routed(
        &self,
        route: &Route<RouteTarget>,
        key: RouteKey,
        status: u16,
        method: &[u8],
        took: Duration,
    ) {
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let method = Method::of(method);
        let mut key = SeriesKey { route: key, status, method };
        if key.route == RouteKey::default() {
            count(&self.unlisted);
        }
        if let Some(timer) = series.by_key.get_mut(&key) {
            return timer.add(took);
        }
        if key.route != RouteKey::default() {
            if series.by_key.len() < SERIES_MAX {
                series.listed.insert(key.route);
            } else {
                if !series.listed.contains(&key.route) {
                    route.target.unlisted.fetch_or(self.bit, Ordering::Relaxed);
                }
                count(&self.unlisted);
                key.route = RouteKey::default();
            }
        }
        let timer = series.by_key.entry(key).or_insert_with(|| Timer::new(key, route));
        timer.add(took);
    }
}

/// Adds one to a counter that only this thread writes: cheaper than an atomic addition.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Counts a connection as open while it lives, whatever ends it.
#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<WorkerCounters>);

impl OpenConnection {
    pub(crate) fn new(counters: &Arc<WorkerCounters>) -> Self {
        counters.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counters))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The counters of all workers.
#[derive(Clone, Debug)]
pub struct Metrics {
    workers: Arc<[Arc<WorkerCounters>]>,
    files: Arc<Files>,
    started: Instant,
}

/// The labels and values of one exported timer.
type Exported = (u64, Duration, Duration);

impl Default for Metrics {
    /// Counters of no workers.
    fn default() -> Self {
        Self::new(Vec::new(), Files::new(&FilesPlan::of(0, 0)))
    }
}

impl Metrics {
    pub(crate) fn new(workers: Vec<Arc<WorkerCounters>>, files: Arc<Files>) -> Self {
        Self { workers: workers.into(), files, started: Instant::now() }
    }

    /// Open client connections.
    pub fn connections(&self) -> i64 {
        self.sum_i64(|worker| &worker.connections)
    }

    /// Requests answered since start.
    pub fn requests(&self) -> u64 {
        self.sum(|worker| &worker.requests)
    }

    /// Everything in Prometheus' text format (version 0.0.4), names as Micrometer gives them for
    /// SCG.
    pub fn prometheus(&self, routes: usize) -> String {
        let mut out = String::new();
        self.write_timers(&mut out);
        let gauge = |out: &mut String, name: &str, help: &str, value: String| {
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
        };
        let counter = |out: &mut String, name: &str, help: &str, value: u64| {
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}\n");
        };
        let routes_help = "Routes in the table.";
        gauge(&mut out, "spring_cloud_gateway_routes_count", routes_help, routes.to_string());
        let open = self.connections().to_string();
        gauge(&mut out, "weir_connections", "Open client connections.", open);
        let tunnels = self.sum_i64(|worker| &worker.tunnels).to_string();
        gauge(&mut out, "weir_tunnels", "Upgraded connections.", tunnels);
        let up = self.started.elapsed().as_secs_f64().to_string();
        gauge(&mut out, "process_uptime_seconds", "Time since start.", up);
        let requests = self.requests();
        counter(&mut out, "weir_requests_total", "Requests answered.", requests);
        let accepted = self.sum(|worker| &worker.accepted);
        counter(&mut out, "weir_connections_accepted_total", "Connections accepted.", accepted);
        let refused = self.sum(|worker| &worker.refused_connections);
        let help = "Connections closed because weir.server.connections-max was reached.";
        counter(&mut out, "weir_connections_refused_total", help, refused);
        let failed = self.sum(|worker| &worker.accept_failed);
        counter(&mut out, "weir_accept_failures_total", "Failed accepts.", failed);
        let help = "Times that clients had to wait for an open file to be accepted.";
        counter(&mut out, "weir_accept_waits_total", help, self.files.waits());
        let opened = self.sum(|worker| &worker.upstream_opened);
        counter(
            &mut out,
            "weir_upstream_connections_total",
            "Upstream connections opened.",
            opened,
        );
        let resent = self.sum(|worker| &worker.resent);
        let help = "Requests sent again after a stale pooled connection.";
        counter(&mut out, "weir_upstream_resends_total", help, resent);
        let unlisted = self.sum(|worker| &worker.unlisted);
        let help = "Requests counted under routeId _other because the table of series was full.";
        counter(&mut out, "weir_metrics_series_overflow_total", help, unlisted);
        self.write_classes(&mut out);
        self.write_errors(&mut out);
        out
    }

    fn sum(&self, of: impl Fn(&WorkerCounters) -> &AtomicU64) -> u64 {
        self.workers.iter().map(|worker| of(worker).load(Ordering::Relaxed)).sum()
    }

    fn sum_i64(&self, of: impl Fn(&WorkerCounters) -> &AtomicI64) -> i64 {
        self.workers.iter().map(|worker| of(worker).load(Ordering::Relaxed)).sum()
    }

    fn write_timers(&self, out: &mut String) {
        let mut timers: BTreeMap<String, Exported> = BTreeMap::new();
        for worker in self.workers.iter() {
            let mut series = worker.series.lock().unwrap_or_else(PoisonError::into_inner);
            for (key, timer) in &mut series.by_key {
                timer.rotate();
                let exported = timers.entry(timer.labels(key)).or_default();
                exported.0 += timer.count;
                exported.1 += timer.sum;
                exported.2 = exported.2.max(timer.max());
            }
        }
        let name = "spring_cloud_gateway_requests_seconds";
        let _ =
            write!(out, "# HELP {name} Time of requests through routes.\n# TYPE {name} summary\n");
        for (labels, (count, sum, _)) in &timers {
            let _ = writeln!(out, "{name}_count{{{labels}}} {count}");
            let _ = writeln!(out, "{name}_sum{{{labels}}} {}", sum.as_secs_f64());
        }
        let _ = write!(out, "# HELP {name}_max Longest recent time.\n# TYPE {name}_max gauge\n");
        for (labels, (_, _, max)) in &timers {
            let _ = writeln!(out, "{name}_max{{{labels}}} {}", max.as_secs_f64());
        }
    }

    fn write_classes(&self, out: &mut String) {
        let name = "weir_responses_total";
        let _ = write!(out, "# HELP {name} Responses by class of status.\n# TYPE {name} counter\n");
        for class in 1..6 {
            let of = |worker: &Arc<WorkerCounters>| {
                worker.statuses.get(class).map_or(0, |count| count.load(Ordering::Relaxed))
            };
            let count: u64 = self.workers.iter().map(of).sum();
            let _ = writeln!(out, "{name}{{class=\"{class}xx\"}} {count}");
        }
    }

    fn write_errors(&self, out: &mut String) {
        let mut errors: BTreeMap<&'static str, u64> = BTreeMap::new();
        for worker in self.workers.iter() {
            let own = worker.errors.lock().unwrap_or_else(PoisonError::into_inner);
            for (name, count) in own.iter() {
                *errors.entry(name).or_default() += count;
            }
        }
        let name = "weir_errors_total";
        let _ = write!(out, "# HELP {name} Failed exchanges by kind.\n# TYPE {name} counter\n");
        for (kind, count) in &errors {
            let _ = writeln!(out, "{name}{{kind=\"{kind}\"}} {count}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_config::{RouteTarget, Upstream};
    use weir_filter::Chain;
    use weir_route::{OneOrMore, Route};

    use super::{RouteKey, SERIES_MAX, WorkerCounters};

    fn route(n: usize) -> Route<RouteTarget> {
        let (chain, upstream, policy) = (Chain::default(), Upstream::None, None);
        let target = RouteTarget { chain, upstream, policy, unlisted: 0.into() };
        let (id, predicates) = (n.to_string().as_str().into(), OneOrMore::default());
        Route { group: None, position: n as u64, order: 0, target, predicates, id }
    }

    #[test]
    fn routes_beyond_the_bound_are_counted_together() {
        let (worker, other) = (WorkerCounters::new(0, 2), WorkerCounters::new(1, 2));
        let routes: Vec<_> = (0..SERIES_MAX + 2).map(route).collect();
        let ask = |worker: &WorkerCounters, n: usize, status| {
            let key = worker.key_of(&routes[n]);
            worker.routed(&routes[n], key, status, b"GET", Duration::from_millis(1));
            key != RouteKey::default()
        };
        assert!((0..SERIES_MAX).all(|n| ask(&worker, n, 200)));
        // No room for another status of one that is listed: its own series goes on.
        assert!(ask(&worker, 0, 404) && ask(&worker, 0, 200));
        // The second time it is known that there is no room.
        assert!(ask(&worker, SERIES_MAX, 200) && !ask(&worker, SERIES_MAX, 200));
        assert!(ask(&other, SERIES_MAX, 200), "another worker has room");
        let series = worker.series.lock().unwrap();
        let count_of = |route: &str, status: u16| -> u64 {
            let mut all = series.by_key.iter();
            let found = all.find(|(key, timer)| &*timer.route_id == route && key.status == status);
            found.map_or(0, |(_, timer)| timer.count)
        };
        assert_eq!(
            [count_of("0", 200), count_of("_other", 404), count_of("_other", 200)],
            [2, 1, 2]
        );
        assert_eq!(worker.unlisted.load(std::sync::atomic::Ordering::Relaxed), 3);
    }
}
