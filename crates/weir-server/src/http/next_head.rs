//! Reads request heads from a client's connection.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use weir_wire::http1::{BodyKind, HeadLimits, Parsed, RequestFraming, parse_request};

use super::buffers::ReadBuffer;
use super::client::Client;
use super::exchange::Exchange;
use super::find::look_ahead_by_path;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::executor::yield_now;
use crate::net::{poll_peek, poll_read};
use crate::worker::{HeldSnapshot, Worker};

/// How long an idle connection is kept once draining begins, for a request that may be in flight.
const DRAIN_GRACE: Duration = Duration::from_millis(300);
/// How long a refused client may take to start a request, and again to finish it.
pub(super) const REFUSAL: Duration = Duration::from_secs(2);
/// Requests that were sent ahead and are served before other connections have their turn.
const AHEAD_MAX: u64 = 16;

/// Result of reading a request head.
pub(super) enum Head {
    Request(RequestFraming),
    /// Closed between requests, or idle for too long.
    Closed,
    Refused(ProxyError),
}

/// Result of waiting for a request.
pub(super) enum First {
    /// Closed, idle for too long, or stopping.
    Closed,
    /// Nothing was read, and a crowd is there.
    Crowded,
    /// A whole head, or a refused one.
    Head(Box<Exchange>, HeldSnapshot, Head),
    /// Part of a head, kept in the carry.
    Partial,
}

/// The head of the next request.
pub(super) async fn next_head(worker: &Rc<Worker>, client: &mut Client, in_crowd: bool) -> First {
    client.carry.shrink();
    let first = match client.carry.is_empty() {
        true => first_bytes(worker, client, in_crowd).await,
        false => {
            // Requests sent ahead do not keep other connections waiting.
            if client.requests.is_multiple_of(AHEAD_MAX) {
                yield_now().await;
            }
            First::Partial
        }
    };
    let (x, snapshot, head) = match first {
        First::Closed | First::Crowded => return first,
        First::Head(x, snapshot, head) => (x, snapshot, head),
        First::Partial => {
            let (mut x, snapshot) = (worker.take_exchange(), worker.snapshot());
            let time = snapshot.settings.head_timeout;
            client.deadline.set(if client.refused { time.min(REFUSAL) } else { time });
            let limits = &snapshot.settings.head_limits;
            let head = read_head(worker, client, &mut x, limits).await;
            (x, snapshot, head)
        }
    };
    client.deadline.clear();
    client.requests += 1;
    client.keep_alive = snapshot.settings.keep_alive_timeout;
    First::Head(x, snapshot, head)
}

/// Waits, without holding a buffer, until the client sends something. A head that comes in one
/// piece, as most do, is parsed where it was read.
async fn first_bytes(worker: &Worker, client: &mut Client, in_crowd: bool) -> First {
    client.deadline.set(client.keep_alive);
    let since_ms = worker.deadlines.now_ms();
    let mut graced = false;
    poll_fn(|cx| {
        if worker.is_crowded() && !in_crowd {
            return Poll::Ready(First::Crowded);
        }
        let mut scratch = worker.scratch.borrow_mut();
        let buffer = scratch.buffer_of(worker.head_read_max());
        let polled = match worker.is_crowded() {
            true => poll_peek(&mut client.stream, buffer).map_ok(|count| (count, true)),
            false => poll_read(&mut client.stream, buffer).map_ok(|count| (count, false)),
        };
        match polled {
            Poll::Ready(Ok((0, _)) | Err(_)) => return Poll::Ready(First::Closed),
            Poll::Ready(Ok((count, true))) => {
                return Poll::Ready(only_head(worker, client, &mut scratch, count));
            }
            Poll::Ready(Ok((count, false))) => {
                return Poll::Ready(first_head(worker, client, &mut scratch, count));
            }
            Poll::Pending => {}
        }
        match worker.drain.phase() {
            Phase::Stopped => return Poll::Ready(First::Closed),
            Phase::Draining if !graced => {
                graced = true;
                client.deadline.set(DRAIN_GRACE.min(client.keep_alive));
            }
            Phase::Draining | Phase::Serving => {}
        }
        let idle_ms = worker.deadlines.now_ms().saturating_sub(since_ms);
        let over = client.deadline.poll(cx) || idle_ms >= worker.idle_ms_max.get();
        if !over {
            return Poll::Pending;
        }
        if let Some(pipeline) = worker.pipeline.as_ref().filter(|_| !graced) {
            pipeline.expired();
        }
        Poll::Ready(First::Closed)
    })
    .await
}

/// Takes the head out of `count` bytes that were looked at: what is behind it stays with the
/// system, where it costs this process no memory while the request waits.
fn only_head(
    worker: &Worker,
    client: &mut Client,
    scratch: &mut ReadBuffer,
    count: usize,
) -> First {
    let (mut x, snapshot) = (worker.take_exchange(), worker.snapshot());
    let limits = &snapshot.settings.head_limits;
    let len = match parse_request(scratch.read(count), &mut x.request, limits) {
        Ok(Parsed::Complete { consumed, .. }) => consumed,
        Ok(Parsed::Partial) | Err(_) => count,
    };
    worker.give_exchange(x);
    match poll_read(&mut client.stream, scratch.buffer_of(len)) {
        Poll::Ready(Ok(read)) if read == len => first_head(worker, client, scratch, len),
        Poll::Ready(_) | Poll::Pending => First::Closed,
    }
}

fn first_head(
    worker: &Worker,
    client: &mut Client,
    scratch: &mut ReadBuffer,
    count: usize,
) -> First {
    let (mut x, snapshot) = (worker.take_exchange(), worker.snapshot());
    let bytes = scratch.read(count);
    look_ahead_by_path(&snapshot, &mut x, bytes);
    match parse_request(bytes, &mut x.request, &snapshot.settings.head_limits) {
        Err(error) => First::Head(x, snapshot, Head::Refused(error.into())),
        Ok(Parsed::Complete { consumed, framing }) => {
            if consumed < count {
                // Buffer for the bytes behind the head; returned after the exchange.
                std::mem::swap(&mut client.carry, &mut x.ahead);
                match framing.body {
                    BodyKind::None | BodyKind::Length(0) => {
                        client.carry.push(bytes.get(consumed..).unwrap_or_default());
                    }
                    _ => scratch.give(&mut client.carry, consumed, count),
                }
            }
            First::Head(x, snapshot, Head::Request(framing))
        }
        Ok(Parsed::Partial) => {
            client.carry.push(bytes);
            worker.give_exchange(x);
            First::Partial
        }
    }
}

/// Reads one head into `x.request`. Parses again only at the end of a line, so that a client that
/// sends single bytes costs no more than any other: at most `fields_max` times `head_bytes_max`
/// bytes are scanned, twice.
async fn read_head(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    limits: &HeadLimits,
) -> Head {
    let mut parse = true;
    poll_fn(|cx| {
        loop {
            if parse {
                match parse_request(client.carry.as_slice(), &mut x.request, limits) {
                    Err(error) => return Poll::Ready(Head::Refused(error.into())),
                    Ok(Parsed::Complete { consumed, framing }) => {
                        client.carry.consume(consumed);
                        return Poll::Ready(Head::Request(framing));
                    }
                    Ok(Parsed::Partial) => {}
                }
            }
            let mut scratch = worker.scratch.borrow_mut();
            match poll_read(&mut client.stream, scratch.buffer_of(worker.head_read_max())) {
                Poll::Ready(Ok(0)) => return Poll::Ready(head_ended(client)),
                Poll::Ready(Err(_)) => return Poll::Ready(Head::Closed),
                Poll::Ready(Ok(count)) => {
                    let bytes = scratch.read(count);
                    let full = client.carry.len() + count > limits.target_bytes_max;
                    parse = full || bytes.contains(&b'\n');
                    client.carry.push(bytes);
                }
                Poll::Pending if worker.drain.phase() == Phase::Stopped => {
                    return Poll::Ready(Head::Closed);
                }
                Poll::Pending if client.deadline.poll(cx) => {
                    return Poll::Ready(Head::Refused(ProxyError::new(ErrorKind::HeadTimeout)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// The client closed inside a head: nothing if only line ends were sent, else an incomplete
/// request.
fn head_ended(client: &mut Client) -> Head {
    client.ended = true;
    let blank = client.carry.as_slice().iter().all(|byte| matches!(byte, b'\r' | b'\n'));
    if blank {
        return Head::Closed;
    }
    Head::Refused(ProxyError::with(ErrorKind::BadRequest(400), "the request head is incomplete"))
}
