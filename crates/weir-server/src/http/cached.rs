//! Requests that a cache may answer, and responses that it may keep.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use weir_cache::{
    Asked, Flight, KeyParts, Looked, ResponseCache, Stored, announce, asked, key, lifetime,
};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::RequestHead;
use weir_wire::http1::{BodyKind, RequestFraming};

use super::content::finish_with;
use super::downstream::Client;
use super::exchange::{Exchange, Next};
use super::refresh::{Onward, begin};
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::pacer::now_ns;
use crate::worker::Worker;

/// How long a request waits for another one's fetch; then it is sent itself.
const WAIT: Duration = Duration::from_secs(10);
/// How often a client that waits is looked at, to see whether it has left.
const LOOK: Duration = Duration::from_millis(250);

/// What comes of a fetch, until its response is there.
#[derive(Debug)]
pub(crate) struct Storing {
    flight: Flight,
    key: Vec<u8>,
    /// The request as it was looked for.
    request: RequestHead,
    ttl_ms: u64,
}

/// Answers a request from the cache of its route, if it can be; `None` if it is to be sent. Then
/// the exchange knows whether its response is to be kept. Where `to` leads counts, unless that is
/// an instance of the route's service: they all have the same.
pub(super) async fn look(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    to: Onward<'_>,
) -> Result<Option<Next>, ProxyError> {
    x.storing = None;
    let route = to.route;
    let filter = route.target.chain.cache();
    let Some((filter, cache)) = filter.and_then(|filter| Some((filter, filter.cache()?))) else {
        return Ok(None);
    };
    let has_body = !matches!(framing.body, BodyKind::None | BodyKind::Length(0));
    let only_fresh = match asked(&x.request, has_body || framing.upgrade) {
        Asked::Nothing => return Ok(None),
        Asked::Fresh if !filter.updates_on_no_cache() => return Ok(None),
        asked => asked == Asked::Fresh,
    };
    let target = match to.service {
        None => format!("{}:{}", to.target.host, to.target.port),
        Some(_) => String::new(),
    };
    let parts = KeyParts { route: &route.id, target: &target, host: &x.client_host };
    let key = key(&parts, &x.request);
    let until_ns = now_ns().saturating_add(u64::try_from(WAIT.as_nanos()).unwrap_or(u64::MAX));
    loop {
        let now_ms = worker.deadlines.wall_ms();
        match cache.look(&key, &x.request, only_fresh, now_ms) {
            Looked::Hit(stored) => {
                let next = give(worker, client, x, framing, snapshot, route, &stored).await?;
                return Ok(Some(next));
            }
            Looked::Fetch(flight) => {
                let (request, ttl_ms) = (x.request.clone(), filter.ttl_ms());
                x.storing = Some(Box::new(Storing { flight, key, request, ttl_ms }));
                return Ok(None);
            }
            Looked::Refresh(stored, flight) => {
                let (request, ttl_ms) = (x.request.clone(), filter.ttl_ms());
                let storing = Storing { flight, key, request, ttl_ms };
                begin(worker, client, x, framing, snapshot, to, storing);
                let next = give(worker, client, x, framing, snapshot, route, &stored).await?;
                return Ok(Some(next));
            }
            Looked::Wait if now_ns() < until_ns => {
                landed(worker, client, x, cache, &key, until_ns).await?;
            }
            Looked::Wait | Looked::Pass => return Ok(None),
        }
    }
}

/// Waits until somebody else's fetch is over.
async fn landed(
    worker: &Worker,
    client: &mut Client,
    x: &Exchange,
    cache: &ResponseCache,
    key: &[u8],
    until_ns: u64,
) -> Result<(), ProxyError> {
    worker.deadlines.refresh();
    client.deadline.set(LOOK);
    let waited = poll_fn(|cx| {
        if cache.poll_landed(key, &x.request, cx).is_ready() {
            return Poll::Ready(true);
        }
        if worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(false);
        }
        while client.deadline.poll(cx) {
            if client.stream.has_hung_up() {
                return Poll::Ready(false);
            }
            if now_ns() >= until_ns {
                return Poll::Ready(true);
            }
            client.deadline.set(LOOK);
        }
        Poll::Pending
    })
    .await;
    client.deadline.clear();
    if waited { Ok(()) } else { Err(ProxyError::new(ErrorKind::ClientGone)) }
}

/// Sends a response of the cache, behind the response filters of the route.
async fn give(
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

/// Where a fetch failed: an answer that the cache may still give.
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

/// Whether the response whose head is there is an error in whose place an old response may be
/// given.
pub(super) fn replaces_error(worker: &Worker, x: &mut Exchange) -> bool {
    let is_error = matches!(x.response.status, 500 | 502 | 503 | 504);
    let now_ms = worker.deadlines.wall_ms();
    is_error
        && x.storing
            .as_ref()
            .and_then(|storing| storing.flight.fallback.as_ref())
            .is_some_and(|stored| stored.is_usable_on_error(now_ms))
}

/// Whether the response whose head is there may be kept, and how many bytes of content at most.
pub(super) fn wants(worker: &Worker, x: &mut Exchange, body: BodyKind) -> Option<usize> {
    let storing = x.storing.as_ref()?;
    let max = storing.flight.cache().content_max();
    let fits = !matches!(body, BodyKind::Length(length) if length > max as u64);
    // What has no end that is told may never end.
    let ends = !matches!(body, BodyKind::UntilClose) && !is_endless(x);
    if fits && ends && lifetime(&x.response, storing.ttl_ms).is_some() {
        return Some(max);
    }
    dismiss(worker, x);
    None
}

/// A stream of events, which clients want as they come.
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

/// Keeps the response with this content, as it came from the upstream, and has it say so.
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
