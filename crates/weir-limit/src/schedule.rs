//! When the next one may pass.

use crate::rate::Rate;
use crate::settings::{LimitSettings, Mode};

const SECOND_NS: u64 = 1_000_000_000;

/// The times at which one may pass, on an absolute scale: slot `n` is at `anchor + n / rate`, so a
/// late release does not move those behind it.
///
/// With a warm-up of `W` a cold limit starts at a third of its rate. Distances shrink with each
/// slot until they are those of the rate, which takes `W`: the trapezoid of Guava's
/// `SmoothWarmingUp` with its cold factor of 3. What takes `t` at the full rate takes
/// `3 t - 2 t² / W` from cold, and `t + W / 2` once `t` is beyond `W / 2`.
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
    /// How warm it was at the anchor, in nanoseconds of slots at the full rate: 0 is cold, half of
    /// `warm_up_ns` is warm.
    warmth_ns: u64,
}

/// An even schedule as whole numbers, for who has no lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gait {
    /// When the next slot is.
    pub next_ns: u64,
    /// From one slot to the next, rounded up.
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

    /// Called when one arrives and nobody waits: a rest earns a burst, and no more.
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
                // `at` gives the start of the window that the next one passes in.
                if now_ns >= self.at(0).saturating_add(SECOND_NS) {
                    (self.anchor_ns, self.taken) = (now_ns, 0);
                }
            }
        }
    }

    /// What it comes to while nobody waits; `None` where slots are not even.
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
        // One behind the other they are counted, so that what was rounded up does not add up.
        match from_ns.saturating_add(slots.saturating_mul(interval_ns)) == next_ns {
            true => self.take(slots),
            false => (self.anchor_ns, self.taken) = (next_ns, 0),
        }
    }

    /// When the one may pass before whom slots for a cost of `ahead` are taken.
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
                let windows = count / self.rate.of_a_second();
                self.anchor_ns.saturating_add(windows.saturating_mul(SECOND_NS))
            }
        }
    }

    /// How many may pass at `now_ns`, and how long it takes from then until one more may.
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

    /// How long the next one has to wait.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        self.at(0).saturating_sub(now_ns)
    }

    /// One passes that takes as many slots as it costs.
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

    /// Goes over to another rate: who waits has the new distance from now on.
    pub fn change(&mut self, settings: &LimitSettings, now_ns: u64) {
        let Some(new) = Self::new(settings) else { return };
        // The next slot stays where it is if it is near; it is no further than one new interval.
        let interval = new.rate.time_of(1);
        let anchor_ns = self.at(0).min(now_ns.saturating_add(interval));
        // What runs at its full rate has no need to warm up for a new one.
        let is_warm = self.warmth() >= self.warm_up_ns / 2;
        let whole_ns = new.warm_up_ns / 2;
        let warmth_ns = if is_warm { whole_ns } else { self.warmth().min(whole_ns) };
        *self = Self { anchor_ns, warmth_ns, ..new };
    }

    /// How warm it is after the slots that were taken.
    fn warmth(&self) -> u64 {
        self.warmth_ns.saturating_add(self.rate.time_of(self.taken)).min(self.warm_up_ns / 2)
    }

    /// How warm it is when slots have not been used for this long: cold after a whole warm-up.
    fn cooled_ns(&self, unused_ns: u64) -> u64 {
        self.warmth().saturating_sub(unused_ns / 2)
    }

    /// How long slots take from cold that take `time_ns` at the full rate.
    fn cold_time_ns(&self, time_ns: u64) -> u64 {
        if time_ns >= self.warm_up_ns / 2 {
            return time_ns.saturating_add(self.warm_up_ns / 2);
        }
        let (time, whole) = (u128::from(time_ns), u128::from(self.warm_up_ns));
        u64::try_from(3 * time - 2 * time * time / whole).unwrap_or(u64::MAX)
    }
}
