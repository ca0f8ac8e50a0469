//! One direction of a connection whose bytes are passed on as they are.

use std::task::{Context, Poll};

use weir_wire::http1::BodyKind;

use super::buffers::{Carry, ReadBuffer};
use super::pace::Pace;
use super::relay::{Framing, Relay};
use crate::net::Socket;

/// One direction of a connection that is passed on as it is, to its end.
#[derive(Debug)]
pub(crate) struct Direction {
    pub(crate) relay: Relay,
    pub(crate) over: bool,
    pub(crate) failed: bool,
}

impl Direction {
    pub(crate) fn new(pace: Option<Box<Pace>>) -> Self {
        let mut relay = Relay::new(BodyKind::UntilClose, Framing::Identity);
        relay.pace = pace;
        Self { relay, over: false, failed: false }
    }

    /// Moves what can be moved now; passes the end of one side on to the other, unless both
    /// connections are closed next (`closes`).
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Socket,
        carry: &mut Carry,
        sink: &mut Socket,
        scratch: &mut ReadBuffer,
        closes: bool,
    ) {
        if self.over {
            return;
        }
        let polled = self.relay.poll(cx, source, carry, sink, scratch);
        let Poll::Ready(result) = polled else { return };
        self.over = true;
        // What closes anyway sends its end by that.
        self.failed = result.is_err() || !closes && !sink.end();
    }
}
