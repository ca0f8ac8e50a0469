//! One direction of a connection whose bytes are relayed unchanged.

use std::task::{Context, Poll};

use weir_wire::http1::BodyKind;

use super::buffers::{Carry, ReadBuffer};
use super::pace::Pace;
use super::relay::{Framing, Relay};
use crate::net::Socket;

/// One direction of a connection whose bytes are relayed unchanged, until its end.
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

    /// Relays the bytes that are ready; forwards the end of one side to the other, unless both
    /// connections are about to be closed (`closes`).
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
        // The close that follows signals the end.
        self.failed = result.is_err() || !closes && !sink.end();
    }
}
