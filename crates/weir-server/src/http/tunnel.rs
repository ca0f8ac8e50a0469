//! After a protocol switch: bytes both ways, each direction ending on its own.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use weir_wire::http1::BodyKind;

use super::downstream::Client;
use super::relay::{Framing, Relay};
use super::upstream::Upstream;
use crate::drain::Phase;
use crate::net::Socket;
use crate::worker::Worker;

/// Relays until both directions have ended, or one has failed, or the gateway stops.
pub(crate) async fn run(worker: &Rc<Worker>, client: &mut Client, mut upstream: Upstream) {
    let mut up = Direction::new();
    let mut down = Direction::new();
    client.deadline.clear();
    worker.counters.tunnel_opened();
    poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        let (near, far) = (&mut client.stream, &mut upstream.stream);
        if !up.over {
            let polled = up.relay.poll(cx, near, &mut client.carry, far, &mut scratch);
            up.took(polled.map(|result| result.is_ok()), far);
        }
        if !down.over {
            let polled = down.relay.poll(cx, far, &mut upstream.carry, near, &mut scratch);
            down.took(polled.map(|result| result.is_ok()), near);
        }
        // Registers this task to be woken when the gateway stops.
        let _ = client.deadline.poll(cx);
        let over = up.over && down.over || up.failed || down.failed;
        if over || worker.drain.phase() == Phase::Stopped { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    worker.counters.tunnel_closed();
}

struct Direction {
    relay: Relay,
    over: bool,
    failed: bool,
}

impl Direction {
    fn new() -> Self {
        let relay = Relay::new(BodyKind::UntilClose, Framing::Identity);
        Self { relay, over: false, failed: false }
    }

    /// Passes the end of one side on to the other.
    fn took(&mut self, polled: Poll<bool>, sink: &Socket) {
        let Poll::Ready(ended_well) = polled else { return };
        self.over = true;
        self.failed = !ended_well || !sink.end();
    }
}
