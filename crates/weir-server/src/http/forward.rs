//! Forwarding: from the filtered request to the relayed response.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use weir_filter::Target;
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::Version;
use weir_wire::http1::{BodyKind, Parsed, RequestFraming, ResponseFraming, parse_response};

use super::buffers::{Carry, ReadBuffer};
use super::choice::{Balancer, answered, pass_on_cookie};
use super::client::{Client, write_all};
use super::content::{collected, refreshed};
use super::exchange::{BodyRead, Chosen, Exchange, Next};
use super::exchange_deadline::ExchangeDeadline;
use super::local::write_head;
use super::outgoing::Outgoing;
use super::pool::Upstream;
use super::prepare::{local_ip, prepare, prepare_again};
use super::recorded;
use super::relay::{Relay, RelayError};
use super::respond::relay;
use super::upstream::{Wanted, acquire, kept, poll_gone};
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::net::poll_read;
use crate::worker::Worker;

/// Interim (1xx) responses relayed for one request at most; more is an attack or a fault.
const INTERIM_MAX: usize = 64;
/// Instances of a service that are tried for one request at most, after the first.
const INSTANCES_MAX: usize = 16;

/// Why an attempt ended without a final response head.
pub(super) struct Failed {
    pub(super) error: ProxyError,
    /// The connection was pooled and ended before the first byte of a response: it was stale.
    pub(super) stale: bool,
    /// Not one byte of the request was accepted by the connection.
    pub(super) unsent: bool,
}

/// Sends the request to `target` and its response to the client.
#[expect(clippy::too_many_arguments, reason = "the one place where all parts of an exchange meet")]
pub(crate) async fn forward(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    (target, service, chosen): (&Arc<Target>, Option<Balancer<'_>>, bool),
    preserve_host: bool,
) -> Result<Next, ProxyError> {
    let outgoing = Outgoing::new(snapshot, framing, route);
    let ends = (client.peer, local_ip(client, snapshot.forwarding.names_itself()));
    let mut wanted = wanted(worker, snapshot, route, target);
    wanted.chosen = chosen.then_some(&*snapshot.settings.request_uri_allow);
    let (mut found, other) = match service {
        Some(service) => reached(worker, client, &mut x.choice, &wanted, service).await?,
        None => (None, None),
    };
    wanted.target = other.as_ref().unwrap_or(target);
    if x.choice.is_some() {
        pass_on_cookie(x);
    }
    prepare(ends, &mut client.carry, x, &outgoing, wanted.target, preserve_host)?;
    loop {
        let ready = found.take().or_else(|| kept(worker, &wanted));
        let mut upstream = match ready {
            Some(upstream) => upstream,
            None => {
                x.upload.give_back(&mut worker.scratch.borrow_mut());
                // Boxed, so that a connection's task reserves no space for a rare case.
                Box::pin(acquire(worker, client, &wanted)).await?
            }
        };
        match await_head(worker, client, x, &outgoing, &mut upstream).await {
            Ok(response) => {
                return deliver(worker, client, x, &outgoing, route, upstream, response).await;
            }
            Err(failed) => resend(worker, x, &mut wanted, &outgoing, &mut client.carry, failed)?,
        }
    }
}

/// Sends the prepared request to `upstream` and waits for the head of its final response.
pub(super) async fn await_head(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    upstream: &mut Upstream,
) -> Result<ResponseFraming, Failed> {
    let mut wait = HeadWait::new(client, outgoing, &x.upload);
    let answered = loop {
        let polled = |cx: &mut Context<'_>| wait.poll(cx, worker, client, x, outgoing, upstream);
        match poll_fn(polled).await {
            Ok(Got::Final(response)) => break Ok(response),
            Ok(Got::Interim) => {
                if let Err(error) = Box::pin(wait.relay_interim(client, x, outgoing)).await {
                    break Err(Failed { error, stale: false, unsent: false });
                }
            }
            Err(error) => break Err(wait.failed(x, upstream, error)),
        }
    };
    client.deadline.clear();
    answered
}

/// Sends a response whose head is there to the client: relayed as it comes, unless filters want it
/// whole.
pub(super) async fn deliver(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    upstream: Box<Upstream>,
    response: ResponseFraming,
) -> Result<Next, ProxyError> {
    if x.choice.is_some() {
        answered(x);
    }
    if x.is_refresh {
        return Box::pin(refreshed(worker, client, x, outgoing, upstream, response)).await;
    }
    if x.tapped.is_some() {
        recorded::answered(x);
    }
    if route.target.chain.takes_response() {
        let all = collected(worker, client, x, outgoing, route, upstream, response);
        return Box::pin(all).await;
    }
    relay(worker, client, x, outgoing, route, upstream, response).await
}

/// The connection that a request of `route` wants to `target`.
pub(super) fn wanted<'a>(
    worker: &Worker,
    snapshot: &'a Snapshot,
    route: &Route<RouteTarget>,
    target: &'a Arc<Target>,
) -> Wanted<'a> {
    let settings = &snapshot.settings;
    let own = route.target.timeouts().and_then(|timeouts| timeouts.connect);
    Wanted {
        target,
        pool: &settings.pool,
        connect_timeout: own.unwrap_or(settings.connect_timeout),
        workers: worker.counters.workers(),
        fresh: false,
        chosen: None,
    }
}

/// A connection to an instance, and the instance if it is not the first choice.
pub(super) type Reached = (Option<Box<Upstream>>, Option<Arc<Target>>);

/// Finds a reachable one of several instances before the head is written for it.
pub(super) async fn reached(
    worker: &Rc<Worker>,
    client: &mut Client,
    choice: &mut Chosen,
    wanted: &Wanted<'_>,
    service: Balancer<'_>,
) -> Result<Reached, ProxyError> {
    match kept(worker, wanted) {
        Some(upstream) => Ok((Some(upstream), None)),
        // Boxed, so that a connection's task reserves no space for a rare case.
        None => Box::pin(reach(worker, client, choice, wanted, service)).await,
    }
}

/// Connects to the chosen instance, or to the next reachable one. As nothing has been sent yet, no
/// request can take effect twice.
async fn reach(
    worker: &Rc<Worker>,
    client: &mut Client,
    choice: &mut Chosen,
    wanted: &Wanted<'_>,
    service: Balancer<'_>,
) -> Result<Reached, ProxyError> {
    let mut away = Vec::new();
    let mut other: Option<Arc<Target>> = None;
    loop {
        let target = other.as_ref().unwrap_or(wanted.target);
        let wanted = Wanted { target, ..*wanted };
        match acquire(worker, client, &wanted).await {
            Ok(upstream) => return Ok((Some(upstream), other)),
            Err(error) if error.kind.is_unreached() && away.len() < INSTANCES_MAX => {
                service.unreached(worker, choice, target);
                away.push(Arc::clone(target));
                other = Some(service.next(worker, choice, &away, false).ok_or(error)?);
                worker.counters.moved_on();
            }
            Err(error) => return Err(error),
        }
    }
}

/// Resends the request on a new connection, only if it cannot take effect twice.
fn resend(
    worker: &Worker,
    x: &mut Exchange,
    wanted: &mut Wanted<'_>,
    outgoing: &Outgoing<'_>,
    carry: &mut Carry,
    failed: Failed,
) -> Result<(), ProxyError> {
    let again = failed.stale && !wanted.fresh;
    if !again || !(failed.unsent || is_repeatable(x, outgoing.framing)) {
        return Err(failed.error);
    }
    if !failed.unsent {
        prepare_again(x, outgoing.framing, outgoing, carry)?;
    }
    worker.counters.resent();
    wanted.fresh = true;
    Ok(())
}

/// Safe methods without a body can be sent again (RFC 9110 section 9.2.2).
fn is_repeatable(x: &Exchange, framing: RequestFraming) -> bool {
    let idempotent =
        matches!(x.request.method(), b"GET" | b"HEAD" | b"OPTIONS" | b"PUT" | b"DELETE");
    idempotent && matches!(framing.body, BodyKind::None | BodyKind::Length(0))
}

/// Result of waiting for a response head.
enum Got {
    Final(ResponseFraming),
    Interim,
}

/// State of the wait for the final response head, while the request is sent.
struct HeadWait {
    /// The upstream takes no more of the request; it may still answer.
    sink_failed: bool,
    deadline: ExchangeDeadline,
    /// Interim responses received.
    interims: usize,
}

impl HeadWait {
    fn new(client: &Client, outgoing: &Outgoing<'_>, upload: &Relay) -> Self {
        let deadline = ExchangeDeadline::new(client, outgoing, upload);
        Self { sink_failed: false, deadline, interims: 0 }
    }

    /// Classifies the failure of an attempt whose wait ended with `error`.
    fn failed(&self, x: &mut Exchange, upstream: &Upstream, error: ProxyError) -> Failed {
        if x.upload.is_decoded() {
            x.record.body = BodyRead::Whole;
        }
        let quiet = self.interims == 0 && upstream.carry.is_empty() && upstream.reused;
        let stale = quiet && error.kind == ErrorKind::UpstreamClosed;
        Failed { error, stale, unsent: x.upload.is_untouched() }
    }

    /// Passes a 1xx on to a client that knows them.
    async fn relay_interim(
        &mut self,
        client: &mut Client,
        x: &mut Exchange,
        outgoing: &Outgoing<'_>,
    ) -> Result<(), ProxyError> {
        self.interims += 1;
        if x.request.version != Version::Http10 {
            x.response.fields.remove(b"connection");
            write_head(&x.response, &mut x.down)?;
            client.deadline.set(outgoing.snapshot.settings.progress_window);
            let written = write_all(client, &x.down).await;
            // Part of it may be out: nothing can follow.
            x.record.head_sent = written.is_err();
            written?;
        }
        if self.interims == INTERIM_MAX {
            let what = "too many interim responses";
            return Err(ProxyError::with(ErrorKind::BadResponse, what));
        }
        self.deadline = ExchangeDeadline::new(client, outgoing, &x.upload);
        Ok(())
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        client: &mut Client,
        x: &mut Exchange,
        outgoing: &Outgoing<'_>,
        upstream: &mut Upstream,
    ) -> Poll<Result<Got, ProxyError>> {
        let mut scratch = worker.scratch.borrow_mut();
        if !x.upload.is_done() && !self.sink_failed {
            let (from, to) = (&mut client.stream, &mut upstream.stream);
            match x.upload.poll(cx, from, &mut client.carry, to, &mut scratch) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.deadline.request_sent(client, outgoing),
                Poll::Ready(Err(RelayError::Sink)) => self.sink_failed = true,
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(error.of_upload(outgoing.content_max)));
                }
            }
        }
        loop {
            let count = match poll_read(&mut upstream.stream, scratch.buffer()) {
                Poll::Pending => break,
                Poll::Ready(Err(_) | Ok(0)) => return Poll::Ready(Err(closed(upstream))),
                Poll::Ready(Ok(count)) => count,
            };
            if let Some(got) = take_head(x, outgoing, upstream, &mut scratch, count)? {
                return Poll::Ready(Ok(got));
            }
        }
        // After an interim response, a final head may be there already.
        if !upstream.carry.is_empty()
            && let Some(got) = take_head(x, outgoing, upstream, &mut scratch, 0)?
        {
            return Poll::Ready(Ok(got));
        }
        drop(scratch);
        if x.upload.is_done() && poll_gone(worker, client) {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        if worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        match self.deadline.poll(cx, client, outgoing, Some(&x.upload), None) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    }
}

fn closed(upstream: &Upstream) -> ProxyError {
    if upstream.carry.is_empty() {
        return ProxyError::with(ErrorKind::UpstreamClosed, "the upstream closed the connection");
    }
    ProxyError::with(ErrorKind::BadResponse, "the response head is incomplete")
}

/// Parses a response head from the bytes received so far, of which the last `count` are new.
fn take_head(
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    upstream: &mut Upstream,
    scratch: &mut ReadBuffer,
    count: usize,
) -> Result<Option<Got>, ProxyError> {
    let bytes = scratch.read(count);
    let whole = upstream.carry.is_empty();
    if whole {
        // Buffer for the bytes behind the head; returned when the connection is kept.
        std::mem::swap(&mut upstream.carry, &mut x.spare);
    } else {
        upstream.carry.push(bytes);
    }
    let input = if whole { bytes } else { upstream.carry.as_slice() };
    let limits = &outgoing.snapshot.settings.response_head_limits;
    let parsed = parse_response(input, x.request.method(), &mut x.response, limits);
    let parsed = parsed.map_err(|error| {
        ProxyError::with(ErrorKind::BadResponse, ProxyError::from(error).detail)
    })?;
    let Parsed::Complete { consumed, framing } = parsed else {
        if whole {
            upstream.carry.push(bytes);
        }
        return Ok(None);
    };
    if whole {
        scratch.give(&mut upstream.carry, consumed, count);
    } else {
        upstream.carry.consume(consumed);
    }
    if x.response.status == 101 && !switches(x, outgoing.framing) {
        let what = "the upstream switched to a protocol that was not asked for";
        return Err(ProxyError::with(ErrorKind::BadResponse, what));
    }
    let interim = x.response.status < 200 && x.response.status != 101;
    Ok(Some(if interim { Got::Interim } else { Got::Final(framing) }))
}

/// Whether a 101 names a protocol that the client offered (RFC 9110 section 7.8).
fn switches(x: &Exchange, framing: RequestFraming) -> bool {
    let Some(chosen) = x.response.fields.get(b"upgrade") else { return false };
    let offered = |value: &[u8]| {
        value.split(|byte| *byte == b',').any(|one| one.trim_ascii().eq_ignore_ascii_case(chosen))
    };
    framing.upgrade && x.request.fields.get_all(b"upgrade").any(offered)
}
