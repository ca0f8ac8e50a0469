//! When the next one may pass.

use crate::rate::Rate;
use crate::settings::Mode;

const SECOND_NS: u64 = 1_000_000_000;

/// The times at which one may pass, on an absolute scale: slot `n` is at `anchor + n / rate`, so a
/// late release does not move those behind it.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    rate: Rate,
    mode: Mode,
    burst: u64,
    anchor_ns: u64,
    /// Slots taken since the anchor.
    taken: u64,
}

impl Schedule {
    pub fn new(rate: Rate, mode: Mode, burst: u64) -> Self {
        Self { rate, mode, burst: burst.max(1), anchor_ns: 0, taken: 0 }
    }

    /// Called when one arrives and nobody waits: a rest earns a burst, and no more.
    pub fn rest(&mut self, now_ns: u64) {
        match self.mode {
            Mode::Pace => {
                let earned = self.rate.time_of(self.burst - 1);
                let from = now_ns.saturating_sub(earned);
                if self.at(0) < from {
                    (self.anchor_ns, self.taken) = (from, 0);
                }
            }
            Mode::Window => {
                // `at` gives the start of the window that the next one passes in.
                if now_ns >= self.at(0).saturating_add(SECOND_NS) {
                    (self.anchor_ns, self.taken) = (now_ns, 0);
                }
            }
        }
    }

    /// When the one may pass before whom `ahead` others do.
    pub fn at(&self, ahead: u64) -> u64 {
        match self.mode {
            Mode::Pace => {
                self.anchor_ns.saturating_add(self.rate.time_of(self.taken.saturating_add(ahead)))
            }
            Mode::Window => {
                let windows = self.taken.saturating_add(ahead) / self.rate.of_a_second();
                self.anchor_ns.saturating_add(windows.saturating_mul(SECOND_NS))
            }
        }
    }

    /// One passes.
    pub fn take(&mut self) {
        self.taken = self.taken.saturating_add(1);
    }

    /// Slots that were not used until now are lost.
    pub fn skip_to(&mut self, now_ns: u64) {
        if self.at(0) < now_ns {
            (self.anchor_ns, self.taken) = (now_ns, 0);
        }
    }

    /// Goes over to another rate: who waits has the new distance from now on.
    pub fn change(&mut self, rate: Rate, mode: Mode, burst: u64, now_ns: u64) {
        // The next slot stays where it is if it is near; it is no further than one new interval.
        let next = self.at(0).min(now_ns.saturating_add(rate.time_of(1)));
        *self = Self { rate, mode, burst: burst.max(1), anchor_ns: next, taken: 0 };
    }
}
