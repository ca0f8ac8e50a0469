//! A bounded table of what is kept for each key. Keys beyond the bound share places: each is dealt
//! a hand of shares and uses the emptiest (shuffle sharding), so that a heavy key spoils at most
//! its own hand; two keys rarely have the whole hand in common.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Keys that have a place of their own at most.
pub(crate) const KEYS_MAX: usize = 65_536;
const SHARES: u64 = 1_024;
const HAND: usize = 4;
/// Keys that are kept without a look at whether they are still used.
const TIDY_MIN: usize = 1_024;
/// Shortest time between two looks at all keys, in nanoseconds.
const TIDY_NS: u64 = 1_000_000_000;

/// The shares of a key.
pub(crate) fn hand(hash: u64) -> [u64; HAND] {
    let mut nth = 0;
    [(); HAND].map(|()| {
        nth += 1;
        // Each from other bits of the hash.
        hash.rotate_left(16 * nth) % SHARES
    })
}

/// What is kept for each key, as long as it is used.
#[derive(Debug)]
pub(crate) struct Table<K, T> {
    by_key: HashMap<K, Arc<T>>,
    /// With so many, those that are no longer used are dropped, but not before this time.
    tidy_at: (usize, u64),
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), tidy_at: (TIDY_MIN, 0) }
    }
}

impl<K: Eq + Hash, T> Table<K, T> {
    /// What is kept for the key of this hash; `make` makes it. `load` tells which of the shares of
    /// its hand is the emptiest, and `is_used` what must be kept though nobody holds it.
    pub fn get(
        &mut self,
        hash: u64,
        key: impl Fn(u64) -> K,
        now_ns: u64,
        load: impl Fn(&T) -> u64,
        mut is_used: impl FnMut(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if let Some(known) = self.by_key.get(&key(hash)) {
            return Arc::clone(known);
        }
        let (count, after_ns) = self.tidy_at;
        if self.by_key.len() >= count && now_ns >= after_ns {
            self.by_key.retain(|_, one| Arc::strong_count(one) > 1 || is_used(one));
            let count = (2 * self.by_key.len()).clamp(TIDY_MIN, KEYS_MAX);
            self.tidy_at = (count, now_ns.saturating_add(TIDY_NS));
        }
        let mut place = key(hash);
        if self.by_key.len() >= KEYS_MAX {
            let load = |share: &u64| self.by_key.get(&key(*share)).map_or(0, |one| load(one));
            place = key(hand(hash).into_iter().min_by_key(load).unwrap_or(hash));
        }
        Arc::clone(self.by_key.entry(place).or_insert_with(|| Arc::new(make())))
    }

    pub fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_key.values()
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }
}
