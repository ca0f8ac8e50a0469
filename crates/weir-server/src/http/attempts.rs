//! Forwarding of a request whose route has a policy for upstream failures: breaker around retries
//! around attempts, and forwarding to another route within the gateway.
//!
//! The order is fixed: breaker, then its time limit, then retries, then one attempt with its
//! response timeout. Other requests never come here (`docs/decisions/0032-attempts.md`).

use std::rc::Rc;
use std::sync::Arc;

use weir_filter::filter::{CircuitBreaker, MockFallback, Retry};
use weir_filter::{Failure, LocalResponse, Outcome, Target};
use weir_limit::RetryBudget;
use weir_mock::MockSource;
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::RequestHead;
use weir_wire::http1::{RequestFraming, ResponseFraming};

use super::choice::{Balancer, answered, failed, pass_on_cookie};
use super::client::Client;
use super::exchange::{BodyRead, Exchange, Next};
use super::forward::{await_head, deliver, reached, wanted};
use super::guarded::{Counted, is_open};
use super::local::answer;
use super::outgoing::Outgoing;
use super::pool::Upstream;
use super::prepare::{local_ip, prepare, prepare_again};
use super::replay::{Body, budgets, keep_body, pause, put_aside};
use super::time_limit::TimeLimit;
use super::upstream::{Wanted, acquire, kept};
use crate::error::{ErrorKind, ProxyError, Side};
use crate::pacer::now_ns;
use crate::worker::Worker;

/// An attempt with less time than this is not worth it: deadlines are coarse.
const ATTEMPT_MS_MIN: u64 = 10;

/// Result of the attempts.
pub(super) enum Done<'s> {
    Next(Next),
    /// The request, as it was before the first attempt, is answered from definitions.
    Mock(&'s MockSource, Outcome),
    /// The original request is forwarded to the route of this path.
    Fallback(String),
}

/// All attempts for one request.
pub(super) struct Attempts<'s> {
    worker: &'s Rc<Worker>,
    snapshot: &'s Snapshot,
    route: &'s Route<RouteTarget>,
    framing: RequestFraming,
    preserve_host: bool,
    breaker: Option<&'s CircuitBreaker>,
    retry: Option<&'s Retry>,
    mock: Option<&'s MockFallback>,
    /// For a response head, over all attempts.
    limit: TimeLimit,
    /// Deadline for starting another attempt; a running one goes on, as in SCG.
    again_until_ns: Option<u64>,
}

/// Target of a request.
type To<'s> = (Arc<Target>, Option<Balancer<'s>>, bool);

impl<'s> Attempts<'s> {
    pub(super) fn new(
        worker: &'s Rc<Worker>,
        snapshot: &'s Snapshot,
        route: &'s Route<RouteTarget>,
        framing: RequestFraming,
        preserve_host: bool,
    ) -> Self {
        let chain = &route.target.chain;
        let (breaker, retry) = (chain.breaker(), chain.retry());
        // A protocol that is switched is not mocked.
        let mock = chain.mock_fallback().filter(|_| !framing.upgrade);
        let (limit, again_until_ns) = (TimeLimit::default(), None);
        Self {
            worker,
            snapshot,
            route,
            framing,
            preserve_host,
            breaker,
            retry,
            mock,
            limit,
            again_until_ns,
        }
    }

    /// Makes the call, through the breaker if there is one.
    pub(super) async fn run(
        mut self,
        client: &mut Client,
        x: &mut Exchange,
        to: To<'s>,
    ) -> Result<Done<'s>, ProxyError> {
        // Not retried: protocol upgrades and methods that are not listed.
        self.retry =
            self.retry.filter(|retry| retry.takes(x.request.method()) && !self.framing.upgrade);
        if let Some(filter) = self.breaker {
            return self.run_guarded(client, x, to, filter).await;
        }
        let again = self.retry.is_some() || self.mock.is_some();
        let body = self.body(client, x, again).await?;
        self.limit(None);
        let before = self.mock.map(|_| x.request.clone());
        let mut outgoing = Outgoing::new(self.snapshot, self.framing, self.route);
        let result = self.attempts(client, x, to, &body, &mut outgoing).await;
        let outcome = match &result {
            Ok(_) => Some(Outcome::Status(x.response.status)),
            Err(error) => outcome_of(error),
        };
        let mocked = outcome.and_then(|outcome| self.mocked(before.as_ref(), outcome, &body));
        if let Some((source, outcome)) = mocked {
            if let Ok((upstream, head)) = result {
                put_aside(self.worker, x, &outgoing, upstream, head);
            }
            restore(client, x, before, &body);
            return Ok(Done::Mock(source, outcome));
        }
        let (upstream, head) = result?;
        let next = deliver(self.worker, client, x, &outgoing, self.route, upstream, head).await?;
        Ok(Done::Next(next))
    }

    /// The mock response for the request as it was `before`, if its body is still there.
    fn mocked(
        &self,
        before: Option<&RequestHead>,
        outcome: Outcome,
        body: &Body,
    ) -> Option<(&'s MockSource, Outcome)> {
        let source = self.mock?.source(before?, outcome)?;
        matches!(body, Body::Kept(_)).then_some((source, outcome))
    }

    async fn run_guarded(
        mut self,
        client: &mut Client,
        x: &mut Exchange,
        to: To<'s>,
        filter: &'s CircuitBreaker,
    ) -> Result<Done<'s>, ProxyError> {
        let breaker = filter.breaker();
        let target = Arc::clone(&to.0);
        let failure = |outcome, limit_ns: Option<u64>| {
            let limit_ms = limit_ns.unwrap_or_default() / 1_000_000;
            Box::new(Failure::of(outcome, breaker.name(), limit_ms, &target.host, target.port))
        };
        let fallback = filter.fallback(&x.vars);
        let fallback = fallback.map_err(|error| ProxyError::with(ErrorKind::Filter, error.0))?;
        let Some(call) = breaker.begin(now_ns()) else {
            let Some(path) = fallback else { return self.refused(x, filter) };
            x.failure = Some(failure(Outcome::Open, None));
            return Ok(Done::Fallback(path));
        };
        let limit_ns = call.time_limit_ns;
        let call = Counted::new(breaker, call);
        let again = self.retry.is_some() || fallback.is_some() || self.mock.is_some();
        let body = self.body(client, x, again).await?;
        self.limit(limit_ns);
        let before = self.before(x, fallback.is_some());
        let mut outgoing = Outgoing::new(self.snapshot, self.framing, self.route);
        let error = match self.attempts(client, x, to, &body, &mut outgoing).await {
            Ok((upstream, head)) => {
                let status = x.response.status;
                let failed = filter.is_failure(status);
                call.end(failed);
                let mocked = self.mocked(before.as_ref(), Outcome::Status(status), &body);
                if let Some((source, outcome)) = mocked.filter(|_| !failed || fallback.is_none()) {
                    put_aside(self.worker, x, &outgoing, upstream, head);
                    restore(client, x, before, &body);
                    return Ok(Done::Mock(source, outcome));
                }
                if !failed || !filter.has_fallback() && filter.resumes() {
                    let (worker, route) = (self.worker, self.route);
                    let next = deliver(worker, client, x, &outgoing, route, upstream, head).await?;
                    return Ok(Done::Next(next));
                }
                put_aside(self.worker, x, &outgoing, upstream, head);
                ProxyError::with(ErrorKind::BreakerStatus(status), format!("status {status}"))
            }
            // A client that left, or sent an invalid body, is no evidence against the upstream.
            Err(error) if error.side == Side::Client => return Err(error),
            Err(error) => {
                call.end(true);
                error
            }
        };
        let outcome = outcome_of(&error).unwrap_or(Outcome::Broken);
        let mocked = self.mocked(before.as_ref(), outcome, &body);
        let is_restored = restore(client, x, before, &body);
        match (fallback, mocked) {
            (Some(path), _) if is_restored => {
                x.failure = Some(failure(outcome, limit_ns));
                Ok(Done::Fallback(path))
            }
            (None, Some((source, outcome))) => Ok(Done::Mock(source, outcome)),
            _ if filter.resumes() && !filter.has_fallback() && outcome != Outcome::TimedOut => {
                self.answer_empty(client, x).await
            }
            _ => Err(error),
        }
    }

    /// The head to go on with if the call fails: for a fallback as the breaker met it, unless the
    /// content was edited since.
    fn before(&self, x: &mut Exchange, has_fallback: bool) -> Option<RequestHead> {
        if self.mock.is_some() {
            return Some(x.request.clone());
        }
        let is_edited = self.route.target.chain.edits_request();
        let kept = x.kept.take().filter(|_| has_fallback && !is_edited);
        kept.map(|head| *head).or_else(|| has_fallback.then(|| x.request.clone()))
    }

    /// Fallback for a request that the breaker refuses.
    fn refused(&self, x: &Exchange, filter: &CircuitBreaker) -> Result<Done<'s>, ProxyError> {
        let source = self.mock.and_then(|mock| mock.source(&x.request, Outcome::Open));
        let source = source.ok_or_else(|| is_open(filter.breaker()))?;
        Ok(Done::Mock(source, Outcome::Open))
    }

    async fn answer_empty(
        &self,
        client: &mut Client,
        x: &mut Exchange,
    ) -> Result<Done<'s>, ProxyError> {
        let empty = LocalResponse { status: 200, ..LocalResponse::default() };
        let (route, snapshot, framing) = (Some(self.route), self.snapshot, self.framing);
        let next = answer(self.worker, client, x, framing, snapshot, route, (&empty, 0)).await?;
        Ok(Done::Next(next))
    }

    /// Bounds all attempts by `limit_ns`, and the begin of the last one by the timeout of Retry.
    fn limit(&mut self, limit_ns: Option<u64>) {
        let retry_ns = self.retry.and_then(Retry::timeout_ms).map(ms_as_ns);
        if limit_ns.is_none() && retry_ns.is_none() {
            return;
        }
        let from_ns = now_ns();
        self.limit = limit_ns.map_or_else(TimeLimit::default, |ns| TimeLimit::new(from_ns, ns));
        self.again_until_ns = retry_ns.map(|limit| from_ns.saturating_add(limit));
    }

    /// Repeats attempts until the response is one that is not retried.
    async fn attempts(
        &self,
        client: &mut Client,
        x: &mut Exchange,
        (mut target, service, chosen): To<'s>,
        body: &Body,
        outgoing: &mut Outgoing<'s>,
    ) -> Result<(Box<Upstream>, ResponseFraming), ProxyError> {
        let worker = self.worker;
        let response_timeout = outgoing.response_timeout;
        let budget = self.retry.and_then(|_| match service {
            Some(service) => budgets().of(service.name()),
            None => budgets().of((&target.host, target.port)),
        });
        if let Some(budget) = budget {
            budget.deposit(self.snapshot.settings.retry_budget);
        }
        let mut tried = Vec::new();
        let (mut sent, mut last_ms) = (0, 0);
        loop {
            sent += 1;
            let now_ns = self.limit.now_ns(sent == 1);
            outgoing.response_timeout =
                self.limit.response_timeout(worker, response_timeout, now_ns)?;
            let to = (&mut target, service, chosen);
            let result = match self.ready(client, x, outgoing, to, body, sent > 1).await {
                Ok(ready) => {
                    let now_ns = if service.is_some() { self.limit.now_ns(false) } else { now_ns };
                    let mut wish = self.wish(&target, chosen, now_ns)?;
                    self.attempt(client, x, outgoing, &mut wish, ready, body).await
                }
                Err(error) => Err(error),
            };
            match &result {
                Ok(_) => answered(x),
                Err(error) if error.side == Side::Upstream => failed(x),
                Err(_) => {}
            }
            let outcome = match &result {
                Ok(_) => Some(Outcome::Status(x.response.status)),
                Err(error) => outcome_of(error),
            };
            let Some(wait_ms) =
                outcome.and_then(|outcome| self.next(x, sent, outcome, &mut last_ms, body, budget))
            else {
                return result;
            };
            if let Ok((upstream, head)) = result {
                put_aside(worker, x, outgoing, upstream, head);
            }
            worker.counters.retried();
            pause(worker, client, wait_ms).await?;
            if let Some(service) = service {
                tried.push(Arc::clone(&target));
                let next = service.next(worker, &mut x.choice, &tried, true);
                target = next.ok_or_else(|| ProxyError::new(ErrorKind::NoInstance))?;
            }
        }
    }

    /// Finds a reachable instance and prepares the request for it. Returns the connection if one
    /// had to be opened to find out.
    async fn ready(
        &self,
        client: &mut Client,
        x: &mut Exchange,
        outgoing: &Outgoing<'s>,
        (target, service, chosen): (&mut Arc<Target>, Option<Balancer<'_>>, bool),
        body: &Body,
        again: bool,
    ) -> Result<Option<Box<Upstream>>, ProxyError> {
        let worker = self.worker;
        let reached = match service {
            Some(service) => {
                let wish = self.wish(target, chosen, self.limit.now_ns(!again))?;
                reached(worker, client, &mut x.choice, &wish, service).await
            }
            None => Ok((None, None)),
        };
        let (ready, failed) = match reached {
            Ok((ready, other)) => {
                if let Some(other) = other {
                    *target = other;
                }
                (ready, None)
            }
            // The next attempt must find the request in the same state as after any other.
            Err(error) if outcome_of(&error).is_some() => (None, Some(error)),
            Err(error) => return Err(error),
        };
        if x.choice.is_some() {
            pass_on_cookie(x);
        }
        if again {
            let forwarding = &self.snapshot.forwarding;
            forwarding.redirect(&mut x.request, target, self.preserve_host);
            body.put_back(x, &mut client.carry);
            prepare_again(x, self.framing, outgoing, &mut client.carry)?;
        } else {
            let ends = (client.peer, local_ip(client, self.snapshot.forwarding.names_itself()));
            prepare(ends, &mut client.carry, x, outgoing, target, self.preserve_host)?;
        }
        failed.map_or(Ok(ready), Err)
    }

    /// Delay in milliseconds before the next attempt; `None` if there is no further attempt.
    fn next(
        &self,
        x: &Exchange,
        sent: u32,
        outcome: Outcome,
        last_ms: &mut u64,
        body: &Body,
        budget: Option<RetryBudget<'_>>,
    ) -> Option<u64> {
        let (worker, retry) = (self.worker, self.retry?);
        if !retry.is_due(sent, outcome) {
            return None;
        }
        let after_s = matches!(outcome, Outcome::Status(_)).then(|| retry_after_s(x)).flatten();
        let wait_ms = retry.wait_ms(sent, after_s, last_ms, worker.roll())?;
        let starts_ns = now_ns().saturating_add(ms_as_ns(wait_ms + ATTEMPT_MS_MIN));
        if self.limit.is_over(starts_ns)
            || self.again_until_ns.is_some_and(|until_ns| starts_ns >= until_ns)
        {
            return None;
        }
        if matches!(body, Body::Once) && x.upload.moved > 0 {
            worker.counters.not_retried_for_body();
            return None;
        }
        if !budget.is_some_and(|budget| budget.withdraw(now_ns() / 1_000_000)) {
            worker.counters.not_retried_for_budget();
            return None;
        }
        Some(wait_ms)
    }

    /// One attempt; if a pooled connection turns out to be stale, it is repeated on another one.
    async fn attempt(
        &self,
        client: &mut Client,
        x: &mut Exchange,
        outgoing: &Outgoing<'s>,
        wish: &mut Wanted<'_>,
        mut ready: Option<Box<Upstream>>,
        body: &Body,
    ) -> Result<(Box<Upstream>, ResponseFraming), ProxyError> {
        let worker = self.worker;
        loop {
            let found = ready.take().or_else(|| kept(worker, wish));
            let mut upstream = match found {
                Some(upstream) => upstream,
                None => {
                    x.upload.give_back(&mut worker.scratch.borrow_mut());
                    // Boxed, so that the task reserves no space for a rare case.
                    Box::pin(acquire(worker, client, wish)).await?
                }
            };
            match await_head(worker, client, x, outgoing, &mut upstream).await {
                Ok(head) => return Ok((upstream, head)),
                Err(failed) => {
                    let safe = matches!(
                        x.request.method(),
                        b"GET" | b"HEAD" | b"OPTIONS" | b"PUT" | b"DELETE"
                    );
                    let whole = safe && matches!(body, Body::Kept(_));
                    if !failed.stale || wish.fresh || !(failed.unsent || whole) {
                        return Err(failed.error);
                    }
                    if !failed.unsent {
                        body.put_back(x, &mut client.carry);
                        prepare_again(x, self.framing, outgoing, &mut client.carry)?;
                    }
                    worker.counters.resent();
                    wish.fresh = true;
                }
            }
        }
    }

    async fn body(
        &self,
        client: &mut Client,
        x: &mut Exchange,
        needed: bool,
    ) -> Result<Body, ProxyError> {
        let settings = &self.snapshot.settings;
        keep_body(self.worker, client, x, self.framing, settings, needed).await
    }

    /// The connection that an attempt which starts at `now_ns` wants to `target`.
    fn wish<'w>(
        &'w self,
        target: &'w Arc<Target>,
        chosen: bool,
        now_ns: u64,
    ) -> Result<Wanted<'w>, ProxyError> {
        let wish = wanted(self.worker, self.snapshot, self.route, target);
        Ok(Wanted {
            connect_timeout: self.limit.left(wish.connect_timeout, now_ns)?,
            chosen: chosen.then_some(&*self.snapshot.settings.request_uri_allow),
            ..wish
        })
    }
}

/// Restores the request to its state before the first attempt, body included, if the whole body was
/// kept.
fn restore(
    client: &mut Client,
    x: &mut Exchange,
    before: Option<RequestHead>,
    body: &Body,
) -> bool {
    let Some(before) = before.filter(|_| matches!(body, Body::Kept(_))) else { return false };
    x.request = before;
    body.put_back(x, &mut client.carry);
    x.record.body = BodyRead::Untouched;
    true
}

/// Outcome that an error reports about the upstream; `None` if it reports nothing.
fn outcome_of(error: &ProxyError) -> Option<Outcome> {
    match error.kind {
        ErrorKind::Resolve => Some(Outcome::Unresolved),
        ErrorKind::Connect | ErrorKind::ConnectTimeout => Some(Outcome::Unreached),
        ErrorKind::UpstreamClosed | ErrorKind::BadResponse => Some(Outcome::Broken),
        ErrorKind::ResponseTimeout | ErrorKind::UpstreamTooSlow => Some(Outcome::TimedOut),
        ErrorKind::BreakerStatus(status) => Some(Outcome::Status(status)),
        _ => None,
    }
}

/// Seconds of the upstream's `Retry-After`; a date is ignored.
fn retry_after_s(x: &Exchange) -> Option<u64> {
    let value = x.response.fields.get(b"retry-after")?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

fn ms_as_ns(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}
