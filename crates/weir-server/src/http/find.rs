//! Lookup of a request's route and of the CORS rules that apply to it.

use memchr::memchr2;
use weir_filter::Answer;
use weir_filter::cors::CorsDecision;
use weir_route::predicate::Predicate;
use weir_route::{Content, Request, RequestParts, Route};
use weir_snapshot::{Ambiguity, RouteTarget, Snapshot};
use weir_wire::RequestHead;
use weir_wire::http1::{BodyKind, RequestFraming};

use super::client::Client;
use super::exchange::Exchange;
use super::request_body::look;
use crate::error::ProxyError;
use crate::metrics::RouteNumber;
use crate::sys::{Caches, fetch};
use crate::worker::Worker;

/// Result of a lookup in a snapshot.
pub(super) struct Found<'s> {
    pub(super) route: Option<&'s Route<RouteTarget>>,
    pub(super) cors: CorsDecision,
    /// The reason why the route must not serve the request.
    pub(super) ambiguity: Option<Ambiguity>,
}

/// Prefetches the first memory that the route lookup will read, if the path tells which. `bytes` is
/// the part of the request received so far.
pub(super) fn look_ahead_by_path(snapshot: &Snapshot, x: &mut Exchange, bytes: &[u8]) {
    if snapshot.index.is_large() {
        x.parts.path.read(asked_path(bytes));
        snapshot.index.look_ahead_by_path(&x.parts.path, &mut x.foreseen, &Caches);
    }
}

/// Prefetches the memory that [`find`] will read next, while other work is done.
pub(super) fn look_ahead(snapshot: &Snapshot, client: &Client, x: &mut Exchange) {
    let asked = asked(client, &x.request, &x.parts);
    snapshot.index.look_ahead(&asked, &mut x.foreseen, &Caches);
}

/// The path in the request line at the start of `bytes`, as written there; empty for a long line,
/// which takes longer to read than the prefetch saves.
fn asked_path(bytes: &[u8]) -> &[u8] {
    const LINE_MAX: usize = 1024;
    let line = bytes.get(..LINE_MAX).unwrap_or(bytes);
    // A method is a few letters: a call of `memchr` takes longer than looking at them.
    let method = line.iter().position(|byte| *byte == b' ');
    let target = method.and_then(|len| line.get(len + 1..)).unwrap_or_default();
    let end = memchr2(b' ', b'?', target).unwrap_or_default();
    target.get(..end).unwrap_or_default()
}

/// A request as the table sees it, but for time and chance.
fn asked<'a>(client: &Client, head: &'a RequestHead, parts: &'a RequestParts) -> Request<'a> {
    Request { head, parts, peer: client.peer.ip(), now_ms: 0, dice: 0 }
}

/// Knowledge of a body before it is read.
pub(super) fn unread(body: BodyKind) -> Content {
    match body {
        BodyKind::None | BodyKind::Length(0) => Content::Unusable,
        _ => Content::Unread,
    }
}

/// Whether the route found may change once the body is read. It is the first of all routes that
/// might match; if its predicates do not read the body, it is final
/// (`docs/decisions/0042-route-by-body.md`).
pub(super) fn awaits_content(found: &Found<'_>, x: &Exchange) -> bool {
    matches!(x.parts.content, Content::Unread)
        && found.route.is_some_and(|route| route.all_predicates().any(Predicate::reads_body))
}

/// Finds the route again once the body, which is forwarded unchanged, has been read. None if it
/// cannot be read.
pub(super) async fn find_by_content<'s>(
    worker: &'s Worker,
    snapshot: &'s Snapshot,
    client: &mut Client,
    x: &mut Exchange,
    (framing, dice): (&mut RequestFraming, u64),
    found: &mut Found<'s>,
) -> Result<(), ProxyError> {
    found.route = None;
    x.vars.clear();
    x.record.counted = RouteNumber::default();
    x.parts.content = match look(worker, client, x, framing, &snapshot.settings).await? {
        Answer::Content(content) => {
            serde_json::from_slice(&content).map_or(Content::Unusable, Content::Json)
        }
        _ => Content::Unusable,
    };
    *found = find(worker, snapshot, client, x, dice);
    Ok(())
}

/// Finds the route of a parsed request and the CORS decision for it.
pub(super) fn find<'s>(
    worker: &'s Worker,
    snapshot: &'s Snapshot,
    client: &Client,
    x: &mut Exchange,
    dice: u64,
) -> Found<'s> {
    if let Some(reserved) = &worker.reserved
        && reserved.takes(x.request.path())
    {
        let route = Some(&*reserved.route);
        x.record.counted = worker.counters.number_of(&reserved.route);
        return Found { route, cors: CorsDecision::NotCors, ambiguity: None };
    }
    if snapshot.is_outside(x.request.path()) {
        return Found { route: None, cors: CorsDecision::NotCors, ambiguity: None };
    }
    super::panic::point("predicates", &x.request);
    let request =
        Request { now_ms: worker.deadlines.wall_ms(), dice, ..asked(client, &x.request, &x.parts) };
    let scratch = &mut worker.lookup.borrow_mut();
    let near = |target: &RouteTarget| {
        fetch(std::slice::from_ref(target));
        fetch(target.chain.shared().map_or(&[], |entries| entries));
    };
    let route = snapshot.index.lookup_with(&request, scratch, near).map(|route| &**route);
    if let Some(route) = route {
        x.record.counted = worker.counters.number_of(route);
    }
    // Also without an Origin: a response that depends on it needs Vary.
    let cors = snapshot.cors.decide(&request, false, route.is_some(), scratch);
    if let Some(route) = route
        && route.target.chain.needs_vars()
    {
        for predicate in route.all_predicates() {
            predicate.publish(&request, &mut x.vars);
        }
    }
    let ambiguity = route.and_then(|route| snapshot.ambiguity(route, &request, scratch));
    Found { route, cors, ambiguity }
}
