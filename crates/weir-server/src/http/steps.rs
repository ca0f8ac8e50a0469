//! The steps of a request after routing: filters, waits and the destination.

use std::borrow::Cow;
use std::sync::Arc;

use weir_filter::cors::CorsDecision;
use weir_filter::{
    Answer, Chain, LocalResponse, Outcome, Question, RequestContext, Target, Ticket, Verdict,
};
use weir_limit::Slot;
use weir_mock::MockSource;
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot, Upstream as RouteUpstream};
use weir_wire::http1::RequestFraming;

use super::admission::{self, Admitted, Ending, Wait, go_on, wait};
use super::ask::ask;
use super::choice::{Balancer, choose};
use super::client::Client;
use super::exchange::Exchange;
use super::find::Found;
use super::grpc;
use super::loop_guard::spend_forward;
use super::mocked::tell_fallback;
use super::recorded;
use super::request_body::look;
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// The next action for a request.
pub(super) enum Step<'s> {
    /// Send it on.
    Forward {
        route: &'s Route<RouteTarget>,
        /// Borrowed if it is the route's: counting references would have all workers write to one
        /// place for each request.
        target: Cow<'s, Arc<Target>>,
        /// The service that `target` is an instance of.
        service: Option<Balancer<'s>>,
        preserve_host: bool,
    },
    /// Give this answer, after the response filters of a route.
    Answer(Option<&'s Route<RouteTarget>>, Box<LocalResponse>),
    /// Wait for a limit or an answer, then go on with the filters.
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

/// A request that waits.
pub(super) struct Waiting<'s> {
    route: &'s Route<RouteTarget>,
    what: Awaited,
    filtering: Filtering,
    /// The filter to go on with.
    from: usize,
}

/// The event that a request waits for.
enum Awaited {
    /// Its turn at a limit; how the wait for it ended, once it has.
    Turn(Ticket, Arc<Slot>, Option<Ending>),
    /// An answer to a filter's question.
    Answer(Box<Question>),
}

impl Waiting<'_> {
    /// The wait for a turn at a limit, if that is what is to come.
    pub(super) fn turn<'a>(
        &'a self,
        worker: &'a Worker,
        client: &'a mut Client,
    ) -> Option<Wait<'a>> {
        match &self.what {
            Awaited::Turn(ticket, slot, None) => Some(wait(worker, client, ticket, slot)),
            _ => None,
        }
    }

    /// Ends the wait for a turn, if it has: [`waited`] then goes on at once.
    pub(super) fn end(&mut self, how: Option<Ending>) {
        if let Awaited::Turn(_, _, ending) = &mut self.what {
            *ending = how;
        }
    }
}

/// The next action for a request, after what it waits for.
pub(super) async fn waited<'s>(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    framing: &mut RequestFraming,
    waiting: Box<Waiting<'s>>,
) -> Result<Step<'s>, ProxyError> {
    let Waiting { route, what, filtering, from } = *waiting;
    x.record.filters_ran = 0;
    let answer = match what {
        Awaited::Turn(ticket, slot, ending) => {
            let ending = match ending {
                Some(ending) => ending,
                None => wait(worker, client, &ticket, &slot).await,
            };
            match go_on(worker, x, &ticket, ending)? {
                Some(local) => return Ok(Step::Answer(Some(route), local)),
                None => None,
            }
        }
        // Apart, so that a request in a queue does not take the room of one that asks.
        Awaited::Answer(question) => {
            Some(Box::pin(answered(worker, client, x, snapshot, framing, route, *question)).await?)
        }
    };
    run_filters(worker, client, x, snapshot, route, filtering, (from, answer))
}

/// The answer to a filter's question.
async fn answered(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &Snapshot,
    framing: &mut RequestFraming,
    route: &Route<RouteTarget>,
    question: Question,
) -> Result<Answer, ProxyError> {
    match question {
        Question::Content => look(worker, client, x, framing, &snapshot.settings).await,
        Question::Grpc(call) => {
            // Never where a filter would send it, as in SCG.
            let To::Target(target, service) = pick(worker, client, x, route)? else {
                let what = "JsonToGrpc has no server to call";
                return Err(ProxyError::with(ErrorKind::Filter, what));
            };
            let to = (target.into_owned(), service);
            grpc::call(worker, client, x, snapshot, route, to, call).await
        }
        question => ask(worker, client, question).await,
    }
}

/// Applies the CORS and forwarding rules and the filters of its route to a request. Not `async`, so
/// that it takes no space in the connection's task.
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
        CorsDecision::Proceed(fields) => {
            for (name, value) in fields {
                x.added.append(name.as_bytes(), &value);
            }
        }
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
    run_filters(worker, client, x, snapshot, route, filtering, (0, None))
}

/// Runs the filters of a route from number `from` on, once the one before has its answer, and
/// determines the destination of the request.
fn run_filters<'s>(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    snapshot: &'s Snapshot,
    route: &'s Route<RouteTarget>,
    mut filtering: Filtering,
    (mut from, mut answer): (usize, Option<Answer>),
) -> Result<Step<'s>, ProxyError> {
    loop {
        let mut context = RequestContext {
            head: &mut x.request,
            vars: &x.vars,
            target: &mut filtering.target,
            preserve_host: &mut filtering.preserve_host,
            prefixed: &mut filtering.prefixed,
            added: &mut x.added,
            claims: &mut x.claims,
            kept: &mut x.kept,
            failure: x.failure.as_deref(),
            peer: client.peer,
            now_ms: worker.deadlines.wall_ms(),
            dice: worker.roll(),
            is_asked: false,
        };
        let (chain, ran) = (&route.target.chain, &mut x.record.filters_ran);
        match verdict(chain, from, &mut context, ran, answer.take())? {
            Verdict::Continue => break,
            Verdict::Respond(local) => return Ok(Step::Answer(Some(route), local)),
            Verdict::Ask(question) => {
                let (what, from) = (Awaited::Answer(question), x.record.filters_ran);
                return Ok(Step::Wait(Box::new(Waiting { route, what, filtering, from })));
            }
            Verdict::Admit(mut ticket) => {
                from = std::mem::take(&mut x.record.filters_ran);
                match admission::admit(worker, client, x, &mut ticket) {
                    Admitted::Yes => {}
                    Admitted::No(local) => return Ok(Step::Answer(Some(route), local)),
                    Admitted::Later(slot) => {
                        let what = Awaited::Turn(ticket, slot, None);
                        let waiting = Waiting { route, what, filtering, from };
                        return Ok(Step::Wait(Box::new(waiting)));
                    }
                }
            }
        }
    }
    let Filtering { target, preserve_host, .. } = filtering;
    let (target, service) = match target {
        Some(target) => (Cow::Owned(Arc::new(target)), None),
        None => match pick(worker, client, x, route).or_else(|e| instead(worker, x, route, e))? {
            To::Target(target, service) => (target, service),
            To::Forward(path) => return Ok(Step::Dispatch(path)),
            To::Mock(mocks) => return Ok(Step::Mock(route, mocks)),
            To::Nowhere => {
                let empty = LocalResponse { status: 200, ..LocalResponse::default() };
                return Ok(Step::Answer(Some(route), Box::new(empty)));
            }
        },
    };
    worker.identity.pass(&mut x.request, &target, &snapshot.settings.via)?;
    if worker.is_tapping() {
        recorded::begin(worker, x, &route.id);
    }
    if let Some(pipeline) = &worker.pipeline {
        x.taken = pipeline.take();
    }
    Ok(Step::Forward { route, target, service, preserve_host })
}

/// Verdict of the filters from number `from` on, once the filter before them has its answer.
fn verdict(
    chain: &Chain,
    from: usize,
    context: &mut RequestContext<'_>,
    ran: &mut usize,
    answer: Option<Answer>,
) -> Result<Verdict, ProxyError> {
    let told =
        answer.map_or(Ok(Verdict::Continue), |told| chain.answered(from, context, told, ran));
    let verdict = match told {
        Ok(Verdict::Continue) => chain.resume(from, context, ran),
        other => other,
    };
    verdict.map_err(|error| ProxyError::with(ErrorKind::Filter, error.0))
}

/// Destination of a route.
enum To<'s> {
    /// A target, and the service that it is an instance of.
    Target(Cow<'s, Arc<Target>>, Option<Balancer<'s>>),
    Forward(&'s str),
    Mock(&'s MockSource),
    Nowhere,
}

/// The mock that answers where a service has no instance, if one does.
fn instead<'s>(
    worker: &Worker,
    x: &mut Exchange,
    route: &'s Route<RouteTarget>,
    error: ProxyError,
) -> Result<To<'s>, ProxyError> {
    let is_meant = error.kind == ErrorKind::NoInstance && route.target.chain.has_policy();
    let fallback = route.target.chain.mock_fallback().filter(|_| is_meant);
    let source = fallback.and_then(|one| one.source(&x.request, Outcome::Unreached));
    let source = source.ok_or(error)?;
    tell_fallback(worker, x, Outcome::Unreached);
    Ok(To::Mock(source))
}

fn pick<'s>(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    route: &'s Route<RouteTarget>,
) -> Result<To<'s>, ProxyError> {
    let missing = |name: &str| {
        let what = format!("Unable to find instance for {name}");
        ProxyError::with(ErrorKind::NoInstance, what)
    };
    match &route.target.upstream {
        RouteUpstream::Http(target) => Ok(To::Target(Cow::Borrowed(target), None)),
        RouteUpstream::Forward(to) => Ok(To::Forward(&to.path)),
        RouteUpstream::Mock(mocks) => Ok(To::Mock(mocks)),
        RouteUpstream::None => Ok(To::Nowhere),
        RouteUpstream::Balanced(service) => {
            let picked = service.pick(worker.deadlines.wall_ms());
            let target = picked.ok_or_else(|| missing(service.name()))?;
            Ok(To::Target(Cow::Owned(target), Some(Balancer::Service(service))))
        }
        RouteUpstream::Clustered(cluster) => {
            let target = choose(worker, client, x, cluster);
            let target = target.ok_or_else(|| missing(cluster.name()))?;
            Ok(To::Target(Cow::Owned(target), Some(Balancer::Cluster(cluster))))
        }
    }
}
