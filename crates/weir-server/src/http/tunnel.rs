//! After a protocol switch: bytes both ways, each direction ending on its own.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use super::client::Client;
use super::direction::Direction;
use super::pace::Pace;
use super::pool::Upstream;
use crate::drain::Phase;
use crate::worker::Worker;

/// Relays until both directions have ended, or one has failed, or the gateway stops.
pub(crate) async fn run(
    worker: &Rc<Worker>,
    client: &mut Client,
    mut upstream: Upstream,
    (up, down): (Option<Box<Pace>>, Option<Box<Pace>>),
) {
    let (mut up, mut down) = (Direction::new(up), Direction::new(down));
    client.deadline.clear();
    worker.counters.tunnel_opened();
    poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        let (near, far) = (&mut client.stream, &mut upstream.stream);
        up.poll(cx, near, &mut client.carry, far, &mut scratch, down.over);
        down.poll(cx, far, &mut upstream.carry, near, &mut scratch, up.over);
        // Registers this task to be woken when the gateway stops.
        let _ = client.deadline.poll(cx);
        let over = up.over && down.over || up.failed || down.failed;
        if over || worker.drain.phase() == Phase::Stopped { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    if let Some(pipeline) = &worker.pipeline {
        pipeline.moved(up.relay.moved, down.relay.moved);
    }
    worker.counters.tunnel_closed();
}
