//! Schedule of the times at which requests may pass.

use crate::rate::Rate;
use crate::settings::{LimitSettings, Mode};

const SECOND_NS: u64 = 1_000_000_000;

/// Times of the slots, on an absolute scale: slot `n` is at `anchor + n / rate`, so a late release
/// does not delay the slots behind it.
///
/// With a warm-up of `W` a cold limit starts at a third of its rate. The distances between slots
/// shrink to those of the rate within `W`: the trapezoid of Guava's `SmoothWarmingUp` with its cold
/// factor of 3. Slots that take `t` at the full rate take `3 t - 2 t² / W` from cold, and `t + W /
/// 2` once `t` is beyond `W / 2`.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    rate: Rate,
    mode: Mode,
    burst: u64,
    /// 0 is none.
    warm_up_ns: u64,
    anchor_ns: u64,
    /// Slots taken since the anchor.
    taken: u64,
    /// Warmth at the anchor, in nanoseconds of slots at the full rate: 0 is cold, half of
    /// `warm_up_ns` is warm.
    warmth_ns: u64,
}

/// An even schedule in whole numbers, for use without the lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gait {
    /// Time of the next slot.
    pub next_ns: u64,
    /// Distance between slots, rounded up.
    pub interval_ns: u64,
    /// How much earlier a slot may be after a rest.
    pub rest_ns: u64,
}

impl Schedule {
    /// The schedule of these settings, cold; `None` without a rate.
    pub fn new(settings: &LimitSettings) -> Option<Self> {
        Some(Self {
            rate: settings.rate?,
            mode: settings.mode,
            burst: settings.burst.max(1),
            warm_up_ns: settings.warm_up_ns,
            anchor_ns: 0,
            taken: 0,
            warmth_ns: 0,
        })
    }

    /// Called when a request arrives and none waits: a rest earns at most one burst.
    pub fn rest(&mut self, now_ns: u64) {
        match self.mode {
            Mode::Pace => {
                let next = self.at(0);
                if next >= now_ns {
                    return;
                }
                let warmth_ns = self.cooled_ns(now_ns - next);
                let rested = Self { anchor_ns: 0, taken: 0, warmth_ns, ..self.clone() };
                let from = now_ns.saturating_sub(rested.at(self.burst - 1));
                if next < from {
                    *self = Self { anchor_ns: from, ..rested };
                }
            }
            Mode::Window => {
                // `at` returns the start of the window in which the next request passes.
                if now_ns >= self.at(0).saturating_add(SECOND_NS) {
                    (self.anchor_ns, self.taken) = (now_ns, 0);
                }
            }
        }
    }

    /// The schedule's step while no request waits; `None` where slots are not even.
    pub fn gait(&self) -> Option<Gait> {
        (self.mode == Mode::Pace && self.warm_up_ns == 0).then(|| Gait {
            next_ns: self.at(0),
            interval_ns: self.rate.interval_ns(),
            rest_ns: self.rate.time_of(self.burst - 1),
        })
    }

    /// Slots up to this time were taken by its [`Gait`].
    pub fn went_to(&mut self, next_ns: u64) {
        let (from_ns, interval_ns) = (self.at(0), self.rate.interval_ns());
        let slots = next_ns.saturating_sub(from_ns) / interval_ns;
        // Consecutive slots are counted, so that rounding up does not add up.
        match from_ns.saturating_add(slots.saturating_mul(interval_ns)) == next_ns {
            true => self.take(slots),
            false => (self.anchor_ns, self.taken) = (next_ns, 0),
        }
    }

    /// Time at which a request may pass that has slots for a cost of `ahead` before it.
    pub fn at(&self, ahead: u64) -> u64 {
        let count = self.taken.saturating_add(ahead);
        match self.mode {
            Mode::Pace if self.warm_up_ns == 0 => {
                self.anchor_ns.saturating_add(self.rate.time_of(count))
            }
            Mode::Pace => {
                let to_ns = self.warmth_ns.saturating_add(self.rate.time_of(count));
                let time = self.cold_time_ns(to_ns) - self.cold_time_ns(self.warmth_ns);
                self.anchor_ns.saturating_add(time)
            }
            Mode::Window => {
                // All whose turn is within a second pass at its start.
                let time_ns = self.rate.time_of(count);
                self.anchor_ns.saturating_add(time_ns - time_ns % SECOND_NS)
            }
        }
    }

    /// Number of requests that may pass at `now_ns`, and the time from then until one more may.
    pub fn left(&self, now_ns: u64) -> (u64, u64) {
        let mut rested = self.clone();
        rested.rest(now_ns);
        let most = match self.mode {
            Mode::Pace => self.burst,
            Mode::Window => self.rate.of_a_second(),
        };
        // Slots come in the order of time: the first that is not due is found by halving.
        let (mut due, mut later) = (0, most);
        while due < later {
            let middle = due + (later - due) / 2;
            match rested.at(middle) <= now_ns {
                true => due = middle + 1,
                false => later = middle,
            }
        }
        (due, rested.at(due).saturating_sub(now_ns))
    }

    /// Whether it is as it was made, but for its place on the scale of time.
    pub fn is_rested(&self, now_ns: u64) -> bool {
        let mut rested = self.clone();
        rested.rest(now_ns);
        rested.taken == 0
            && rested.warmth_ns == 0
            && rested.anchor_ns.saturating_add(self.rate.time_of(self.burst - 1)) <= now_ns
    }

    /// Wait of the next request.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        self.at(0).saturating_sub(now_ns)
    }

    /// Takes as many slots as a request costs.
    pub fn take(&mut self, cost: u64) {
        self.taken = self.taken.saturating_add(cost);
    }

    /// Slots that were not used until now are lost.
    pub fn skip_to(&mut self, now_ns: u64) {
        let next = self.at(0);
        if next < now_ns {
            self.warmth_ns = self.cooled_ns(now_ns - next);
            (self.anchor_ns, self.taken) = (now_ns, 0);
        }
    }

    /// Changes to another rate: waiting requests have the new distance from now on.
    pub fn change(&mut self, settings: &LimitSettings, now_ns: u64) {
        let Some(new) = Self::new(settings) else { return };
        let anchor_ns = self.at(0).min(now_ns.saturating_add(self.debt_ns(&new, now_ns)));
        // A schedule at its full rate needs no warm-up for a new one.
        let is_warm = self.warmth() >= self.warm_up_ns / 2;
        let whole_ns = new.warm_up_ns / 2;
        let warmth_ns = if is_warm { whole_ns } else { self.warmth().min(whole_ns) };
        *self = Self { anchor_ns, warmth_ns, ..new };
    }

    /// Time that `new` takes for the slots that are taken already beyond `now_ns`: at most one
    /// interval, unless a request cost more.
    fn debt_ns(&self, new: &Self, now_ns: u64) -> u64 {
        let debt_ns = u128::from(self.at(0).saturating_sub(now_ns));
        let [old, new] = [self, new].map(|one| u128::from(one.rate.time_of(1).max(1)));
        u64::try_from(debt_ns * new / old).unwrap_or(u64::MAX)
    }

    /// Warmth after the slots that were taken.
    fn warmth(&self) -> u64 {
        self.warmth_ns.saturating_add(self.rate.time_of(self.taken)).min(self.warm_up_ns / 2)
    }

    /// Warmth after slots were unused for this time: cold after a whole warm-up.
    fn cooled_ns(&self, unused_ns: u64) -> u64 {
        self.warmth().saturating_sub(unused_ns / 2)
    }

    /// Duration from cold of slots that take `time_ns` at the full rate.
    fn cold_time_ns(&self, time_ns: u64) -> u64 {
        if time_ns >= self.warm_up_ns / 2 {
            return time_ns.saturating_add(self.warm_up_ns / 2);
        }
        let (time, whole) = (u128::from(time_ns), u128::from(self.warm_up_ns));
        u64::try_from(3 * time - 2 * time * time / whole).unwrap_or(u64::MAX)
    }
}
