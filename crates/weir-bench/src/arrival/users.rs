//! Virtual users: their start times, numbers of iterations and think times.

use crate::clock::{Nanos, nanos};
use crate::dice::Dice;

/// Time between an answer and the next request of a user, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Think {
    /// None.
    #[default]
    None,
    /// Always the same.
    Constant(f64),
    /// Uniform between two bounds.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
}

/// A population of users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Users {
    /// The number of users.
    pub count: usize,
    /// Seconds over which they begin, evenly.
    pub ramp_s: f64,
    /// The iterations of each user through the journey; `None` until the run stops.
    pub loops: Option<u64>,
    /// Between requests.
    pub think: Think,
    /// Seed of the think times.
    pub seed: u64,
}

impl Think {
    /// Draws one think time.
    pub fn draw(self, dice: &mut Dice) -> Nanos {
        match self {
            Self::None => 0,
            Self::Constant(seconds) => nanos(seconds),
            Self::Uniform(low, high) => nanos(low + (high - low) * dice.unit()),
            Self::Exponential(mean) => nanos(mean * dice.exponential()),
        }
    }

    /// Reads `1s`, `1s..2s` or `exp(1s)`.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(mean) = text.strip_prefix("exp(").and_then(|rest| rest.strip_suffix(')')) {
            return Ok(Self::Exponential(crate::units::seconds(mean)?));
        }
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (crate::units::seconds(low)?, crate::units::seconds(high)?);
            if low > high {
                return Err(format!("think time {text}: the lower bound is above the upper one"));
            }
            return Ok(Self::Uniform(low, high));
        }
        Ok(Self::Constant(crate::units::seconds(text)?))
    }
}

impl Users {
    /// The start time of user number `user`.
    pub fn begins(&self, user: usize) -> Nanos {
        nanos(self.ramp_s * user as f64 / self.count.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Think, Users};
    use crate::dice::Dice;

    fn check(text: &str, expected: Result<Think, &str>) {
        match (Think::parse(text), expected) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{text}"),
            (Err(why), Err(want)) => assert!(why.contains(want), "{text}: {why}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn think_times_are_read() {
        check("250ms", Ok(Think::Constant(0.25)));
        check("1s..2s", Ok(Think::Uniform(1.0, 2.0)));
        check("exp(1500ms)", Ok(Think::Exponential(1.5)));
        check("2s..1s", Err("lower bound"));
        check("soon", Err("soon"));
    }

    #[test]
    fn draws_stay_in_their_law_and_users_begin_evenly() {
        let mut dice = Dice::new(3);
        let mean = |think: Think, dice: &mut Dice| {
            (0..50_000).map(|_| think.draw(dice) as f64 / 1e9).sum::<f64>() / 50_000.0
        };
        assert!((mean(Think::Uniform(1.0, 2.0), &mut dice) - 1.5).abs() < 0.01);
        assert!((mean(Think::Exponential(1.5), &mut dice) - 1.5).abs() < 0.05);
        let users = Users { count: 4, ramp_s: 2.0, loops: None, think: Think::None, seed: 0 };
        let begins: Vec<_> = (0..4).map(|user| users.begins(user)).collect();
        assert_eq!(begins, [0, 500_000_000, 1_000_000_000, 1_500_000_000]);
    }
}
