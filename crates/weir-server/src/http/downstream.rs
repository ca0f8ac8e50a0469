//! A client's connection: one head after another, each handed to the exchange.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpStream;
use weir_config::Settings;
use weir_wire::http1::{HeadLimits, Parsed, RequestFraming, parse_request};

use super::body::Carry;
use super::exchange::{Exchange, Next, answer_panic, exchange, refuse};
use super::panic::contained;
use super::tunnel;
use crate::deadline::Deadline;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::metrics::OpenConnection;
use crate::net::{poll_read, poll_write};
use crate::worker::Worker;

/// How long an idle connection is kept once draining begins, for a request already on its way.
const DRAIN_GRACE: Duration = Duration::from_millis(300);
/// How long, and how much of, what a client still sends is read after the last answer, so that the
/// answer is not lost to a reset (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) carry: Carry,
    pub(crate) deadline: Deadline,
    pub(crate) requests: u64,
    /// The client closed its side.
    pub(crate) ended: bool,
}

/// What reading a head came to.
enum Head {
    Request(RequestFraming),
    /// Closed between requests, or idle for too long.
    Closed,
    Refused(ProxyError),
}

/// Serves one connection to its end.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    stream: TcpStream,
    peer: SocketAddr,
    _open: OpenConnection,
) {
    let deadline = worker.deadline();
    let mut client =
        Client { stream, peer, carry: Carry::default(), deadline, requests: 0, ended: false };
    while serve_request(&worker, &mut client).await {}
}

/// Serves one request; tells whether another may follow.
async fn serve_request(worker: &Rc<Worker>, client: &mut Client) -> bool {
    client.carry.shrink();
    let settings = Arc::clone(&worker.snapshot().settings);
    let first = match client.carry.is_empty() {
        true => first_bytes(worker, client, &settings).await,
        false => First::Partial(worker.take_exchange()),
    };
    client.deadline.set(settings.head_timeout);
    let (mut x, head) = match first {
        First::Closed => return false,
        First::Head(x, head) => (x, head),
        First::Partial(mut x) => {
            let head = read_head(worker, client, &mut x, &settings.head_limits).await;
            (x, head)
        }
    };
    drop(settings);
    client.deadline.clear();
    client.requests += 1;
    // Boxed, so that an idle connection's task is small.
    let next = match head {
        Head::Closed => Next::Abort,
        Head::Refused(error) => Box::pin(refuse(worker, client, &mut x, error)).await,
        Head::Request(framing) => {
            let served = Box::pin(exchange(worker, client, &mut x, framing));
            match contained(served).await {
                Some(next) => next,
                None => Box::pin(answer_panic(worker, client, &mut x)).await,
            }
        }
    };
    worker.give_exchange(x);
    match next {
        Next::KeepAlive => true,
        Next::Close => {
            linger(worker, client).await;
            false
        }
        Next::Abort => false,
        Next::Tunnel(upstream) => {
            Box::pin(tunnel::run(worker, client, *upstream)).await;
            false
        }
    }
}

/// What the first bytes of a request came to.
enum First {
    /// Closed, idle for too long, or stopping.
    Closed,
    /// A whole head, or a refused one.
    Head(Box<Exchange>, Head),
    /// Part of a head, kept in the carry.
    Partial(Box<Exchange>),
}

/// Waits, without holding a buffer, until the client sends something. A head that comes in one
/// piece, as most do, is parsed where it was read.
async fn first_bytes(worker: &Worker, client: &mut Client, settings: &Settings) -> First {
    let idle = settings.keep_alive_timeout;
    client.deadline.set(idle);
    let mut graced = false;
    poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        match poll_read(&mut client.stream, cx, &mut scratch) {
            Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(First::Closed),
            Poll::Ready(Ok(count)) => {
                let bytes = scratch.get(..count).unwrap_or_default();
                return Poll::Ready(first_head(worker, client, bytes, &settings.head_limits));
            }
            Poll::Pending => {}
        }
        match worker.drain.phase() {
            Phase::Stopped => return Poll::Ready(First::Closed),
            Phase::Draining if !graced => {
                graced = true;
                client.deadline.set(DRAIN_GRACE.min(idle));
            }
            Phase::Draining | Phase::Serving => {}
        }
        if client.deadline.poll(cx) { Poll::Ready(First::Closed) } else { Poll::Pending }
    })
    .await
}

fn first_head(worker: &Worker, client: &mut Client, bytes: &[u8], limits: &HeadLimits) -> First {
    let mut x = worker.take_exchange();
    match parse_request(bytes, &mut x.request, limits) {
        Err(error) => First::Head(x, Head::Refused(error.into())),
        Ok(Parsed::Complete { consumed, framing }) => {
            client.carry.push(bytes.get(consumed..).unwrap_or_default());
            First::Head(x, Head::Request(framing))
        }
        Ok(Parsed::Partial) => {
            client.carry.push(bytes);
            First::Partial(x)
        }
    }
}

/// Reads one head into `x.request`. Parses again only when a line has ended, so that a client
/// sending single bytes costs no more than one that does not.
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
            match poll_read(&mut client.stream, cx, &mut scratch) {
                Poll::Ready(Ok(0)) => return Poll::Ready(head_ended(client)),
                Poll::Ready(Err(_)) => return Poll::Ready(Head::Closed),
                Poll::Ready(Ok(count)) => {
                    let bytes = scratch.get(..count).unwrap_or_default();
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

/// Writes all of `bytes` to the client within the deadline set; an error means give up.
pub(crate) async fn write_all(client: &mut Client, bytes: &[u8]) -> Result<(), ProxyError> {
    let mut sent = 0;
    poll_fn(|cx| {
        while sent < bytes.len() {
            match poll_write(&mut client.stream, cx, bytes.get(sent..).unwrap_or_default()) {
                Poll::Ready(Ok(count)) => sent += count,
                Poll::Ready(Err(_)) => {
                    return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
                }
                Poll::Pending if client.deadline.poll(cx) => {
                    return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientTooSlow)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}

/// Closes our side and reads on for a while, so that the last answer arrives.
async fn linger(worker: &Worker, client: &mut Client) {
    if client.ended || !socket_shutdown(&client.stream) {
        return;
    }
    client.deadline.set(LINGER);
    let mut seen = 0;
    poll_fn(|cx| {
        loop {
            let mut scratch = worker.scratch.borrow_mut();
            match poll_read(&mut client.stream, cx, &mut scratch) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(count)) => seen += count,
                Poll::Pending if client.deadline.poll(cx) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
            if seen > LINGER_BYTES_MAX {
                return Poll::Ready(());
            }
        }
    })
    .await;
}

fn socket_shutdown(stream: &TcpStream) -> bool {
    socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write).is_ok()
}
