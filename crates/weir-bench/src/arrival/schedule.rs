//! The due time of every request of an open loop, as a pure function of its number.

use super::profile::{Profile, Seeker};
use crate::clock::Nanos;
use crate::dice::Dice;
use std::sync::Arc;

/// The distribution of arrivals around the profile's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// At equal steps of the cumulative rate. Flatters a server: no two requests meet by chance.
    Even,
    /// A Poisson process, as independent clients make it; the seed fixes it.
    Poisson {
        /// Seed of the process.
        seed: u64,
    },
}

/// All due times of a run.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// From a rate profile.
    Paced(Arc<Profile>, Spacing),
    /// Recorded times, in rising order.
    Replay(Arc<[Nanos]>),
}

impl Schedule {
    /// A cursor before slot 0.
    pub fn cursor(&self) -> Cursor {
        let dice = match self {
            Self::Paced(_, Spacing::Poisson { seed }) => Dice::new(*seed),
            Self::Paced(_, Spacing::Even) | Self::Replay(_) => Dice::new(0),
        };
        Cursor {
            schedule: self.clone(),
            dice,
            slot: None,
            position: 0.0,
            seeker: Seeker::default(),
        }
    }

    /// The rate at `t` seconds; for a replay, its mean.
    pub fn rate_at(&self, t: f64) -> f64 {
        match self {
            Self::Paced(profile, _) => profile.rate_at(t),
            Self::Replay(times) => match times.last() {
                Some(&last) if last > 0 => times.len() as f64 / crate::clock::seconds(last),
                _ => 0.0,
            },
        }
    }

    /// Number of slots due before `end`.
    pub fn due_before(&self, end: Nanos) -> u64 {
        let mut cursor = self.cursor();
        let mut slot = 0;
        while cursor.due(slot).is_some_and(|due| due < end) {
            slot += 1;
        }
        slot
    }
}

/// Computes due times in rising order of slots. Every worker has its own cursor, and all agree
/// because each draws the whole stream: one logarithm a slot and no lock.
#[derive(Clone, Debug)]
pub struct Cursor {
    schedule: Schedule,
    dice: Dice,
    slot: Option<u64>,
    position: f64,
    seeker: Seeker,
}

impl Cursor {
    /// The due time of `slot`; `None` after the end of the schedule. Slots must not fall from call
    /// to call (asking again for the same slot is fine).
    pub fn due(&mut self, slot: u64) -> Option<Nanos> {
        match &self.schedule {
            Schedule::Replay(times) => times.get(slot as usize).copied(),
            Schedule::Paced(profile, Spacing::Even) => self.seeker.time_of(profile, slot as f64),
            Schedule::Paced(profile, Spacing::Poisson { .. }) => {
                let mut next = self.slot.map_or(0, |last| last + 1);
                while next <= slot {
                    self.position += self.dice.exponential();
                    next += 1;
                }
                self.slot = Some(slot);
                self.seeker.time_of(profile, self.position)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, Schedule, Spacing};
    use std::sync::Arc;

    fn paced(stages: &str, spacing: Spacing) -> Schedule {
        Schedule::Paced(Arc::new(Profile::parse(stages).unwrap()), spacing)
    }

    #[test]
    fn even_slots_lie_at_equal_steps() {
        let schedule = paced("1000:2s", Spacing::Even);
        let mut cursor = schedule.cursor();
        for slot in 0..2000 {
            let due = cursor.due(slot).unwrap();
            assert!(due.abs_diff(slot * 1_000_000) <= 1, "{slot}: {due}");
        }
        assert_eq!(cursor.due(2000), None);
        assert_eq!(schedule.due_before(1_000_000_000), 1000);
    }

    #[test]
    fn every_cursor_of_a_seed_agrees_whatever_slots_it_skips() {
        let schedule = paced("500-5000:10s", Spacing::Poisson { seed: 42 });
        let mut all = schedule.cursor();
        let times: Vec<_> = (0..20_000).map(|slot| all.due(slot)).collect();
        let mut some = schedule.cursor();
        for slot in (0..20_000).step_by(7) {
            assert_eq!(some.due(slot), times[slot as usize]);
            assert_eq!(some.due(slot), times[slot as usize]);
        }
        let other = paced("500-5000:10s", Spacing::Poisson { seed: 43 });
        assert_ne!(other.cursor().due(100), times[100]);
    }

    /// Gaps of a Poisson process are exponential: mean and standard deviation are equal, and the
    /// Kolmogorov-Smirnov distance to the exponential law stays below its 0.1 % critical value.
    #[test]
    fn poisson_gaps_are_exponential() {
        let schedule = paced("1000:100s", Spacing::Poisson { seed: 1 });
        let mut cursor = schedule.cursor();
        let n = 50_000;
        let times: Vec<f64> = (0..=n).map(|s| cursor.due(s).unwrap() as f64 / 1e9).collect();
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_by(f64::total_cmp);
        let distance = gaps.iter().enumerate().fold(0.0f64, |worst, (at, gap)| {
            let law = 1.0 - (-1000.0 * gap).exp();
            worst.max((law - at as f64 / n as f64).abs())
        });
        assert!(distance < 1.95 / (n as f64).sqrt(), "{distance}");
    }

    #[test]
    fn replay_gives_the_recorded_times() {
        let schedule = Schedule::Replay(Arc::from([5, 5, 9]));
        let mut cursor = schedule.cursor();
        let got: Vec<_> = (0..4).map(|slot| cursor.due(slot)).collect();
        assert_eq!(got, [Some(5), Some(5), Some(9), None]);
    }
}
