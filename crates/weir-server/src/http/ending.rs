//! The end of a request on its connection.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use super::client::Client;
use super::exchange::{Exchange, Next};
use super::life::answer_panic;
use super::tunnel;
use crate::net::poll_read;
use crate::worker::Worker;

/// How long, and how many bytes, a client's input is read after the last answer, so that the answer
/// is not lost to a reset (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// Gives back what a request used, which is nothing if it panicked; returns whether another may
/// follow.
pub(super) async fn end(
    worker: &Rc<Worker>,
    client: &mut Client,
    mut x: Box<Exchange>,
    served: Option<Next>,
) -> bool {
    let next = match served {
        Some(next) => next,
        None => {
            let next = Box::pin(answer_panic(worker, client, &mut x)).await;
            // The exchange stopped at an unknown point: none of its state is reused.
            x = Box::default();
            next
        }
    };
    if client.carry.is_empty() && client.carry.memory() > 0 {
        std::mem::swap(&mut client.carry, &mut x.ahead);
    }
    let paces = (x.upload.pace.take(), x.download.pace.take());
    worker.give_exchange(x);
    match next {
        Next::KeepAlive => true,
        Next::Close => {
            Box::pin(linger(worker, client)).await;
            false
        }
        Next::Abort => false,
        Next::Tunnel(upstream) => {
            Box::pin(tunnel::run(worker, client, *upstream, paces)).await;
            false
        }
    }
}

/// Closes our side and reads on for a while, so that the last answer arrives.
async fn linger(worker: &Worker, client: &mut Client) {
    if client.ended || !client.stream.end() {
        return;
    }
    client.deadline.set(LINGER);
    let mut seen = 0;
    poll_fn(|cx| {
        loop {
            let mut scratch = worker.scratch.borrow_mut();
            match poll_read(&mut client.stream, scratch.buffer()) {
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
