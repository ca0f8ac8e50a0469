//! Token buckets by key, with the rules of Spring Cloud Gateway's Redis script (SCG
//! `request_rate_limiter.lua`): a clock of whole seconds, a bucket that starts full, and a refusal
//! that takes nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Keys that are remembered at most. Beyond it, buckets that have filled up again are forgotten,
/// which changes nothing; if none has, new keys pass unlimited and are counted.
const KEYS_MAX: usize = 100_000;

/// The buckets of one route.
#[derive(Debug, Default)]
pub struct Buckets {
    by_key: Mutex<HashMap<u64, Bucket>>,
}

/// How buckets are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BucketSettings {
    /// Tokens a second.
    pub rate: u64,
    /// Tokens that a full bucket holds.
    pub capacity: u64,
    /// Tokens that a request takes.
    pub cost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u64,
    /// Second of the last change.
    at_s: i64,
}

/// What a bucket said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether there were enough tokens.
    pub allowed: bool,
    /// Tokens that are left.
    pub left: u64,
}

impl Buckets {
    /// Takes the cost of a request out of the bucket of `key`. `now_s` is in seconds since 1970.
    pub fn take(&self, settings: BucketSettings, key: u64, now_s: i64) -> Taken {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        if by_key.len() >= KEYS_MAX && !by_key.contains_key(&key) {
            by_key.retain(|_, bucket| bucket.filled(settings, now_s) < settings.capacity);
            if by_key.len() >= KEYS_MAX {
                return Taken { allowed: true, left: settings.capacity };
            }
        }
        let bucket = by_key.entry(key);
        let bucket = bucket.or_insert(Bucket { tokens: settings.capacity, at_s: now_s });
        let filled = bucket.filled(settings, now_s);
        let allowed = filled >= settings.cost;
        let left = if allowed { filled - settings.cost } else { filled };
        *bucket = Bucket { tokens: left, at_s: now_s.max(bucket.at_s) };
        Taken { allowed, left }
    }
}

impl Bucket {
    fn filled(self, settings: BucketSettings, now_s: i64) -> u64 {
        let seconds = u64::try_from(now_s.saturating_sub(self.at_s)).unwrap_or_default();
        let grown = self.tokens.saturating_add(seconds.saturating_mul(settings.rate));
        grown.min(settings.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_starts_full_and_fills_by_the_second() {
        let settings = BucketSettings { rate: 2, capacity: 3, cost: 1 };
        let buckets = Buckets::default();
        let take = |now_s| {
            let Taken { allowed, left } = buckets.take(settings, 1, now_s);
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
    fn once_a_minute() {
        let settings = BucketSettings { rate: 1, capacity: 60, cost: 60 };
        let buckets = Buckets::default();
        let allowed = |now_s| buckets.take(settings, 1, now_s).allowed;
        assert_eq!([allowed(0), allowed(59), allowed(60), allowed(61)], [true, false, true, false]);
    }

    #[test]
    fn keys_are_bounded() {
        let settings = BucketSettings { rate: 1, capacity: 1, cost: 1 };
        let buckets = Buckets::default();
        for key in 0..KEYS_MAX as u64 + 10 {
            assert!(buckets.take(settings, key, 0).allowed);
        }
        assert!(buckets.by_key.lock().expect("a lock").len() <= KEYS_MAX);
        assert!(!buckets.take(settings, 1, 0).allowed, "who is known is still limited");
        buckets.take(settings, u64::MAX, 5);
        assert_eq!(buckets.by_key.lock().expect("a lock").len(), 1);
    }
}
