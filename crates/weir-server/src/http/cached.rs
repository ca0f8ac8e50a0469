//! Serving responses from the cache, and storing them.

use std::rc::Rc;
use std::sync::Arc;

use weir_cache::{Flight, Stored, announce, lifetime};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::http1::{BodyKind, RequestFraming};

use super::client::Client;
use super::exchange::{Exchange, Next, Storing};
use super::whole::finish_with;
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// Sends a response of the cache, behind the response filters of the route.
pub(super) async fn give(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    stored: &Arc<Stored>,
) -> Result<Next, ProxyError> {
    stored.write_to(&mut x.response, worker.deadlines.wall_ms());
    let mut content = stored.content.as_slice();
    if stored.is_known_to(&x.request) {
        x.response.set_status(304, b"Not Modified");
        content = &[];
    }
    finish_with(worker, client, x, framing, snapshot, route, content.to_vec()).await
}

/// The cached response that may be served in place of a failed fetch.
pub(super) async fn rescue(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    error: ProxyError,
) -> Result<Next, ProxyError> {
    let stored = match x.storing.take() {
        Some(storing) if !x.record.head_sent && error.kind != ErrorKind::ClientGone => {
            usable_on_error(worker, &storing.flight)
        }
        _ => None,
    };
    match stored {
        Some(stored) => give(worker, client, x, framing, snapshot, route, &stored).await,
        None => Err(error),
    }
}

fn usable_on_error(worker: &Worker, flight: &Flight) -> Option<Arc<Stored>> {
    let now_ms = worker.deadlines.wall_ms();
    let stored = flight.fallback.clone().filter(|stored| stored.is_usable_on_error(now_ms))?;
    flight.cache().used_on_error();
    Some(stored)
}

/// Whether the response is an error that a stale cached response may replace. Only its head has
/// been read.
pub(super) fn replaces_error(worker: &Worker, x: &mut Exchange) -> bool {
    let is_error = matches!(x.response.status, 500 | 502 | 503 | 504);
    let now_ms = worker.deadlines.wall_ms();
    is_error
        && x.storing
            .as_ref()
            .and_then(|storing| storing.flight.fallback.as_ref())
            .is_some_and(|stored| stored.is_usable_on_error(now_ms))
}

/// Whether the response may be cached, by its head, and the maximum size of its content in bytes.
pub(super) fn wants(worker: &Worker, x: &mut Exchange, body: BodyKind) -> Option<usize> {
    let storing = x.storing.as_ref()?;
    let max = storing.flight.cache().content_max();
    let fits = !matches!(body, BodyKind::Length(length) if length > max as u64);
    // A response without an announced end may never end.
    let ends = !matches!(body, BodyKind::UntilClose) && !is_endless(x);
    if fits && ends && lifetime(&x.response, storing.ttl_ms).is_some() {
        return Some(max);
    }
    dismiss(worker, x);
    None
}

/// An event stream, whose events clients want as they are sent.
pub(super) fn is_endless(x: &Exchange) -> bool {
    let content_type = x.response.fields.get(b"content-type").unwrap_or_default();
    let starts = |name: &[u8]| {
        content_type.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    starts(b"text/event-stream")
        || starts(b"application/stream+json")
        || starts(b"application/grpc")
}

/// The response is not kept.
pub(super) fn dismiss(worker: &Worker, x: &mut Exchange) {
    if let Some(storing) = x.storing.take() {
        storing.flight.pass(worker.deadlines.wall_ms());
    }
}

/// Stores the response with this content, as received from the upstream, and adds the cache's
/// fields to it.
pub(super) fn keep(worker: &Worker, x: &mut Exchange, content: &[u8]) {
    let Some(storing) = x.storing.take() else { return };
    let Storing { flight, key, request, ttl_ms } = *storing;
    let now_ms = worker.deadlines.wall_ms();
    if let Some(lifetime) = lifetime(&x.response, ttl_ms) {
        let stored = Stored::new(&x.response, content.to_vec(), lifetime, now_ms);
        flight.land(&key, &request, stored);
        announce(&mut x.response, lifetime);
    }
}
