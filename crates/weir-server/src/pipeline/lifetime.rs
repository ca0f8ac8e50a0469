//! How long a connection of a pipeline may last, and how long it may be still.

use std::task::Context;
use std::time::Duration;

use weir_config::PipelineTimeouts;

use crate::deadline::Deadline;

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

    /// Something came or went.
    pub(super) fn moved(&mut self, now_ms: u64) {
        self.active_ms = now_ms;
    }

    /// Whether it is over; the task is woken when it may be.
    pub(super) fn is_over(&self, cx: &mut Context<'_>, deadline: &Deadline, now_ms: u64) -> bool {
        while deadline.poll(cx) {
            if self.until_ms() <= now_ms {
                return true;
            }
            // Something came since it was set.
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

/// Milliseconds; none are for ever.
fn ms(time: Duration) -> u64 {
    match time.is_zero() {
        true => u64::MAX,
        false => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    }
}
