//! The life of a request, from its head to its last byte, with one error exit.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use memchr::memchr2;
use weir_auth::Claims;
use weir_filter::cors::CorsDecision;
use weir_filter::{Answer, Copied, Failure};
use weir_limit::Valve;
use weir_route::index::Ahead;
use weir_route::predicate::Predicate;
use weir_route::{Content, Request, RequestParts, Route, Vars};
use weir_snapshot::{Ambiguity, RouteTarget, Snapshot};
use weir_wire::http1::{BodyKind, RequestFraming};
use weir_wire::{RequestHead, ResponseHead};

use super::buffers::Carry;
use super::cached::Storing;
use super::carry_out::carry_out;
use super::choice::Chosen;
use super::content::look;
use super::downstream::Client;
use super::entry::enter;
use super::finish::finish;
use super::forward::forward;
use super::guard::{Guarded, guard, guard_again};
use super::local::answer_error;
use super::relay::Relay;
use super::steps::{Step, decide, waited};
use super::upstream::Upstream;
use crate::error::{ErrorKind, ProxyError};
use crate::executor::others_first;
use crate::metrics::RouteNumber;
use crate::sys::{Caches, fetch};
use crate::worker::Worker;

/// What happens to the client's connection after an exchange.
#[derive(Debug)]
pub(crate) enum Next {
    /// Another request may follow.
    KeepAlive,
    /// Close, letting the answer arrive.
    Close,
    /// Close at once: the client has said that it sends no more, the response is cut short, or
    /// nobody is there to read it.
    Abort,
    /// The protocol was switched: bytes flow both ways until either side ends.
    Tunnel(Box<Upstream>),
}

/// What one exchange works on; reused for many.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) request: RequestHead,
    pub(crate) response: ResponseHead,
    /// The Host asked for, before filters and forwarding rules changed it.
    pub(crate) client_host: Vec<u8>,
    /// Path and host, split for the lookup. Kept per exchange, as other requests run between the
    /// prefetch and the lookup.
    pub(crate) parts: RequestParts,
    /// How far the lookup path is prefetched.
    pub(crate) foreseen: Ahead,
    pub(crate) vars: Vars,
    pub(crate) cors_fields: Vec<(Cow<'static, str>, Vec<u8>)>,
    /// The request on its way to the upstream, head and body.
    pub(crate) upload: Relay,
    /// The upstream's response on its way to the client, head and body.
    pub(crate) download: Relay,
    /// Buffer for what else goes to the client.
    pub(crate) down: Vec<u8>,
    /// Spare buffer for bytes that arrive behind the request head; empty.
    pub(crate) ahead: Carry,
    /// Spare buffer for bytes that arrive behind the response head; empty.
    pub(crate) spare: Carry,
    /// The chosen instance, if the service has balancing rules.
    pub(crate) choice: Chosen,
    /// Concurrency limits it holds a place of, and since when in nanoseconds.
    pub(crate) held: Vec<(Arc<Valve>, u64)>,
    /// Claims of the verified token, if any.
    pub(crate) claims: Option<Arc<Claims>>,
    /// The failure that sent it to a fallback.
    pub(crate) failure: Option<Box<Failure>>,
    /// The head as it came to a CircuitBreaker with a fallback.
    pub(crate) kept: Option<Box<RequestHead>>,
    /// How often it was forwarded to another route (`forward:`).
    pub(crate) dispatches: u32,
    /// The copy for `Mirror`, sent once the request has been answered.
    pub(crate) copied: Option<Box<Copied>>,
    /// The cache entry that waits for its response.
    pub(crate) storing: Option<Box<Storing>>,
    /// A cache refresh: there is no client.
    pub(crate) is_refresh: bool,
    pub(crate) record: Record,
}

/// What the access log and the metrics record at the end.
#[derive(Debug)]
pub(crate) struct Record {
    /// When the head was complete, in nanoseconds since the worker started.
    pub(crate) started_ns: u64,
    pub(crate) peer: Option<SocketAddr>,
    /// Status sent to the client; 0 if none was.
    pub(crate) status: u16,
    /// A response head went out.
    pub(crate) head_sent: bool,
    /// Bytes of the response, head included.
    pub(crate) sent_bytes: u64,
    pub(crate) error: Option<ErrorKind>,
    /// Filters that ran on the request side.
    pub(crate) filters_ran: usize,
    /// Under which the route is counted; noted when it is found, as it is in no cache at the end.
    pub(crate) counted: RouteNumber,
    pub(crate) body: BodyRead,
    /// A filter has put another body in the place of the client's.
    pub(crate) is_replaced: bool,
}

/// How much of the request's body has been taken from the connection: nothing, and the carry is its
/// start; some, and what comes next cannot be told from a request; or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyRead {
    Untouched,
    Partly,
    Whole,
}

impl Default for Exchange {
    fn default() -> Self {
        Self {
            request: RequestHead::default(),
            response: ResponseHead::default(),
            client_host: Vec::new(),
            parts: RequestParts::default(),
            foreseen: Ahead::default(),
            vars: Vars::default(),
            cors_fields: Vec::new(),
            upload: Relay::default(),
            download: Relay::default(),
            down: Vec::new(),
            ahead: Carry::default(),
            spare: Carry::default(),
            choice: None,
            held: Vec::new(),
            claims: None,
            failure: None,
            kept: None,
            dispatches: 0,
            copied: None,
            storing: None,
            is_refresh: false,
            record: Record::new(None, 0),
        }
    }
}

impl Record {
    fn new(peer: Option<SocketAddr>, started_ns: u64) -> Self {
        Self {
            started_ns,
            peer,
            status: 0,
            head_sent: false,
            sent_bytes: 0,
            error: None,
            filters_ran: 0,
            counted: RouteNumber::default(),
            body: BodyRead::Untouched,
            is_replaced: false,
        }
    }
}

impl Exchange {
    /// Forgets the last exchange, keeping the memory. Heads and their parts are replaced by what
    /// reads them.
    pub(crate) fn clear(&mut self) {
        self.client_host.clear();
        self.foreseen = Ahead::default();
        self.vars.clear();
        self.cors_fields.clear();
        self.claims = None;
        self.failure = None;
        self.kept = None;
        self.dispatches = 0;
        self.storing = None;
        self.is_refresh = false;
        self.copied = None;
        self.down.clear();
        for relay in [&mut self.upload, &mut self.download] {
            relay.drop_pipe();
            relay.pace = None;
        }
    }

    /// Bytes of memory held by the buffers.
    pub(crate) fn memory(&self) -> usize {
        let relays = self.upload.memory() + self.download.memory();
        relays + self.down.capacity() + self.ahead.memory() + self.spare.memory()
    }
}

/// Serves one request.
pub(crate) async fn exchange(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &Snapshot,
    mut framing: RequestFraming,
) -> Next {
    let admitted = admit(x);
    x.record = Record::new(Some(client.peer), worker.deadlines.now_ns());
    others_first().await;
    x.parts.path.read(x.request.path());
    x.parts.host.read(&x.client_host);
    x.parts.content = unread(framing.body);
    // While other requests run, the prefetched lines arrive.
    if snapshot.index.is_large() {
        look_ahead(snapshot, client, x);
        if others_first().await {
            look_ahead(snapshot, client, x);
        }
    }
    framing.upgrade = framing.upgrade && may_upgrade(x, framing.body);
    let dice = worker.roll();
    let mut found = match admitted {
        Ok(()) => find(worker, snapshot, client, x, dice),
        Err(error) => return Box::pin(refuse(worker, client, x, snapshot, error)).await,
    };
    let guarded = match &snapshot.security {
        None => Ok(()),
        Some(security) => match guard(worker, x, security, &found) {
            Guarded::Passes => Ok(()),
            Guarded::Denied(local) => Err(local),
            Guarded::Unknown(since) => {
                Box::pin(guard_again(worker, x, security, &found, since)).await
            }
        },
    };
    let mut read = Ok(());
    if guarded.is_ok() && awaits_content(&found, x) {
        let by = (&mut framing, dice);
        read = Box::pin(find_by_content(worker, snapshot, client, x, by, &mut found)).await;
    }
    x.parts.give_back();
    let route = found.route;
    let mut step = match guarded {
        Err(local) => Ok(Step::Answer(None, local)),
        Ok(()) => read.and_then(|()| decide(worker, client, x, snapshot, found)),
    };
    while let Ok(Step::Wait(waiting)) = step {
        step = Box::pin(waited(worker, client, x, snapshot, &mut framing, waiting)).await;
    }
    let outcome = match step {
        Ok(Step::Forward { route, target, service, preserve_host })
            if !route.target.chain.has_policy() =>
        {
            let chosen = service.is_none() && matches!(target, Cow::Owned(_));
            let to = (&*target, service, chosen);
            forward(worker, client, x, framing, snapshot, route, to, preserve_host).await
        }
        Ok(step) => Box::pin(carry_out(worker, client, x, framing, snapshot, step)).await,
        Err(error) => Err(error),
    };
    let next = match outcome {
        Ok(next) => next,
        Err(error) => {
            Box::pin(answer_error(worker, client, x, Some(framing), snapshot, &error)).await
        }
    };
    finish(worker, snapshot, x, route);
    next
}

/// Whether an upgrade is passed on. Never one to cleartext HTTP/2, which would tunnel requests past
/// every rule, nor one with content: servers do not agree on whether it is content then.
fn may_upgrade(x: &Exchange, body: BodyKind) -> bool {
    let is_http2 = |one: &[u8]| one.trim_ascii().eq_ignore_ascii_case(b"h2c");
    let mut offered = x.request.fields.get_all(b"upgrade");
    matches!(body, BodyKind::None | BodyKind::Length(0))
        && !offered.any(|value| value.split(|byte| *byte == b',').any(is_http2))
}

/// Answers a request whose head or target was not acceptable, and closes.
pub(crate) async fn refuse(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &Snapshot,
    error: ProxyError,
) -> Next {
    x.record = Record::new(Some(client.peer), worker.deadlines.now_ns());
    let next = answer_error(worker, client, x, None, snapshot, &error).await;
    finish(worker, snapshot, x, None);
    next
}

/// Answers a request that panicked, if nothing was sent of an answer, and closes: what was read of
/// the connection is not known any more.
pub(crate) async fn answer_panic(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
) -> Next {
    let snapshot = worker.snapshot();
    let error = ProxyError::with(ErrorKind::Panic, "internal error; see the gateway's log");
    let next = answer_error(worker, client, x, None, &snapshot, &error).await;
    finish(worker, &snapshot, x, None);
    next
}

/// Refuses what is never served and brings the path into the form that is matched and sent.
pub(super) fn admit(x: &mut Exchange) -> Result<(), ProxyError> {
    x.client_host.clear();
    x.client_host.extend_from_slice(x.request.host());
    enter(&mut x.request).map(drop)
}

/// What a snapshot says of a request.
pub(super) struct Found<'s> {
    pub(super) route: Option<&'s Route<RouteTarget>>,
    pub(super) cors: CorsDecision,
    /// Why the route must not serve the request after all.
    pub(super) ambiguity: Option<Ambiguity>,
}

/// Has the first place fetched that finding a route will read, if the path tells which. `bytes` are
/// what there is of the request.
pub(super) fn look_ahead_by_path(snapshot: &Snapshot, x: &mut Exchange, bytes: &[u8]) {
    if snapshot.index.is_large() {
        x.parts.path.read(asked_path(bytes));
        snapshot.index.look_ahead_by_path(&x.parts.path, &mut x.foreseen, &Caches);
    }
}

/// Prefetches what [`find`] will read next.
fn look_ahead(snapshot: &Snapshot, client: &Client, x: &mut Exchange) {
    let asked = asked(client, &x.request, &x.parts);
    snapshot.index.look_ahead(&asked, &mut x.foreseen, &Caches);
}

/// The path in the request line that `bytes` begin with, as it is written there; nothing of a long
/// line, which takes longer to read than what would be fetched.
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

/// What is known of a body before it is read.
pub(super) fn unread(body: BodyKind) -> Content {
    match body {
        BodyKind::None | BodyKind::Length(0) => Content::Unusable,
        _ => Content::Unread,
    }
}

/// Whether the route that was found may not be that of the request: only its body tells. Of all
/// routes that might match, the first was found; if it does not look at the body, it is the one
/// (`docs/decisions/0042-route-by-body.md`).
pub(super) fn awaits_content(found: &Found<'_>, x: &Exchange) -> bool {
    matches!(x.parts.content, Content::Unread)
        && found.route.is_some_and(|route| route.all_predicates().any(Predicate::reads_body))
}

/// Finds the route of a request anew once its body has been read, which is sent on as it came.
/// There is none if it cannot be read.
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

/// The route of a request that was cut up, and what the rules for paths and origins say of it.
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
    // Without an Origin too: what depends on it must say so (Vary).
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
