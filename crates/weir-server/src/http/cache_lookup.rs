//! Requests that a cache may answer.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use weir_cache::{Asked, KeyParts, Looked, ResponseCache, asked, key};
use weir_snapshot::Snapshot;
use weir_wire::http1::{BodyKind, RequestFraming};

use super::cached::give;
use super::client::Client;
use super::exchange::{Exchange, Next, Storing};
use super::refresh::{Onward, begin};
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::pacer::now_ns;
use crate::worker::Worker;

/// How long a request waits for another request's fetch; after that it is forwarded itself.
const WAIT: Duration = Duration::from_secs(10);
/// Interval at which a waiting client is checked for having disconnected.
const LOOK: Duration = Duration::from_millis(250);

/// Answers a request from its route's cache if possible; `None` if it must be forwarded. Then the
/// exchange records whether its response may be stored. The target `to` is part of the key, unless
/// it is an instance of the route's service: all instances share their responses.
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

/// Waits until another request's fetch is over.
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
