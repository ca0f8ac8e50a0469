//! A bounded map that evicts entries not used recently.
//!
//! It has two generations. A used entry moves to the young one; when that has reached half of the
//! bound, it becomes the old one, and the rest of the previous old one is evicted. Every operation
//! is O(1), and no order is kept.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Values by key, with their sizes in bytes. Hashes are keyed by chance.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    young: HashMap<K, (V, usize), RandomState>,
    old: HashMap<K, (V, usize), RandomState>,
    young_bytes: usize,
    count_max: usize,
    bytes_max: usize,
}

impl<K: Hash + Eq, V> Recent<K, V> {
    /// An empty one with room for `count_max` entries of `bytes_max` bytes together.
    pub(crate) fn new(count_max: usize, bytes_max: usize) -> Self {
        let (young, old) = (HashMap::default(), HashMap::default());
        Self { young, old, young_bytes: 0, count_max, bytes_max }
    }

    /// The value of `key`.
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        if !self.old.is_empty()
            && let Some((key, (value, bytes))) = self.old.remove_entry(key)
        {
            self.put(key, value, bytes);
        }
        self.young.get(key).map(|(value, _)| value)
    }

    /// Remembers `value`, unless it alone is more than half of the bound.
    pub(crate) fn put(&mut self, key: K, value: V, bytes: usize) {
        self.remove(&key);
        if bytes > self.bytes_max / 2 {
            return;
        }
        let full = self.young.len() >= (self.count_max / 2).max(1);
        if full || self.young_bytes + bytes > self.bytes_max / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(key, (value, bytes));
    }

    /// Forgets `key`.
    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.old.remove(key);
        if let Some((_, bytes)) = self.young.remove(key) {
            self.young_bytes -= bytes;
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
        self.young_bytes = 0;
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Recent;

    fn key(n: u8) -> [u8; 32] {
        [n; 32]
    }

    #[test]
    fn what_is_used_stays() {
        let mut recent = Recent::new(8, 1000);
        for n in 0..100 {
            recent.put(key(n), n, 1);
            assert_eq!(recent.get(&key(0)), Some(&0), "{n}");
        }
        assert_eq!(recent.get(&key(50)), None);
        assert_eq!(recent.get(&key(99)), Some(&99));
    }

    #[test]
    fn what_is_too_large_is_not_remembered() {
        let mut recent = Recent::new(8, 100);
        recent.put(key(1), 1, 10);
        recent.put(key(1), 2, 51);
        assert_eq!(recent.get(&key(1)), None);
        assert_eq!(recent.len(), 0);
    }

    proptest! {
        #[test]
        fn bounds_hold(steps in prop::collection::vec((0..40_u8, 0..60_usize), 0..200)) {
            let mut recent = Recent::new(10, 100);
            for (n, bytes) in steps {
                recent.put(key(n), n, bytes);
                recent.get(&key(n.wrapping_add(1)));
                let held = recent.young.values().chain(recent.old.values());
                prop_assert!(held.map(|(_, bytes)| bytes).sum::<usize>() <= 100);
                prop_assert!(recent.len() <= 10);
                let young: usize = recent.young.values().map(|(_, bytes)| bytes).sum();
                prop_assert_eq!(young, recent.young_bytes);
            }
        }
    }
}
