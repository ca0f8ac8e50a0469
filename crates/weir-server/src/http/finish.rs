//! The end of every exchange: one access log line, one count.

use std::time::Duration;

use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};

use super::admission::give_back;
use super::choice::end;
use super::exchange::Exchange;
use super::recorded;
use crate::access_log::Line;
use crate::worker::Worker;

/// Logs and counts one exchange.
pub(crate) fn finish(
    worker: &Worker,
    snapshot: &Snapshot,
    x: &mut Exchange,
    route: Option<&Route<RouteTarget>>,
) {
    if !x.held.is_empty() {
        give_back(x);
    }
    if x.choice.is_some() {
        end(x);
    }
    let exchanged = if x.tapped.is_some() { recorded::keep(worker, x) } else { None };
    let now_ns = worker.deadlines.now_ns();
    let now_ms = worker.deadlines.now_ms();
    let took = Duration::from_nanos(now_ns.saturating_sub(x.record.started_ns));
    worker.counters.finished(x.record.status);
    if snapshot.settings.metrics_enabled && route.is_some() {
        let record = &x.record;
        worker.counters.routed(record.counted, record.status, x.request.method(), took, now_ms);
    }
    if let Some(pipeline) = &worker.pipeline {
        let taken = x.taken.take();
        pipeline.exchanged(taken, x.upload.moved, x.record.sent_bytes, x.record.error);
    }
    if let Some(log) = &worker.log {
        let host = &x.client_host;
        let now_ms = worker.deadlines.wall_ms();
        let line = Line { record: &x.record, request: &x.request, host, route, took, now_ms };
        log.write(&line, exchanged);
    }
}
