//! Counters of the data plane and their Prometheus text.
//!
//! Each worker writes its own counters; a scrape adds them up. Label values come from route
//! definitions, statuses and a fixed set of methods, never from requests.

mod own;
mod series;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};

use self::own::add;
use self::series::{Kind, Timers, Total};
pub(crate) use self::series::{Listed, RouteNumber};
use crate::descriptors::{Files, FilesPlan};
use crate::error::ErrorKind;

/// Counters of one worker. Written by that worker, read by a scrape.
#[derive(Debug, Default)]
pub struct WorkerCounters {
    workers: usize,
    connections: AtomicI64,
    requests: AtomicU64,
    tunnels: AtomicI64,
    events: Events,
    statuses: [AtomicU64; 6],
    errors: Mutex<BTreeMap<&'static str, u64>>,
    /// Number of inquiries by kind, and by whether there was an answer.
    inquiries: Mutex<BTreeMap<(&'static str, bool), u64>>,
    /// Responses compared with definitions, by [`Compared`].
    compared: [AtomicU64; Compared::ALL.len()],
    /// The earliest time for the next log line about an invalid response, by the worker's clock.
    next_wrong_ms: AtomicU64,
    listed: Arc<Listed>,
    timers: Timers,
}

/// Makes a counter of each line: a method that counts, the metric's name and its help text.
macro_rules! events {
    ($($event:ident: $name:literal, $help:literal;)*) => {
        /// Simple event counters of a worker.
        #[derive(Debug, Default)]
        struct Events {
            $($event: AtomicU64,)*
        }

        /// Name, help and counter of each.
        const EVENTS: &[(&str, &str, fn(&Events) -> &AtomicU64)] =
            &[$(($name, $help, |events| &events.$event),)*];

        impl WorkerCounters {$(
            #[doc = $help]
            pub(crate) fn $event(&self) {
                self.events.$event.fetch_add(1, Ordering::Relaxed);
            }
        )*}
    };
}

events! {
    connection_accepted: "weir_connections_accepted_total",
        "Connections accepted.";
    connection_refused: "weir_connections_refused_total",
        "Connections closed because weir.server.connections-max was reached.";
    accept_failed: "weir_accept_failures_total",
        "Failed accepts.";
    upstream_opened: "weir_upstream_connections_total",
        "Upstream connections opened.";
    resent: "weir_upstream_resends_total",
        "Requests sent again after a stale pooled connection.";
    moved_on: "weir_upstream_failovers_total",
        "Connections tried at another instance because one could not be reached.";
    retried: "weir_upstream_retries_total",
        "Requests sent again by a Retry filter.";
    not_retried_for_body: "weir_upstream_retries_without_body_total",
        "Retries left out because the request's body was too large to be kept.";
    not_retried_for_budget: "weir_upstream_retries_over_budget_total",
        "Retries left out because the budget of the upstream was spent.";
    series_missing: "weir_metrics_series_overflow_total",
        "Requests counted under routeId _other because the table of series was full.";
    log_line_dropped: "weir_access_log_dropped_total",
        "Lines of the access log dropped because it could not be written fast enough.";
    mocked: "weir_mock_fallbacks_total",
        "Requests answered by MockFallback.";
}

/// Result of validating a response against its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Sound,
    Wrong,
    /// No definition has the operation.
    Unknown,
    /// Its content could not be read: too long, or in a coding that is not known.
    Unread,
}

impl Compared {
    const ALL: [(Self, &str); 4] = [
        (Self::Sound, "sound"),
        (Self::Wrong, "wrong"),
        (Self::Unknown, "unknown"),
        (Self::Unread, "unread"),
    ];
}

impl WorkerCounters {
    /// Counters for one of `workers`, which share `listed`.
    pub(crate) fn new(workers: usize, listed: &Arc<Listed>) -> Self {
        Self { workers, listed: Arc::clone(listed), ..Self::default() }
    }

    /// Start of the worker's clock.
    pub(crate) fn origin(&self) -> Instant {
        self.timers.origin
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

    pub(crate) fn tunnel_opened(&self) {
        self.tunnels.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn tunnel_closed(&self) {
        self.tunnels.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn finished(&self, status: u16) {
        add(&self.requests, 1);
        if let Some(class) = self.statuses.get(usize::from(status / 100)) {
            add(class, 1);
        }
    }

    pub(crate) fn failed(&self, kind: ErrorKind) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(kind.name()).or_default() += 1;
    }

    pub(crate) fn asked(&self, kind: &'static str, answered: bool) {
        let mut inquiries = self.inquiries.lock().unwrap_or_else(PoisonError::into_inner);
        *inquiries.entry((kind, answered)).or_default() += 1;
    }

    pub(crate) fn compared(&self, what: Compared) {
        if let Some(counter) = self.compared.get(what as usize) {
            add(counter, 1);
        }
    }

    /// Whether an invalid response may be logged now: each worker logs one a second at most.
    pub(crate) fn may_tell_wrong(&self, now_ms: u64) -> bool {
        const EACH_MS: u64 = 1_000;
        let is_due = now_ms >= self.next_wrong_ms.load(Ordering::Relaxed);
        if is_due {
            self.next_wrong_ms.store(now_ms + EACH_MS, Ordering::Relaxed);
        }
        is_due
    }

    /// The number under which requests through `route` are counted. Prefetches its counters.
    pub(crate) fn number_of(&self, route: &Route<RouteTarget>) -> RouteNumber {
        let number = self.listed.number(route);
        self.timers.look_ahead(number);
        number
    }

    /// Counts a request that ended at `now_ms`, by the worker's clock.
    pub(crate) fn routed(
        &self,
        number: RouteNumber,
        status: u16,
        method: &[u8],
        took: Duration,
        now_ms: u64,
    ) {
        if !self.timers.add(number, Kind::of(status, method), took, now_ms) {
            self.series_missing();
        }
    }
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

impl Default for Metrics {
    /// Counters of no workers.
    fn default() -> Self {
        Self::new(Vec::new(), Files::new(&FilesPlan::of(0, 0, false)))
    }
}

impl Metrics {
    pub(crate) fn new(workers: Vec<Arc<WorkerCounters>>, files: Arc<Files>) -> Self {
        Self { workers: workers.into(), files, started: Instant::now() }
    }

    /// Lets the reloaded routes of `snapshot` continue the counters of the routes they replace.
    /// Reads all of them.
    pub fn recognise(&self, snapshot: &Snapshot) {
        if let Some(worker) = self.workers.first() {
            worker.listed.recognise(snapshot.index.iter());
        }
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
        let help = "Accepts delayed by the descriptor limit.";
        counter(&mut out, "weir_accept_waits_total", help, self.files.waits());
        for (name, help, of) in EVENTS {
            counter(&mut out, name, help, self.sum(|worker| of(&worker.events)));
        }
        self.write_classes(&mut out);
        self.write_errors(&mut out);
        self.write_inquiries(&mut out);
        self.write_comparisons(&mut out);
        out
    }

    fn sum(&self, of: impl Fn(&WorkerCounters) -> &AtomicU64) -> u64 {
        self.workers.iter().map(|worker| of(worker).load(Ordering::Relaxed)).sum()
    }

    fn sum_i64(&self, of: impl Fn(&WorkerCounters) -> &AtomicI64) -> i64 {
        self.workers.iter().map(|worker| of(worker).load(Ordering::Relaxed)).sum()
    }

    fn write_timers(&self, out: &mut String) {
        let mut timers: BTreeMap<String, Total> = BTreeMap::new();
        for worker in self.workers.iter() {
            let now_ms = worker.origin().elapsed().as_millis() as u64;
            worker.timers.export(&worker.listed, now_ms, |labels, total| {
                let all = timers.entry(labels).or_default();
                all.count += total.count;
                all.sum += total.sum;
                all.max = all.max.max(total.max);
            });
        }
        let name = "spring_cloud_gateway_requests_seconds";
        let _ =
            write!(out, "# HELP {name} Time of requests through routes.\n# TYPE {name} summary\n");
        for (labels, Total { count, sum, .. }) in &timers {
            let _ = writeln!(out, "{name}_count{{{labels}}} {count}");
            let _ = writeln!(out, "{name}_sum{{{labels}}} {}", sum.as_secs_f64());
        }
        let _ = write!(out, "# HELP {name}_max Longest recent time.\n# TYPE {name}_max gauge\n");
        for (labels, Total { max, .. }) in &timers {
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

    fn write_comparisons(&self, out: &mut String) {
        let name = "weir_filter_comparisons_total";
        let help = "Responses that ValidateResponse compared with a definition.";
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n");
        for (what, result) in Compared::ALL {
            let own = self.workers.iter().filter_map(|worker| worker.compared.get(what as usize));
            let count: u64 = own.map(|count| count.load(Ordering::Relaxed)).sum();
            let _ = writeln!(out, "{name}{{result=\"{result}\"}} {count}");
        }
    }

    fn write_inquiries(&self, out: &mut String) {
        let mut inquiries: BTreeMap<(&'static str, bool), u64> = BTreeMap::new();
        for worker in self.workers.iter() {
            let own = worker.inquiries.lock().unwrap_or_else(PoisonError::into_inner);
            for (what, count) in own.iter() {
                *inquiries.entry(*what).or_default() += count;
            }
        }
        let name = "weir_filter_inquiries_total";
        let help = "Questions of filters to the control plane, by outcome.";
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n");
        for ((kind, answered), count) in &inquiries {
            let _ = writeln!(out, "{name}{{kind=\"{kind}\",answered=\"{answered}\"}} {count}");
        }
    }
}
