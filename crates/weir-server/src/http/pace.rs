//! Bandwidth limits of one body.

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_limit::Stream;

use crate::deadline::{Deadline, Deadlines};
use crate::pacer::now_ns;

/// Maximum wait of a body before its bandwidth is read again, as it may have been reconfigured.
const LOOK: Duration = Duration::from_secs(1);

/// The bandwidths that one body moves under.
#[derive(Debug)]
pub(crate) struct Pace {
    streams: Vec<Stream>,
    clock: Rc<Deadlines>,
    deadline: Deadline,
    held_up: Cell<bool>,
}

impl Pace {
    pub(crate) fn new(clock: &Rc<Deadlines>) -> Self {
        Self {
            streams: Vec::new(),
            clock: Rc::clone(clock),
            deadline: Deadline::new(clock),
            held_up: Cell::new(false),
        }
    }

    /// Adds a bandwidth.
    pub(crate) fn add(&mut self, stream: Stream) {
        self.streams.push(stream);
    }

    /// Number of bytes that may move now; the task is woken when some may.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        let now_ns = now_ns();
        let (mut bytes, mut due_ns) = (u64::MAX, 0);
        for stream in &mut self.streams {
            match stream.ready(now_ns) {
                Ok(ready) => bytes = bytes.min(ready),
                Err(due) => due_ns = due_ns.max(due),
            }
        }
        if due_ns == 0 {
            return Poll::Ready(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        self.held_up.set(true);
        self.clock.refresh();
        let wait_ms = due_ns.saturating_sub(now_ns).div_ceil(1_000_000);
        self.deadline.set(Duration::from_millis(wait_ms).min(LOOK));
        // It is in the future, by the clock just read.
        let _ = self.deadline.poll(cx);
        Poll::Pending
    }

    /// Records moved bytes.
    pub(crate) fn moved(&mut self, bytes: usize) {
        let now_ns = now_ns();
        for stream in &mut self.streams {
            stream.moved(bytes as u64, now_ns);
        }
    }

    /// Whether it was held up since the last call.
    pub(crate) fn take_held_up(&self) -> bool {
        self.held_up.take()
    }
}
