//! Delays of answers.

use crate::chance::Chance;

/// Longest wait, in milliseconds.
pub(crate) const DELAY_MS_MAX: u64 = 600_000;

/// The delay of an answer; never more than ten minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// As long each time, in milliseconds.
    Fixed(u64),
    /// Any time between the two, in milliseconds.
    Uniform(u64, u64),
    /// Log-normal: half of all answers wait longer than the median.
    LogNormal {
        /// Milliseconds.
        median_ms: u64,
        /// Standard deviation of the logarithm; 0.5 has a tail of about three medians.
        sigma: f64,
    },
}

impl Default for Delay {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

impl Delay {
    pub(crate) fn ms(self, chance: Chance) -> u64 {
        let ms = match self {
            Self::Fixed(ms) => ms,
            Self::Uniform(low, high) => {
                let (low, high) = (low.min(high), low.max(high).min(DELAY_MS_MAX));
                low + chance.below("delay", 0, high.saturating_sub(low) + 1)
            }
            Self::LogNormal { median_ms, sigma } => {
                // Box and Muller; the first number is never 0.
                let part = |n: u64| (chance.below("delay", n, 1 << 52) + 1) as f64 / 2_f64.powi(52);
                let normal = (-2.0 * part(1).ln()).sqrt() * (std::f64::consts::TAU * part(2)).cos();
                (median_ms as f64 * (sigma * normal).exp()) as u64
            }
        };
        ms.min(DELAY_MS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_lie_where_they_should() {
        let mut all: Vec<u64> = (0..999)
            .map(|n| Delay::LogNormal { median_ms: 100, sigma: 0.5 }.ms(Chance::new(n)))
            .collect();
        all.sort_unstable();
        assert!((85..115).contains(&all[500]) && all[990] > 250, "{} {}", all[500], all[990]);
        for n in 0..200 {
            assert!((5..=9).contains(&Delay::Uniform(9, 5).ms(Chance::new(n))));
        }
        assert_eq!(Delay::Fixed(u64::MAX).ms(Chance::new(0)), DELAY_MS_MAX);
        assert_eq!(Delay::Uniform(u64::MAX, u64::MAX).ms(Chance::new(0)), DELAY_MS_MAX);
    }
}
