//! Responses that are wanted whole, by filters or a cache: collected up to a bound, judged, edited,
//! and sent on with another length.

use std::rc::Rc;

use weir_filter::{LocalResponse, Side};
use weir_route::Route;
use weir_snapshot::RouteTarget;
use weir_wire::http1::{BodyKind, ResponseFraming};

use super::cached;
use super::client::Client;
use super::collect::{collect, release};
use super::compared::{self, Fate};
use super::exchange::{BodyRead, Exchange, Next};
use super::local::answer;
use super::outgoing::Outgoing;
use super::pool::Upstream;
use super::recorded;
use super::replay::put_aside;
use super::respond::relay;
use super::whole::finish_with;
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// Reads a whole response, caches it, runs the filters that edit its content, and sends it. A
/// response that is needed by none of these is relayed.
pub(super) async fn collected(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    mut upstream: Box<Upstream>,
    response: ResponseFraming,
) -> Result<Next, ProxyError> {
    let (framing, snapshot) = (outgoing.framing, outgoing.snapshot);
    if cached::replaces_error(worker, x) {
        recorded::dismiss(x);
        put_aside(worker, x, outgoing, upstream, response);
        let error = ProxyError::new(ErrorKind::UpstreamClosed);
        return cached::rescue(worker, client, x, framing, snapshot, route, error).await;
    }
    let may_have_body =
        !matches!(x.response.status, 101 | 204 | 304) && x.request.method() != b"HEAD";
    let is_empty = matches!(response.body, BodyKind::None | BodyKind::Length(0));
    let content_type = x.response.fields.get(b"content-type").unwrap_or_default();
    let edits =
        may_have_body && !is_empty && route.target.chain.edits(Side::Response, content_type);
    let kept_max = match may_have_body {
        true => cached::wants(worker, x, response.body),
        false => {
            cached::dismiss(worker, x);
            None
        }
    };
    let fate = compared::head(worker, x, route, may_have_body && !is_empty);
    let reads = matches!(fate, Fate::NeedsContent);
    if let Fate::Refused(local) = fate {
        return refuse(worker, client, x, outgoing, route, (upstream, response), &local).await;
    }
    let own_max = snapshot.settings.kept_body_bytes_max;
    let Some(max) = (edits || reads).then_some(own_max).or(kept_max) else {
        return relay(worker, client, x, outgoing, route, upstream, response).await;
    };
    let Some(content) = collect(worker, client, x, &mut upstream, response.body, max).await? else {
        cached::dismiss(worker, x);
        if reads && let Fate::Refused(local) = compared::unread(worker, x, route) {
            return refuse(worker, client, x, outgoing, route, (upstream, response), &local).await;
        }
        if edits {
            let why =
                format!("the response is longer than the {max} bytes that filters may change");
            return Err(ProxyError::with(ErrorKind::Filter, why));
        }
        return relay(worker, client, x, outgoing, route, upstream, response).await;
    };
    if reads && let Fate::Refused(local) = compared::whole(worker, x, route, &content, own_max) {
        return refuse(worker, client, x, outgoing, route, (upstream, response), &local).await;
    }
    recorded::collected(x, &content);
    release(worker, x, outgoing, upstream, response);
    snapshot.forwarding.response(&mut x.response, false);
    worker.identity.pass_back(&mut x.response, &snapshot.settings.via);
    match kept_max {
        Some(kept_max) if content.len() <= kept_max => cached::keep(worker, x, &content),
        _ => cached::dismiss(worker, x),
    }
    finish_with(worker, client, x, framing, snapshot, route, content).await
}

/// Keeps the response of a refresh; after an error the old one stays.
pub(super) async fn refreshed(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    mut upstream: Box<Upstream>,
    response: ResponseFraming,
) -> Result<Next, ProxyError> {
    if x.response.status >= 500 {
        return Ok(Next::Abort);
    }
    let Some(max) = cached::wants(worker, x, response.body) else { return Ok(Next::Abort) };
    match collect(worker, client, x, &mut upstream, response.body, max).await? {
        Some(content) => {
            release(worker, x, outgoing, upstream, response);
            outgoing.snapshot.forwarding.response(&mut x.response, false);
            cached::keep(worker, x, &content);
        }
        None => cached::dismiss(worker, x),
    }
    Ok(Next::Abort)
}

/// Answers in the place of a response, whose connection is not used again.
async fn refuse(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    (upstream, response): (Box<Upstream>, ResponseFraming),
    local: &LocalResponse,
) -> Result<Next, ProxyError> {
    cached::dismiss(worker, x);
    recorded::dismiss(x);
    put_aside(worker, x, outgoing, upstream, response);
    x.record.body = if x.upload.is_done() { BodyRead::Whole } else { BodyRead::Partly };
    let (framing, snapshot) = (outgoing.framing, outgoing.snapshot);
    answer(worker, client, x, framing, snapshot, Some(route), (local, 0)).await
}
