//! A client's connection: one head after another, each handed to the exchange.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;

use super::buffers::Carry;
use super::client::Client;
use super::crowd;
use super::ending::end;
use super::life::{exchange, turn_away};
use super::next_head::{First, Head, REFUSAL, next_head};
use super::panic::contained;
use crate::descriptors::Admission;
use crate::metrics::OpenConnection;
use crate::net::Socket;
use crate::worker::Worker;

/// Serves one connection to its end. Not an `async fn`, as its arguments would be stored twice.
pub(crate) fn serve(
    worker: Rc<Worker>,
    stream: Socket,
    peer: SocketAddr,
    admission: Admission,
    open: OpenConnection,
) -> impl Future<Output = ()> {
    let refused = admission.refused;
    let keep_alive = worker.snapshot().settings.keep_alive_timeout;
    let mut client = Client {
        stream,
        peer,
        carry: Carry::default(),
        deadline: worker.deadline(),
        keep_alive: if refused { keep_alive.min(REFUSAL) } else { keep_alive },
        requests: 0,
        accepted_ms: worker.deadlines.now_ms(),
        ended: false,
        refused,
    };
    async move {
        let mut more = true;
        while more {
            more = match worker.is_crowded() {
                true => crowd::serve_request(&worker, &mut client).await,
                // Boxed, so that a request in a crowd does not take the room of one that is served.
                false => Box::pin(serve_until_crowded(&worker, &mut client)).await,
            };
        }
        // In this order: whoever gets its place finds the file closed.
        drop((client, open, admission));
    }
}

/// Serves requests until there is a crowd; returns whether another may follow.
async fn serve_until_crowded(worker: &Rc<Worker>, client: &mut Client) -> bool {
    loop {
        let (mut x, snapshot, head) = match next_head(worker, client, false).await {
            First::Head(x, snapshot, head) => (x, snapshot, head),
            First::Crowded => return true,
            First::Partial | First::Closed => return false,
        };
        let served = match head {
            Head::Request(framing) if !client.refused => {
                let served = exchange(worker, client, &mut x, &snapshot, framing);
                contained(pin!(served)).await
            }
            head => Some(Box::pin(turn_away(worker, client, &mut x, &snapshot, head)).await),
        };
        if !end(worker, client, x, served).await {
            return false;
        }
    }
}
