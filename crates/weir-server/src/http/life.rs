//! The life of a request, from its head to its last byte, with one error exit.

use std::borrow::Cow;
use std::rc::Rc;

use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::http1::{BodyKind, RequestFraming};

use super::carry_out::carry_out;
use super::client::Client;
use super::entry::enter;
use super::exchange::{Exchange, Next, Record};
use super::find::{awaits_content, find, find_by_content, look_ahead, unread};
use super::finish::finish;
use super::forward::forward;
use super::guard::{Guarded, guard, guard_again};
use super::local::answer_error;
use super::next_head::Head;
use super::steps::{Step, Waiting, decide, waited};
use crate::error::{ErrorKind, ProxyError};
use crate::executor::others_first;
use crate::worker::Worker;

/// The route of a request and what it waits for.
type Waits<'s> = (Option<&'s Route<RouteTarget>>, Box<Waiting<'s>>);

/// A request whose route has been looked for.
pub(super) struct Routed<'s> {
    pub(super) route: Option<&'s Route<RouteTarget>>,
    pub(super) step: Result<Step<'s>, ProxyError>,
}

impl<'s> Routed<'s> {
    /// Its route and what it waits for; itself if it does not wait.
    pub(super) fn into_waiting(self) -> Result<Waits<'s>, Self> {
        match self.step {
            Ok(Step::Wait(waiting)) => Ok((self.route, waiting)),
            _ => Err(self),
        }
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
    match route(worker, client, x, snapshot, &mut framing).await {
        Ok(routed) => serve(worker, client, x, snapshot, framing, routed).await,
        Err(next) => next,
    }
}

/// Finds the route of a request and its first step; an error if it has been answered.
pub(super) async fn route<'s>(
    worker: &'s Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    framing: &mut RequestFraming,
) -> Result<Routed<'s>, Next> {
    let admitted = admit(x);
    x.record = Record::new(Some(client.peer), worker.deadlines.now_ns());
    others_first().await;
    x.parts.path.read(x.request.path());
    x.parts.host.read(&x.client_host);
    x.parts.content = unread(framing.body);
    // Memory prefetched for one request has arrived by the time that others were processed.
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
        Err(error) => return Err(Box::pin(refuse(worker, client, x, snapshot, error)).await),
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
        let by = (framing, dice);
        read = Box::pin(find_by_content(worker, snapshot, client, x, by, &mut found)).await;
    }
    x.parts.give_back();
    let route = found.route;
    let step = match guarded {
        Err(local) => Ok(Step::Answer(None, local)),
        Ok(()) => read.and_then(|()| decide(worker, client, x, snapshot, found)),
    };
    Ok(Routed { route, step })
}

/// Carries out the steps of a request, and answers it.
pub(super) async fn serve(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &Snapshot,
    mut framing: RequestFraming,
    Routed { route, mut step }: Routed<'_>,
) -> Next {
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

/// Whether an upgrade is forwarded. Never one to cleartext HTTP/2, which would tunnel requests past
/// every rule, nor one with content, as servers disagree on whether the bytes are content.
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

/// Answers what is no request, or one that comes while no file is free.
pub(super) async fn turn_away(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &Snapshot,
    head: Head,
) -> Next {
    match head {
        Head::Closed => Next::Abort,
        Head::Refused(error) => refuse(worker, client, x, snapshot, error).await,
        Head::Request(framing) => {
            let error = ProxyError::with(ErrorKind::NoFiles, "no open file became free");
            // Its place is needed: nothing that is still on its way would turn the close into a
            // reset.
            let whole = framing.body == BodyKind::None && client.carry.is_empty();
            let next = refuse(worker, client, x, snapshot, error).await;
            if whole { Next::Abort } else { next }
        }
    }
}

/// Answers a request that panicked, if no answer was begun, and closes: how much of the connection
/// was read is unknown.
pub(crate) async fn answer_panic(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
) -> Next {
    let snapshot = worker.snapshot();
    let error = ProxyError::with(ErrorKind::Panic, "the gateway has a fault; its log tells more");
    let next = answer_error(worker, client, x, None, &snapshot, &error).await;
    finish(worker, &snapshot, x, None);
    next
}

/// Rejects methods that are never served and normalizes the path for matching and forwarding.
pub(super) fn admit(x: &mut Exchange) -> Result<(), ProxyError> {
    x.client_host.clear();
    x.client_host.extend_from_slice(x.request.host());
    enter(&mut x.request).map(drop)
}
