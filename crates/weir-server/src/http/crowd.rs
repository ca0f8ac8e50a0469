//! Requests beside a crowd that waits at a limit, in as little memory as possible.
//!
//! The steps before and after a wait are boxed, and the state of the exchange is parked, so that
//! the task of a waiting request is small.

use std::rc::Rc;

use super::client::Client;
use super::ending::end;
use super::life::{Routed, route, serve, turn_away};
use super::next_head::{First, Head, next_head};
use super::panic::contained;
use super::parked::Parked;
use super::steps::waited;
use crate::worker::Worker;

/// Serves one request, as [`super::life::exchange`] does; returns whether another may follow.
pub(super) async fn serve_request(worker: &Rc<Worker>, client: &mut Client) -> bool {
    let (mut x, snapshot, head) = match Box::pin(next_head(worker, client, true)).await {
        First::Head(x, snapshot, head) => (x, snapshot, head),
        First::Crowded => return true,
        First::Partial | First::Closed => return false,
    };
    let served = 'served: {
        let mut framing = match head {
            Head::Request(framing) if !client.refused => framing,
            head => {
                let answering = turn_away(worker, client, &mut x, &snapshot, head);
                break 'served Some(Box::pin(answering).await);
            }
        };
        let routing = route(worker, client, &mut x, &snapshot, &mut framing);
        let mut routed = match contained(Box::pin(routing).as_mut()).await {
            Some(Ok(routed)) => routed,
            Some(Err(next)) => break 'served Some(next),
            None => break 'served None,
        };
        let routed = loop {
            let (found, mut waiting) = match routed.into_waiting() {
                Ok(waits) => waits,
                Err(routed) => break routed,
            };
            let mut ending = None;
            if let Some(turn) = waiting.turn(worker, client) {
                let parked = Parked::new(worker, x);
                ending = Some(turn.await);
                x = parked.resume(worker);
            }
            waiting.end(ending);
            let going_on = waited(worker, client, &mut x, &snapshot, &mut framing, waiting);
            match contained(Box::pin(going_on).as_mut()).await {
                Some(step) => routed = Routed { route: found, step },
                None => break 'served None,
            }
        };
        let serving = serve(worker, client, &mut x, &snapshot, framing, routed);
        contained(Box::pin(serving).as_mut()).await
    };
    Box::pin(end(worker, client, x, served)).await
}
