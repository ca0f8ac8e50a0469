//! From an upstream's response head to the last byte at the client.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use weir_config::RouteTarget;
use weir_filter::forwarding::nominated;
use weir_route::Route;
use weir_wire::http1::{BodyKind, Connection, ResponseFraming};

use super::downstream::{Client, write_all};
use super::exchange::{Exchange, Next};
use super::forward::Outgoing;
use super::framing::frame_response;
use super::local::{after_last, filter_response, finish_head, write_head};
use super::relay::RelayError;
use super::timing::Timing;
use super::upstream::{Upstream, poll_gone};
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// Runs the response filters and relays the response whose head came from `upstream`.
pub(super) async fn respond(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    mut upstream: Box<Upstream>,
    response: ResponseFraming,
) -> Result<Next, ProxyError> {
    let switching = x.response.status == 101;
    let withheld = match response.body {
        BodyKind::Chunked => nominated(&x.response.fields),
        _ => Vec::new(),
    };
    outgoing.snapshot.forwarding.response(&mut x.response, switching);
    filter_response(x, Some(route))?;
    if switching {
        client.deadline.set(outgoing.snapshot.settings.progress_window);
        return Box::pin(switch(client, x, upstream)).await;
    }
    let (framing, body, mut keep) = frame_response(x, response.body);
    keep &= x.upload.is_done() && !must_close(worker, client, outgoing);
    x.download.restart(body, framing);
    x.download.withhold(withheld);
    finish_head(&mut x.response, x.request.version, keep, x.download.lead())?;
    x.record.status = x.response.status;
    let filled = x.download.fill(&mut upstream.carry);
    x.record.head_sent = true;
    super::panic::point("response body", &x.request);
    let relayed = match filled {
        Ok(()) => relay_both(worker, client, x, outgoing, &mut upstream).await,
        Err(error) => Box::pin(cut_short(client, x, outgoing, &error)).await,
    };
    x.record.sent_bytes = x.download.moved;
    relayed?;
    let read = x.upload.is_done();
    let reusable = response.connection == Connection::KeepAlive
        && x.download.is_decoded()
        && read
        && response.body != BodyKind::UntilClose
        // Bytes behind a complete response belong to nobody (http-checklist row 16).
        && upstream.carry.is_empty()
        // Servers that decline an upgrade do not agree on what follows: Node.js may wait for ever.
        && !outgoing.framing.upgrade
        && !worker.files.is_short();
    if reusable {
        std::mem::swap(&mut upstream.carry, &mut x.spare);
        let now_ms = worker.deadlines.now_ms();
        worker.pools.keep(upstream, &outgoing.snapshot.settings.pool, now_ms);
    }
    Ok(match keep {
        true => Next::KeepAlive,
        false => after_last(client, Some(outgoing.framing), read),
    })
}

/// Ends a response whose body is broken: what came before the fault still goes out.
async fn cut_short(
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    error: &RelayError,
) -> Result<(), ProxyError> {
    client.deadline.set(outgoing.snapshot.settings.progress_window);
    let written = write_all(client, x.download.unwritten()).await;
    written.and(Err(error.of_download()))
}

/// Sends the 101; from then on the connections belong to the tunnel.
async fn switch(
    client: &mut Client,
    x: &mut Exchange,
    upstream: Box<Upstream>,
) -> Result<Next, ProxyError> {
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

/// Relays the response, and what is left of the request, until the response is complete.
async fn relay_both(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    upstream: &mut Upstream,
) -> Result<(), ProxyError> {
    let (upload, download) = (&mut x.upload, &mut x.download);
    let mut timing = Timing::progress_only();
    let mut upload_over = upload.is_done();
    let mut fault = None;
    let result = poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        if !upload_over {
            let (from, to) = (&mut client.stream, &mut upstream.stream);
            // A broken upload ends by itself; the response decides how the exchange ends.
            upload_over = upload.poll(cx, from, &mut client.carry, to, &mut scratch).is_ready();
        }
        let (from, to) = (&mut upstream.stream, &mut client.stream);
        match download.poll(cx, from, &mut upstream.carry, to, &mut scratch) {
            Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
            Poll::Ready(Err(error)) => {
                fault = Some(error);
                return Poll::Ready(Ok(()));
            }
            Poll::Pending => {}
        }
        drop(scratch);
        let gone = upload.is_done() && poll_gone(worker, client, cx);
        if gone || worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        timing.arm(client, outgoing);
        let uploading = (!upload_over).then_some(&*upload);
        match timing.poll(cx, client, outgoing, uploading, Some(&*download)) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    })
    .await;
    client.deadline.clear();
    match fault {
        Some(RelayError::Sink) => Err(RelayError::Sink.of_download()),
        Some(error) => Box::pin(cut_short(client, x, outgoing, &error)).await,
        None => result,
    }
}
