//! The body of a response, read to its end before any of it is sent.

use std::future::poll_fn;
use std::task::{Context, Poll};

use weir_wire::http1::{BodyDecoder, BodyKind, Connection, ResponseFraming};

use super::client::Client;
use super::exchange::{BodyRead, Exchange};
use super::outgoing::Outgoing;
use super::pool::{Upstream, keep};
use super::upstream::poll_gone;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError, body_error_text};
use crate::net::poll_read;
use crate::worker::Worker;

/// Reads a response body to its end while the rest of the request is sent. `None` if its content
/// exceeds `max` bytes; then everything received is still in the upstream's carry.
pub(super) async fn collect(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    upstream: &mut Upstream,
    kind: BodyKind,
    max: usize,
) -> Result<Option<Vec<u8>>, ProxyError> {
    if matches!(kind, BodyKind::Length(length) if length > max as u64) {
        return Ok(None);
    }
    upstream.carry.keep();
    let mut collecting =
        Collecting { decoder: BodyDecoder::new(kind), content: Vec::new(), used: 0 };
    let polled = |cx: &mut Context<'_>| collecting.poll(cx, worker, client, x, upstream, max);
    let fits = poll_fn(polled).await?;
    if !fits {
        return Ok(None);
    }
    upstream.carry.consume(collecting.used);
    Ok(Some(collecting.content))
}

struct Collecting {
    decoder: BodyDecoder,
    content: Vec<u8>,
    /// Bytes of the carry that have been decoded.
    used: usize,
}

impl Collecting {
    /// Whether the body is complete (`true`) or its content exceeds the maximum.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        client: &mut Client,
        x: &mut Exchange,
        upstream: &mut Upstream,
        max: usize,
    ) -> Poll<Result<bool, ProxyError>> {
        let mut scratch = worker.scratch.borrow_mut();
        if !x.upload.is_done() {
            let (from, to) = (&mut client.stream, &mut upstream.stream);
            // A broken upload ends by itself; the response decides how the exchange ends.
            let _ = x.upload.poll(cx, from, &mut client.carry, to, &mut scratch);
        }
        loop {
            self.decode(upstream.carry.as_slice())?;
            if self.content.len() > max {
                return Poll::Ready(Ok(false));
            }
            if self.decoder.is_done() {
                return Poll::Ready(Ok(true));
            }
            match poll_read(&mut upstream.stream, scratch.buffer()) {
                Poll::Ready(Ok(0)) => {
                    let ended = self.decoder.finish();
                    let cut = |_| ProxyError::new(ErrorKind::UpstreamClosed);
                    return Poll::Ready(ended.map(|_| true).map_err(cut));
                }
                Poll::Ready(Err(_)) => {
                    return Poll::Ready(Err(ProxyError::new(ErrorKind::UpstreamClosed)));
                }
                Poll::Ready(Ok(count)) => upstream.carry.push(scratch.read(count)),
                Poll::Pending => break,
            }
        }
        drop(scratch);
        let gone = x.upload.is_done() && poll_gone(worker, client);
        if gone || worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        Poll::Pending
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<(), ProxyError> {
        while !self.decoder.is_done() {
            let rest = bytes.get(self.used..).unwrap_or_default();
            let step = self.decoder.step(rest).map_err(|error| {
                ProxyError::with(ErrorKind::BadResponse, body_error_text(error))
            })?;
            let (start, end) = step.content;
            self.content.extend_from_slice(rest.get(start..end).unwrap_or_default());
            self.used += step.consumed;
            if step.consumed == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Keeps the connection of a response that was read to its end, if it can be.
pub(super) fn release(
    worker: &Worker,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    upstream: Box<Upstream>,
    response: ResponseFraming,
) {
    let is_sent = x.upload.is_done();
    x.record.body = if is_sent { BodyRead::Whole } else { BodyRead::Partly };
    let reusable = response.connection == Connection::KeepAlive
        && is_sent
        && response.body != BodyKind::UntilClose
        && upstream.carry.is_empty()
        && !outgoing.framing.upgrade
        && !worker.files.is_short();
    if reusable {
        keep(upstream, &outgoing.snapshot.settings.pool, worker.deadlines.now_ms());
    }
}
