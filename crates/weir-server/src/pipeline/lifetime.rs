//! Idle timeout and maximum age of a pipeline connection.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_snapshot::PipelineTimeouts;

use super::counters::{PipelineCounters, Tally};
use super::near::{Cut, Near};
use crate::deadline::Deadline;
use crate::http::buffers::ReadBuffer;

/// Times of one connection, in milliseconds of the worker's clock.
#[derive(Debug)]
pub(super) struct Lifetime {
    idle_ms: u64,
    ends_ms: u64,
    active_ms: u64,
}

impl Lifetime {
    /// Begins now.
    pub(super) fn begin(timeouts: &PipelineTimeouts, deadline: &Deadline, now_ms: u64) -> Self {
        let lifetime = Self {
            idle_ms: ms(timeouts.idle),
            ends_ms: now_ms.saturating_add(ms(timeouts.max)),
            active_ms: now_ms,
        };
        lifetime.arm(deadline, now_ms);
        lifetime
    }

    /// Records that bytes moved.
    pub(super) fn moved(&mut self, now_ms: u64) {
        self.active_ms = now_ms;
    }

    /// Whether the lifetime is over; the task is woken when it may be.
    pub(super) fn is_over(&self, cx: &mut Context<'_>, deadline: &Deadline, now_ms: u64) -> bool {
        while deadline.poll(cx) {
            if self.until_ms() <= now_ms {
                return true;
            }
            // Bytes have moved since it was set.
            self.arm(deadline, now_ms);
        }
        false
    }

    /// Its end, if it is left alone from now on.
    fn until_ms(&self) -> u64 {
        self.active_ms.saturating_add(self.idle_ms).min(self.ends_ms)
    }

    fn arm(&self, deadline: &Deadline, now_ms: u64) {
        match self.until_ms() {
            u64::MAX => deadline.clear(),
            until_ms => {
                deadline.set(Duration::from_millis(until_ms.saturating_sub(now_ms).max(1)));
            }
        }
    }
}

/// Result of polling a conversation: its end, if it is over, and the bytes received so far from the
/// client and from upstreams.
pub(super) type Polled = (Poll<Result<(), Cut>>, u64, u64);

/// Polls a conversation of messages to its end, for as long as it may last.
pub(super) async fn converse(
    near: &Near,
    counters: &PipelineCounters,
    mut poll: impl FnMut(&mut Context<'_>, &mut ReadBuffer) -> Polled,
) -> Result<(), Cut> {
    let (worker, timeouts) = (&near.worker, &near.pipeline.timeouts);
    let mut lifetime = Lifetime::begin(timeouts, &near.deadline, worker.deadlines.refresh());
    let mut tally = Tally::new(counters);
    let result = poll_fn(|cx| {
        let (polled, sent, received) = poll(cx, &mut worker.scratch.borrow_mut());
        let has_moved = tally.add(sent, received);
        if polled.is_ready() {
            return polled;
        }
        if near.is_over() {
            return Poll::Ready(Err(Cut::Gone));
        }
        let now_ms = worker.deadlines.now_ms();
        if has_moved {
            lifetime.moved(now_ms);
        }
        match lifetime.is_over(cx, &near.deadline, now_ms) {
            true => Poll::Ready(Err(Cut::Expired)),
            false => Poll::Pending,
        }
    })
    .await;
    near.deadline.clear();
    result
}

/// Milliseconds; none are for ever.
fn ms(time: Duration) -> u64 {
    match time.is_zero() {
        true => u64::MAX,
        false => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    }
}
