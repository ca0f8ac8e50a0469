//! Token buckets by key. A bucket starts full, and a refusal takes nothing. They are filled by the
//! rules of Spring Cloud Gateway's Redis script (SCG `request_rate_limiter.lua`), which knows whole
//! seconds only, or by those of Bucket4j.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Maximum number of keys. Beyond it, full buckets are dropped, which changes nothing; if there are
/// none, new keys pass unlimited and are counted.
const KEYS_MAX: usize = 100_000;

/// The buckets of one route.
#[derive(Debug, Default)]
pub struct Buckets {
    by_key: Mutex<HashMap<u64, Bucket>>,
}

/// Size and refill of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BucketSettings {
    /// Refill of tokens.
    pub refill: Refill,
    /// Tokens that a full bucket holds.
    pub capacity: u64,
    /// Tokens that a request takes.
    pub cost: u64,
}

/// Refill of a bucket's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refill {
    /// This many with each second of the clock, as SCG's script has it.
    EachSecond(u64),
    /// Evenly over the period, one by one.
    Greedy {
        /// Tokens of a period.
        tokens: u64,
        /// The period in milliseconds.
        period_ms: u64,
    },
    /// All at the end of each period.
    Intervally {
        /// Tokens of a period.
        tokens: u64,
        /// The period in milliseconds.
        period_ms: u64,
    },
}

impl Refill {
    /// Tokens of a second, or of a period.
    pub fn tokens(self) -> u64 {
        match self {
            Self::EachSecond(tokens)
            | Self::Greedy { tokens, .. }
            | Self::Intervally { tokens, .. } => tokens,
        }
    }

    /// The tokens that have come from `from_ms` to `to_ms`, and until when they are counted.
    fn grown(self, from_ms: i64, to_ms: i64) -> (u64, i64) {
        let elapsed_ms = u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or_default();
        let (each, unit_ms) = match self {
            Self::EachSecond(rate) => {
                let seconds = to_ms.div_euclid(1_000).saturating_sub(from_ms.div_euclid(1_000));
                let seconds = u64::try_from(seconds).unwrap_or_default();
                return (seconds.saturating_mul(rate), to_ms.max(from_ms));
            }
            Self::Intervally { tokens, period_ms } => (tokens, period_ms),
            Self::Greedy { tokens, period_ms } => {
                let whole = u128::from(elapsed_ms) * u128::from(tokens) / u128::from(period_ms);
                // The time accumulated towards the next token is kept.
                let used_ms = (whole * u128::from(period_ms)).div_ceil(u128::from(tokens));
                let used_ms = i64::try_from(used_ms).unwrap_or(i64::MAX);
                let whole = u64::try_from(whole).unwrap_or(u64::MAX);
                return (whole, from_ms.saturating_add(used_ms));
            }
        };
        let periods = elapsed_ms / unit_ms;
        let used_ms = i64::try_from(periods.saturating_mul(unit_ms)).unwrap_or(i64::MAX);
        (periods.saturating_mul(each), from_ms.saturating_add(used_ms))
    }
}

impl std::fmt::Display for Refill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::EachSecond(tokens) => write!(f, "{tokens} a second"),
            Self::Greedy { tokens, period_ms } | Self::Intervally { tokens, period_ms } => {
                write!(f, "{tokens} in {:?}", std::time::Duration::from_millis(*period_ms))
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u64,
    /// Time up to which tokens have been added, in milliseconds since 1970.
    at_ms: i64,
}

/// Result of taking tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether there were enough tokens.
    pub allowed: bool,
    /// Tokens that are left.
    pub left: u64,
}

impl Buckets {
    /// Takes the cost of a request out of the bucket of `key`. `now_ms` is in milliseconds since
    /// 1970.
    pub fn take(&self, settings: BucketSettings, key: u64, now_ms: i64) -> Taken {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        if by_key.len() >= KEYS_MAX && !by_key.contains_key(&key) {
            by_key.retain(|_, bucket| bucket.filled(settings, now_ms).tokens < settings.capacity);
            if by_key.len() >= KEYS_MAX {
                return Taken { allowed: true, left: settings.capacity };
            }
        }
        let bucket = by_key.entry(key);
        let bucket = bucket.or_insert(Bucket { tokens: settings.capacity, at_ms: now_ms });
        *bucket = bucket.filled(settings, now_ms);
        let taken = bucket.pay(settings);
        bucket.tokens = taken.left;
        taken
    }

    /// The result that [`Buckets::take`] would give; no tokens are taken.
    pub fn look(&self, settings: BucketSettings, key: u64, now_ms: i64) -> Taken {
        let by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let full = Bucket { tokens: settings.capacity, at_ms: now_ms };
        let bucket = by_key.get(&key).copied().unwrap_or(full);
        bucket.filled(settings, now_ms).pay(settings)
    }
}

impl Bucket {
    /// The decision about a request, and the tokens left after it.
    fn pay(self, settings: BucketSettings) -> Taken {
        match self.tokens.checked_sub(settings.cost) {
            Some(left) => Taken { allowed: true, left },
            None => Taken { allowed: false, left: self.tokens },
        }
    }

    fn filled(self, settings: BucketSettings, now_ms: i64) -> Self {
        let (grown, at_ms) = settings.refill.grown(self.at_ms, now_ms);
        let tokens = self.tokens.saturating_add(grown);
        if tokens >= settings.capacity {
            // A full bucket keeps no part of a token, and a clock that goes back takes nothing.
            return Self { tokens: settings.capacity, at_ms: now_ms.max(self.at_ms) };
        }
        Self { tokens, at_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_starts_full_and_fills_by_the_second() {
        let settings = BucketSettings { refill: Refill::EachSecond(2), capacity: 3, cost: 1 };
        let buckets = Buckets::default();
        let take = |now_s: i64| {
            let Taken { allowed, left } = buckets.take(settings, 1, now_s * 1_000);
            (allowed, left)
        };
        assert_eq!(
            [take(0), take(0), take(0), take(0)],
            [(true, 2), (true, 1), (true, 0), (false, 0)]
        );
        assert_eq!([take(1), take(1), take(1)], [(true, 1), (true, 0), (false, 0)]);
        assert_eq!(take(100), (true, 2));
        assert_eq!(take(50), (true, 1), "a clock that goes back fills nothing");
        assert_eq!(buckets.take(settings, 2, 0), Taken { allowed: true, left: 2 });
    }

    #[test]
    fn looking_takes_nothing() {
        let settings = BucketSettings { refill: Refill::EachSecond(1), capacity: 2, cost: 2 };
        let buckets = Buckets::default();
        let full = Taken { allowed: true, left: 0 };
        assert_eq!([buckets.look(settings, 1, 0), buckets.look(settings, 1, 0)], [full, full]);
        assert_eq!(buckets.by_key.lock().expect("a lock").len(), 0);
        assert_eq!(buckets.take(settings, 1, 0), full);
        assert_eq!(buckets.look(settings, 1, 0), Taken { allowed: false, left: 0 });
        assert_eq!(buckets.look(settings, 1, 2_000), full);
    }

    #[test]
    fn once_a_minute() {
        let settings = BucketSettings { refill: Refill::EachSecond(1), capacity: 60, cost: 60 };
        let buckets = Buckets::default();
        let allowed = |now_s: i64| buckets.take(settings, 1, now_s * 1_000).allowed;
        assert_eq!([allowed(0), allowed(59), allowed(60), allowed(61)], [true, false, true, false]);
    }

    #[test]
    fn keys_are_bounded() {
        let settings = BucketSettings { refill: Refill::EachSecond(1), capacity: 1, cost: 1 };
        let buckets = Buckets::default();
        for key in 0..KEYS_MAX as u64 + 10 {
            assert!(buckets.take(settings, key, 0).allowed);
        }
        assert!(buckets.by_key.lock().expect("a lock").len() <= KEYS_MAX);
        assert!(!buckets.take(settings, 1, 0).allowed, "who is known is still limited");
        buckets.take(settings, u64::MAX, 5_000);
        assert_eq!(buckets.by_key.lock().expect("a lock").len(), 1);
    }

    #[test]
    fn tokens_of_bucket4j_come_one_by_one_or_all_together() {
        let (tokens, period_ms) = (4, 1_000);
        let outcome = |refill, times: &[i64]| -> Vec<bool> {
            let settings = BucketSettings { refill, capacity: 2, cost: 1 };
            let buckets = Buckets::default();
            times.iter().map(|now_ms| buckets.take(settings, 1, *now_ms).allowed).collect()
        };
        let times = [0, 0, 0, 249, 250, 499, 500, 999, 1_000, 1_000];
        let greedy = outcome(Refill::Greedy { tokens, period_ms }, &times);
        assert_eq!(greedy, [true, true, false, false, true, false, true, true, true, false]);
        let all = outcome(Refill::Intervally { tokens, period_ms }, &times);
        assert_eq!(all, [true, true, false, false, false, false, false, false, true, true]);
    }

    #[test]
    fn odd_periods_lose_no_part_of_a_token() {
        let refill = Refill::Greedy { tokens: 3, period_ms: 1_000 };
        let settings = BucketSettings { refill, capacity: 1, cost: 1 };
        let buckets = Buckets::default();
        let passed = (0..30_000).filter(|now_ms| buckets.take(settings, 1, *now_ms).allowed);
        // A token each 333.3 ms, asked for once a millisecond: each is taken at the first one
        // behind its time.
        assert_eq!(passed.count(), 90);
    }
}
