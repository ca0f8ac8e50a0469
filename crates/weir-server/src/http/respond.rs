//! The response: from the upstream's head to the last byte sent to the client.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use weir_filter::forwarding::nominated;
use weir_filter::{Coding, Encoder};
use weir_route::Route;
use weir_snapshot::RouteTarget;
use weir_wire::Version;
use weir_wire::http1::{BodyKind, Connection, ResponseFraming};

use super::client::{Client, write_all};
use super::exchange::{Exchange, Next};
use super::exchange_deadline::ExchangeDeadline;
use super::framing::frame_response;
use super::local::{after_last, filter_response, finish_head, write_head};
use super::outgoing::Outgoing;
use super::pool::{Upstream, keep};
use super::protection::protect;
use super::relay::RelayError;
use super::upstream::poll_gone;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::executor::goes_behind_others;
use crate::worker::Worker;

/// Relays a response whose head is there to the client.
pub(super) async fn relay(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    mut upstream: Box<Upstream>,
    response: ResponseFraming,
) -> Result<Next, ProxyError> {
    let begun = begin(worker, client, x, outgoing, route, &mut upstream, response)?;
    let Some(mut responding) = begun else {
        return Box::pin(switch(client, x, outgoing, upstream)).await;
    };
    let polled =
        |cx: &mut Context<'_>| responding.poll(cx, worker, client, x, outgoing, &mut upstream);
    let mut relayed = poll_fn(polled).await;
    client.deadline.clear();
    if let Some(fault) = responding.fault() {
        relayed = Box::pin(cut_short(client, x, outgoing, &fault)).await;
    }
    x.record.sent_bytes = x.download.moved;
    relayed.map(|()| responding.end(worker, client, x, outgoing, upstream))
}

/// A response on its way to the client.
struct Responding {
    /// Framing used by the upstream.
    framing: ResponseFraming,
    /// Another request may follow.
    keep: bool,
    deadline: ExchangeDeadline,
    upload_over: bool,
    fault: Option<RelayError>,
    /// It has yielded once to the ready reads (`docs/decisions/0027-responses-in-turn.md`).
    has_turn: bool,
}

/// Runs the response filters on the head that came from `upstream` and has the response start with
/// it; `None` if the protocol is switched ([`switch`]).
// Waits for nothing, as all of a usual response: no future is made for it.
fn begin(
    worker: &Worker,
    client: &Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    upstream: &mut Upstream,
    framing: ResponseFraming,
) -> Result<Option<Responding>, ProxyError> {
    let switching = x.response.status == 101;
    let withheld = match framing.body {
        BodyKind::Chunked => nominated(&x.response.fields),
        _ => Vec::new(),
    };
    outgoing.snapshot.forwarding.response(&mut x.response, switching);
    worker.identity.pass_back(&mut x.response, &outgoing.snapshot.settings.via);
    // A handshake is between client and upstream: no filter takes part in it, as in SCG.
    if switching {
        return Ok(None);
    }
    filter_response(x, Some(route))?;
    let coding = compressed(x, route, framing.body);
    let (sent, body, mut keep) = frame_response(x, framing.body);
    keep &= x.upload.is_done() && !must_close(worker, client, outgoing);
    x.download.restart(body, sent);
    x.download.withhold(withheld);
    if let Some(coding) = coding {
        x.download.encode(Encoder::new(coding).map_err(ProxyError::from)?);
    }
    protect(outgoing.snapshot.security.as_deref(), &mut x.response);
    finish_head(&mut x.response, x.request.version, keep, x.download.lead())?;
    x.record.status = x.response.status;
    // What has to wait for bandwidth is taken bit by bit. A request is not: it may be sent again.
    let fault = match x.download.pace {
        None => x.download.fill(&mut upstream.carry).err(),
        Some(_) => {
            upstream.carry.keep();
            None
        }
    };
    x.record.head_sent = true;
    super::panic::point("response body", &x.request);
    let (deadline, upload_over) = (ExchangeDeadline::progress_only(), x.upload.is_done());
    let has_turn = x.download.has_buffer();
    Ok(Some(Responding { framing, keep, deadline, upload_over, fault, has_turn }))
}

/// The coding that a response is sent in, if its route compresses it. It is sent in chunks, which
/// HTTP/1.0 does not have.
fn compressed(x: &mut Exchange, route: &Route<RouteTarget>, body: BodyKind) -> Option<Coding> {
    let compress = route.target.chain.compress()?;
    let length = match body {
        BodyKind::Length(length) => Some(length),
        BodyKind::None => return None,
        BodyKind::Chunked | BodyKind::UntilClose => None,
    };
    if x.request.method() == b"HEAD" || x.request.version == Version::Http10 {
        return None;
    }
    compress.apply(&x.request, &mut x.response, length)
}

impl Responding {
    /// Relays the response, and the rest of the request, until the response is complete.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        client: &mut Client,
        x: &mut Exchange,
        outgoing: &Outgoing<'_>,
        upstream: &mut Upstream,
    ) -> Poll<Result<(), ProxyError>> {
        if self.fault.is_some() {
            return Poll::Ready(Ok(()));
        }
        if !std::mem::replace(&mut self.has_turn, true) && goes_behind_others() {
            return Poll::Pending;
        }
        let (upload, download) = (&mut x.upload, &mut x.download);
        let mut scratch = worker.scratch.borrow_mut();
        if !self.upload_over {
            let (from, to) = (&mut client.stream, &mut upstream.stream);
            // A broken upload ends by itself; the response decides how the exchange ends.
            self.upload_over =
                upload.poll(cx, from, &mut client.carry, to, &mut scratch).is_ready();
        }
        let (from, to) = (&mut upstream.stream, &mut client.stream);
        match download.poll(cx, from, &mut upstream.carry, to, &mut scratch) {
            Poll::Ready(ended) => {
                self.fault = ended.err();
                return Poll::Ready(Ok(()));
            }
            Poll::Pending => {}
        }
        drop(scratch);
        let gone = upload.is_done() && poll_gone(worker, client);
        if gone || worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        self.deadline.arm(client, outgoing);
        let uploading = (!self.upload_over).then_some(&*upload);
        match self.deadline.poll(cx, client, outgoing, uploading, Some(&*download)) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    }

    /// The fault that ended the response early, if any.
    fn fault(&mut self) -> Option<RelayError> {
        self.fault.take()
    }

    /// Fate of the client's connection after a complete response; `upstream` is pooled if possible.
    fn end(
        &self,
        worker: &Worker,
        client: &Client,
        x: &mut Exchange,
        outgoing: &Outgoing<'_>,
        mut upstream: Box<Upstream>,
    ) -> Next {
        let read = x.upload.is_done();
        let reusable = self.framing.connection == Connection::KeepAlive
            && x.download.is_decoded()
            && read
            && self.framing.body != BodyKind::UntilClose
            // Bytes behind a complete response belong to no request (http-checklist row 16).
            && upstream.carry.is_empty()
            // Servers that decline an upgrade disagree on what follows: Node.js may wait for ever.
            && !outgoing.framing.upgrade
            && !worker.files.is_short();
        if reusable {
            std::mem::swap(&mut upstream.carry, &mut x.spare);
            let now_ms = worker.deadlines.now_ms();
            keep(upstream, &outgoing.snapshot.settings.pool, now_ms);
        }
        match self.keep {
            true => Next::KeepAlive,
            false => after_last(client, Some(outgoing.framing), read),
        }
    }
}

/// Ends a response that cannot be completed: content in front of a fault in its body is still sent.
async fn cut_short(
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    fault: &RelayError,
) -> Result<(), ProxyError> {
    if let RelayError::Sink = fault {
        return Err(fault.of_download());
    }
    client.deadline.set(outgoing.snapshot.settings.progress_window);
    let written = write_all(client, x.download.unwritten()).await;
    written.and(Err(fault.of_download()))
}

/// Sends the 101; from then on the connections belong to the tunnel.
async fn switch(
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    upstream: Box<Upstream>,
) -> Result<Next, ProxyError> {
    client.deadline.set(outgoing.snapshot.settings.progress_window);
    write_head(&x.response, &mut x.down)?;
    x.record.status = 101;
    x.record.head_sent = true;
    x.record.sent_bytes = x.down.len() as u64;
    write_all(client, &x.down).await?;
    Ok(Next::Tunnel(upstream))
}

fn must_close(worker: &Worker, client: &Client, outgoing: &Outgoing<'_>) -> bool {
    let max = outgoing.snapshot.settings.keep_alive_requests_max;
    outgoing.framing.connection == Connection::Close
        || worker.lets_go()
        || max.is_some_and(|max| client.requests >= max)
}
