//! A sorted map whose copies share their structure, so that a change of a large map costs as little
//! as one of a small map. It holds the definitions.

use std::borrow::Borrow;
use std::sync::Arc;

/// Entries that lie together, and are copied together by a change.
const CHUNK_MAX: usize = 256;

/// Keys and values in the order of the keys. A copy costs one pointer for each 128 to 256 entries.
#[derive(Clone, Debug)]
pub struct Sorted<K, V> {
    /// None is empty.
    chunks: Vec<Arc<Vec<(K, V)>>>,
}

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<K: Ord, V> Sorted<K, V> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// All entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().map(|(key, value)| (key, value)))
    }

    /// The keys from `key` on, in order.
    pub fn from(&self, key: &K) -> impl Iterator<Item = &K> {
        let chunks = self.chunks.iter().skip(self.chunk_of(key));
        let keys = chunks.flat_map(|chunk| chunk.iter().map(|(own, _)| own));
        keys.skip_while(move |own| *own < key)
    }

    /// The first entry.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.chunks.first()?.first().map(|(key, value)| (key, value))
    }

    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let at = chunk.binary_search_by(|(own, _)| own.borrow().cmp(key)).ok()?;
        chunk.get(at).map(|(_, value)| value)
    }

    /// Whether `key` has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The index of the chunk that holds `key`, or would hold it.
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let is_before = |chunk: &Arc<Vec<(K, V)>>| {
            chunk.first().is_some_and(|(first, _)| first.borrow() <= key)
        };
        self.chunks.partition_point(is_before).saturating_sub(1)
    }
}

impl<K: Ord + Clone, V: Clone> Sorted<K, V> {
    /// Sets the value of `key`; returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let at = self.chunk_of(&key);
        let Some(shared) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![(key, value)]));
            return None;
        };
        let chunk = Arc::make_mut(shared);
        match chunk.binary_search_by(|(own, _)| own.cmp(&key)) {
            Ok(found) => chunk.get_mut(found).map(|(_, own)| std::mem::replace(own, value)),
            Err(place) => {
                chunk.insert(place, (key, value));
                if chunk.len() > CHUNK_MAX {
                    let later = chunk.split_off(CHUNK_MAX / 2);
                    self.chunks.insert(at + 1, Arc::new(later));
                }
                None
            }
        }
    }

    /// Removes `key`; returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.chunk_of(key);
        let shared = self.chunks.get_mut(at)?;
        let found = shared.binary_search_by(|(own, _)| own.borrow().cmp(key)).ok()?;
        let chunk = Arc::make_mut(shared);
        let (_, value) = chunk.remove(found);
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn it_is_a_sorted_map_and_copies_do_not_change() {
        let (mut own, mut oracle) = (Sorted::default(), BTreeMap::new());
        let mut copies = Vec::new();
        let mut dice = 7_u64;
        for n in 0..20_000_u64 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (dice >> 33) % 3_000;
            if dice >> 63 == 0 || n < 6_000 {
                assert_eq!(own.insert(key, n), oracle.insert(key, n));
            } else {
                assert_eq!(own.remove(&key), oracle.remove(&key));
            }
            if n % 4_000 == 0 {
                copies.push((own.clone(), oracle.clone()));
            }
        }
        copies.push((own, oracle));
        for (own, oracle) in &copies {
            assert!(own.iter().eq(oracle), "the same entries in the same order");
            assert_eq!((own.len(), own.first()), (oracle.len(), oracle.iter().next()));
            assert!((0..3_000).all(|key| own.get(&key) == oracle.get(&key)));
            assert!(own.chunks.iter().all(|chunk| (1..=CHUNK_MAX).contains(&chunk.len())));
        }
    }

    #[test]
    fn a_change_copies_one_chunk() {
        let mut own = Sorted::default();
        assert!((0..10_000).all(|key| own.insert(key, ()).is_none()));
        let before = own.clone();
        own.remove(&5_000);
        let is_shared =
            |chunk: &Arc<_>| before.chunks.iter().any(|other| Arc::ptr_eq(chunk, other));
        assert_eq!(own.chunks.iter().filter(|chunk| !is_shared(chunk)).count(), 1);
    }

    #[test]
    fn all_that_is_taken_out_leaves_nothing() {
        let mut own = Sorted::default();
        assert!((0..1_000).all(|key| own.insert(key, key).is_none()));
        (0..1_000).rev().for_each(|key| assert_eq!(own.remove(&key), Some(key)));
        assert!(own.is_empty() && own.first().is_none() && own.remove(&1).is_none());
    }
}
