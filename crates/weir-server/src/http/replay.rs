//! Retries: buffers the request body, holds the response back, and waits between attempts.

use std::future::poll_fn;
use std::sync::OnceLock;
use std::task::Poll;
use std::time::Duration;

use weir_limit::RetryBudgets;
use weir_snapshot::Settings;
use weir_wire::Version;
use weir_wire::http1::{BodyDecoder, BodyKind, Connection, RequestFraming, ResponseFraming};

use super::buffers::Carry;
use super::client::{Client, write_all};
use super::exchange::{BodyRead, Exchange};
use super::outgoing::Outgoing;
use super::pool::{Upstream, keep};
use super::upstream::poll_gone;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError, body_error_text};
use crate::net::poll_read;
use crate::worker::Worker;

/// A request body that can be sent again.
pub(super) enum Body {
    /// There is none, or its raw bytes are kept.
    Kept(Vec<u8>),
    /// Only the connection has it.
    Once,
}

impl Body {
    /// Puts the bytes that an attempt consumed back in front of the client's other input.
    pub(super) fn put_back(&self, x: &Exchange, carry: &mut Carry) {
        if let Self::Kept(kept) = self
            && x.record.body != BodyRead::Untouched
            && x.upload.is_decoded()
        {
            carry.put_back(kept);
        }
    }
}

/// Reads the whole body and keeps its raw bytes, if it may be needed again and is within the limit
/// for kept bodies.
pub(super) async fn keep_body(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    settings: &Settings,
    needed: bool,
) -> Result<Body, ProxyError> {
    let max = settings.kept_body_bytes_max;
    match framing.body {
        BodyKind::None | BodyKind::Length(0) => return Ok(Body::Kept(Vec::new())),
        BodyKind::Length(length) if length > max as u64 => return Ok(Body::Once),
        _ if !needed => return Ok(Body::Once),
        _ => {}
    }
    if framing.expect_continue {
        client.deadline.set(settings.progress_window);
        if x.request.version != Version::Http10 {
            write_all(client, b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        x.request.fields.remove(b"expect");
    }
    client.carry.keep();
    let mut decoder = BodyDecoder::new(framing.body);
    let mut used = 0;
    client.deadline.set(settings.progress_window);
    loop {
        let bytes = client.carry.as_slice();
        while !decoder.is_done() {
            let step = decoder.step(bytes.get(used..).unwrap_or_default());
            let step =
                step.map_err(|error| ProxyError::with(ErrorKind::BadBody, body_error_text(error)))?;
            used += step.consumed;
            if step.consumed == 0 {
                break;
            }
        }
        // Behind the body there may be other requests, which do not count.
        let fits = if decoder.is_done() { used } else { bytes.len() } <= max;
        if decoder.is_done() || !fits {
            client.deadline.clear();
            let kept = bytes.get(..used).filter(|_| fits);
            return Ok(kept.map_or(Body::Once, |kept| Body::Kept(kept.to_vec())));
        }
        read_on(worker, client).await?;
        client.deadline.set(settings.progress_window);
    }
}

/// The content of a raw body, without its framing.
pub(super) fn content_of(framing: RequestFraming, raw: &[u8]) -> Result<Vec<u8>, ProxyError> {
    let mut decoder = BodyDecoder::new(framing.body);
    let (mut content, mut used) = (Vec::with_capacity(raw.len()), 0);
    while !decoder.is_done() {
        let rest = raw.get(used..).unwrap_or_default();
        let step = decoder.step(rest);
        let step =
            step.map_err(|error| ProxyError::with(ErrorKind::BadBody, body_error_text(error)))?;
        let (start, end) = step.content;
        content.extend_from_slice(rest.get(start..end).unwrap_or_default());
        used += step.consumed;
        if step.consumed == 0 {
            break;
        }
    }
    Ok(content)
}

/// Reads the client's next bytes into its carry.
async fn read_on(worker: &Worker, client: &mut Client) -> Result<(), ProxyError> {
    poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        match poll_read(&mut client.stream, scratch.buffer()) {
            Poll::Ready(Ok(0) | Err(_)) => {
                client.ended = true;
                Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)))
            }
            Poll::Ready(Ok(count)) => {
                client.carry.push(scratch.read(count));
                Poll::Ready(Ok(()))
            }
            Poll::Pending if worker.drain.phase() == Phase::Stopped => {
                Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)))
            }
            Poll::Pending if client.deadline.poll(cx) => {
                Poll::Ready(Err(ProxyError::new(ErrorKind::ClientTooSlow)))
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Waits before another attempt, unless the client leaves.
pub(super) async fn pause(
    worker: &Worker,
    client: &mut Client,
    wait_ms: u64,
) -> Result<(), ProxyError> {
    if wait_ms == 0 {
        return Ok(());
    }
    worker.deadlines.refresh();
    client.deadline.set(Duration::from_millis(wait_ms));
    let paused = poll_fn(|cx| {
        let gone = poll_gone(worker, client);
        if gone || worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        if client.deadline.poll(cx) { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await;
    client.deadline.clear();
    paused
}

/// Drops a response that no client gets; its connection is pooled if the response is complete.
pub(super) fn put_aside(
    worker: &Worker,
    x: &Exchange,
    outgoing: &Outgoing<'_>,
    mut upstream: Box<Upstream>,
    head: ResponseFraming,
) {
    let here = upstream.carry.len();
    let is_whole = match head.body {
        BodyKind::None => here == 0,
        BodyKind::Length(length) => length == here as u64,
        BodyKind::Chunked | BodyKind::UntilClose => false,
    };
    let reusable = is_whole
        && head.connection == Connection::KeepAlive
        && x.upload.is_done()
        && !outgoing.framing.upgrade;
    if reusable {
        upstream.carry.consume(here);
        let now_ms = worker.deadlines.now_ms();
        keep(upstream, &outgoing.snapshot.settings.pool, now_ms);
    }
}

/// Budgets of all workers.
pub(super) fn budgets() -> &'static RetryBudgets {
    static BUDGETS: OnceLock<RetryBudgets> = OnceLock::new();
    BUDGETS.get_or_init(RetryBudgets::default)
}
