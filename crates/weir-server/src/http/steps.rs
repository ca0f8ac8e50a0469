//! From a route to what is done: the filters of a request, its waits, and where it goes.

use std::borrow::Cow;
use std::sync::Arc;

use weir_balance::Service;
use weir_config::{RouteTarget, Snapshot, Upstream as RouteUpstream};
use weir_filter::cors::CorsDecision;
use weir_filter::{LocalResponse, RequestContext, Target, Ticket, Verdict};
use weir_limit::Slot;
use weir_mock::MockSource;
use weir_route::Route;

use super::admission::{self, Admitted, wait};
use super::downstream::Client;
use super::exchange::{Exchange, Found};
use super::hops::spend_forward;
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// What is to be done for a request.
pub(super) enum Step<'s> {
    /// Send it on.
    Forward {
        route: &'s Route<RouteTarget>,
        /// Borrowed if it is the route's: counting references would have all workers write to one
        /// place for each request.
        target: Cow<'s, Arc<Target>>,
        /// The service that `target` is an instance of.
        service: Option<&'s Service>,
        preserve_host: bool,
    },
    /// Give this answer, after the response filters of a route.
    Answer(Option<&'s Route<RouteTarget>>, Box<LocalResponse>),
    /// Wait until a limit lets it pass, then go on with the filters.
    Wait(Box<Waiting<'s>>),
    /// Make an answer from API definitions.
    Mock(&'s Route<RouteTarget>, &'s MockSource),
    /// Look for the route of this path within the gateway.
    Dispatch(&'s str),
}

#[derive(Default)]
struct Filtering {
    target: Option<Target>,
    preserve_host: bool,
    prefixed: bool,
}

/// A request that waits for its turn.
pub(super) struct Waiting<'s> {
    route: &'s Route<RouteTarget>,
    ticket: Ticket,
    slot: Arc<Slot>,
    filtering: Filtering,
    /// The filter to go on with.
    from: usize,
}

/// What is to be done for a request whose turn has come.
pub(super) async fn waited<'s>(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    waiting: Box<Waiting<'s>>,
) -> Result<Step<'s>, ProxyError> {
    let Waiting { route, ticket, slot, filtering, from } = *waiting;
    x.record.filters_ran = 0;
    match wait(worker, client, x, &ticket, slot).await? {
        Some(local) => Ok(Step::Answer(Some(route), local)),
        None => run_filters(worker, client, x, snapshot, route, filtering, from),
    }
}

/// Applies to a request the rules for origins and forwarding, and the filters of its route.
/// Waits for nothing, so that the task of a connection has no room for it.
pub(super) fn decide<'s>(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    found: Found<'s>,
) -> Result<Step<'s>, ProxyError> {
    if let Some(why) = found.ambiguity {
        return Err(ProxyError::with(ErrorKind::AmbiguousPath, why.to_string()));
    }
    match found.cors {
        CorsDecision::NotCors => {}
        CorsDecision::Respond(local) => return Ok(Step::Answer(None, local)),
        CorsDecision::Proceed(fields) => x.cors_fields = fields,
    }
    let route = found.route.ok_or_else(|| ProxyError::new(ErrorKind::NoRoute))?;
    if let Some(local) = spend_forward(&mut x.request) {
        return Ok(Step::Answer(None, Box::new(local)));
    }
    snapshot.forwarding.receive(&mut x.request, client.peer.ip());
    super::panic::point("request filters", &x.request);
    // The reserved upstream is this gateway too: it answers for the Host that the client knows.
    let reserved = worker.reserved.as_ref().map(|reserved| &*reserved.route);
    let preserve_host = reserved.is_some_and(|reserved| std::ptr::eq(reserved, route));
    start(worker, client, x, snapshot, route, preserve_host)
}

/// Applies the filters of a route.
pub(super) fn start<'s>(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    route: &'s Route<RouteTarget>,
    preserve_host: bool,
) -> Result<Step<'s>, ProxyError> {
    let filtering = Filtering { preserve_host, ..Filtering::default() };
    run_filters(worker, client, x, snapshot, route, filtering, 0)
}

/// Runs the filters of a route from number `from` on, and finds out where the request goes.
fn run_filters<'s>(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    route: &'s Route<RouteTarget>,
    mut filtering: Filtering,
    mut from: usize,
) -> Result<Step<'s>, ProxyError> {
    loop {
        let mut context = RequestContext {
            head: &mut x.request,
            vars: &x.vars,
            target: &mut filtering.target,
            preserve_host: &mut filtering.preserve_host,
            prefixed: &mut filtering.prefixed,
            added: &mut x.cors_fields,
            claims: &mut x.claims,
            failure: x.failure.as_deref(),
            peer: client.peer,
            now_ms: worker.deadlines.wall_ms(),
        };
        let ran = &mut x.record.filters_ran;
        let verdict = route.target.chain.resume(from, &mut context, ran);
        match verdict.map_err(|error| ProxyError::with(ErrorKind::Filter, error.0))? {
            Verdict::Continue => break,
            Verdict::Respond(local) => return Ok(Step::Answer(Some(route), local)),
            Verdict::Admit(ticket) => {
                from = std::mem::take(&mut x.record.filters_ran);
                match admission::admit(x, &ticket) {
                    Admitted::Yes => {}
                    Admitted::No(local) => return Ok(Step::Answer(Some(route), local)),
                    Admitted::Later(slot) => {
                        let waiting = Waiting { route, ticket, slot, filtering, from };
                        return Ok(Step::Wait(Box::new(waiting)));
                    }
                }
            }
        }
    }
    let Filtering { target, preserve_host, .. } = filtering;
    let (target, service) = match target {
        Some(target) => (Cow::Owned(Arc::new(target)), None),
        None => match pick(route, worker.deadlines.wall_ms())? {
            To::Target(target, service) => (target, service),
            To::Forward(path) => return Ok(Step::Dispatch(path)),
            To::Mock(mocks) => return Ok(Step::Mock(route, mocks)),
            To::Nowhere => {
                let empty = LocalResponse { status: 200, ..LocalResponse::default() };
                return Ok(Step::Answer(Some(route), Box::new(empty)));
            }
        },
    };
    worker.identity.pass(&mut x.request, &target, snapshot.settings.via)?;
    Ok(Step::Forward { route, target, service, preserve_host })
}

/// Where a route sends a request.
enum To<'s> {
    /// A target, and the service that it is an instance of.
    Target(Cow<'s, Arc<Target>>, Option<&'s Service>),
    Forward(&'s str),
    Mock(&'s MockSource),
    Nowhere,
}

fn pick(route: &Route<RouteTarget>, now_ms: i64) -> Result<To<'_>, ProxyError> {
    match &route.target.upstream {
        RouteUpstream::Http(target) => Ok(To::Target(Cow::Borrowed(target), None)),
        RouteUpstream::Forward(to) => Ok(To::Forward(&to.path)),
        RouteUpstream::Mock(mocks) => Ok(To::Mock(mocks)),
        RouteUpstream::None => Ok(To::Nowhere),
        RouteUpstream::Balanced(service) => {
            let missing = || format!("Unable to find instance for {}", service.name());
            let picked = service.pick(now_ms);
            let picked = picked.map(|target| To::Target(Cow::Owned(target), Some(&**service)));
            picked.ok_or_else(|| ProxyError::with(ErrorKind::NoInstance, missing()))
        }
    }
}
