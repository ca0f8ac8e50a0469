//! Requests that are not just forwarded: they wait, are answered here, go to another route within
//! the gateway, through a cache, or need several attempts.

use std::borrow::Cow;
use std::rc::Rc;

use tokio::sync::oneshot;
use weir_filter::filter::Mirror;
use weir_filter::{Copied, Question};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::http1::{RequestFraming, canonical_path};

use super::attempts::{Attempts, Done};
use super::cache_lookup::look;
use super::cached::rescue;
use super::client::Client;
use super::exchange::{Exchange, Next};
use super::find::{awaits_content, find, find_by_content, unread};
use super::forward::forward;
use super::local::answer;
use super::mocked::{mocked, tell_fallback};
use super::refresh::Onward;
use super::replay::{Body, content_of, keep_body};
use super::request_body::edit_request;
use super::steps::{Step, start, waited};
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// Maximum number of forwards of one request to another route; more means a loop of routes.
const DISPATCHES_MAX: u32 = 8;

/// Executes the steps of a request that may take more than one attempt.
pub(super) async fn carry_out(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    step: Step<'_>,
) -> Result<Next, ProxyError> {
    let result = steps(worker, client, x, framing, snapshot, step).await;
    // Whoever waits for its response in a cache waits no longer.
    x.storing = None;
    if let Some(mut copied) = x.copied.take()
        && x.record.status > 0
    {
        copied.status = x.record.status;
        send_copy(worker, copied);
    }
    result
}

async fn steps(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    mut framing: RequestFraming,
    snapshot: &Snapshot,
    mut step: Step<'_>,
) -> Result<Next, ProxyError> {
    loop {
        step = match step {
            Step::Wait(waiting) => {
                waited(worker, client, x, snapshot, &mut framing, waiting).await?
            }
            Step::Answer(route, local) => {
                return answer(worker, client, x, framing, snapshot, route, (&local, 0)).await;
            }
            Step::Mock(route, mocks) => {
                return mocked(worker, client, x, framing, snapshot, route, mocks).await;
            }
            Step::Dispatch(path) => {
                let path = path.to_owned();
                dispatch(worker, client, x, snapshot, &mut framing, path.as_bytes()).await?
            }
            Step::Forward { route, target, service, preserve_host } => {
                let chosen = service.is_none() && matches!(target, Cow::Owned(_));
                if !route.target.chain.has_policy() {
                    let to = (&*target, service, chosen);
                    return forward(worker, client, x, framing, snapshot, route, to, preserve_host)
                        .await;
                }
                let to = Onward { route, target: &target, service, chosen, preserve_host };
                if route.target.chain.cache().is_some()
                    && let Some(next) = look(worker, client, x, framing, snapshot, to).await?
                {
                    return Ok(next);
                }
                if let Some(mirror) = route.target.chain.mirror()
                    && mirror.takes(worker.roll())
                {
                    copy(worker, client, x, framing, snapshot, mirror).await?;
                }
                if route.target.chain.edits_request() {
                    framing = edit_request(worker, client, x, framing, snapshot, route).await?;
                }
                let call = Attempts::new(worker, snapshot, route, framing, preserve_host);
                match call.run(client, x, (target.into_owned(), service, chosen)).await {
                    Ok(Done::Next(next)) => return Ok(next),
                    Ok(Done::Mock(source, outcome)) => {
                        x.storing = None;
                        tell_fallback(worker, x, outcome);
                        Step::Mock(route, source)
                    }
                    Err(error) => {
                        return rescue(worker, client, x, framing, snapshot, route, error).await;
                    }
                    Ok(Done::Fallback(path)) => {
                        leave(x, route);
                        worker.identity.take_back(&mut x.request, &snapshot.settings.via);
                        dispatch(worker, client, x, snapshot, &mut framing, path.as_bytes()).await?
                    }
                }
            }
        }
    }
}

/// Makes a request ready for the fallback of `route`.
fn leave(x: &mut Exchange, route: &Route<RouteTarget>) {
    // The response of another route must not be cached for this one.
    x.storing = None;
    // The original request, without what filters behind the breaker added, such as credentials.
    // Edited content stays with the head that gives its length.
    if let Some(kept) = x.kept.take().filter(|_| !route.target.chain.edits_request()) {
        x.request = *kept;
    }
    x.request.fields.remove(b"origin");
}

/// Finds the route of `path`, as Spring's DispatcherHandler does for a forward: method, query,
/// fields and body stay.
async fn dispatch<'s>(
    worker: &'s Worker,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    framing: &mut RequestFraming,
    path: &[u8],
) -> Result<Step<'s>, ProxyError> {
    x.dispatches += 1;
    if x.dispatches > DISPATCHES_MAX {
        let what = "routes of the gateway lead to each other in a circle";
        return Err(ProxyError::with(ErrorKind::Loop, what));
    }
    let path = canonical_path(path)?.map_or(Cow::Borrowed(path), Cow::Owned);
    x.request.set_path(&path);
    x.vars.clear();
    x.parts.path.read(x.request.path());
    x.parts.host.read(&x.client_host);
    x.parts.content = unread(framing.body);
    let dice = worker.roll();
    let mut found = find(worker, snapshot, client, x, dice);
    if awaits_content(&found, x) {
        find_by_content(worker, snapshot, client, x, (framing, dice), &mut found).await?;
    }
    x.parts.give_back();
    if let Some(why) = found.ambiguity {
        return Err(ProxyError::with(ErrorKind::AmbiguousPath, why.to_string()));
    }
    let route = found.route.ok_or_else(|| ProxyError::new(ErrorKind::NoRoute))?;
    start(worker, client, x, snapshot, route, false)
}

/// Keeps a copy of a request for a mirror, unless its body is too long.
async fn copy(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    mirror: &Mirror,
) -> Result<(), ProxyError> {
    if framing.upgrade {
        return Ok(());
    }
    let body = keep_body(worker, client, x, framing, &snapshot.settings, true).await?;
    if let Body::Kept(raw) = body {
        let content = content_of(framing, &raw)?;
        x.copied = Some(Box::new(mirror.copy(&x.request, content)));
    }
    Ok(())
}

/// Sends a copy on its way, if there is room for it.
fn send_copy(worker: &Worker, copied: Box<Copied>) {
    let Some(inquiries) = &worker.inquiries else { return };
    // The answer to a mirrored request is discarded.
    let (sender, _) = oneshot::channel();
    let sent = inquiries.try_send((Question::Mirror(copied), sender));
    worker.counters.asked("mirror", sent.is_ok());
}
