//! Who waits, and whose turn is next: first come first served, or each key in turn (deficit round
//! robin with a quantum of the key's weight; Shreedhar and Varghese, 1995).

use std::collections::{HashMap, VecDeque};

/// Whom a request counts for: a hash of its key, or 0 for all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Hash of the key's text.
    pub hash: u64,
    /// How many of its requests pass in one round; at least 1.
    pub weight: u32,
}

/// Keys that have a queue of their own at most; others share [`SHARDS`] queues.
const KEYS_MAX: usize = 65_536;
const SHARDS: u64 = 1_024;

/// Waiting entries of type `T`, by key.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    by_key: HashMap<u64, Waiting<T>>,
    /// Keys with somebody waiting, the one whose turn it is first.
    ring: VecDeque<u64>,
    len: usize,
    next_id: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    entries: VecDeque<(u64, T)>,
    weight: u32,
    /// How many more may pass in this round.
    left: u32,
}

/// Where an entry waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    key: u64,
    id: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), ring: VecDeque::new(), len: 0, next_id: 0 }
    }
}

impl<T> Queue<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many pass at most before a new entry of `key` does.
    pub fn ahead(&self, key: Key) -> u64 {
        let own = self.by_key.get(&self.slot(key));
        let own = own.map_or(0, |waiting| waiting.entries.len()) as u64;
        let rounds = own / u64::from(key.weight.max(1)) + 1;
        // In each round before its own every other key has a full turn.
        let others = self.by_key.iter().filter(|(hash, _)| **hash != self.slot(key));
        let others: u64 = others
            .map(|(_, waiting)| {
                let all = waiting.entries.len() as u64;
                all.min(rounds.saturating_mul(u64::from(waiting.weight)))
            })
            .sum();
        (own + others).min(self.len as u64)
    }

    pub fn push(&mut self, key: Key, entry: T) -> Place {
        let slot = self.slot(key);
        let id = self.next_id;
        self.next_id += 1;
        self.len += 1;
        let weight = key.weight.max(1);
        let waiting = self.by_key.entry(slot).or_insert_with(|| {
            self.ring.push_back(slot);
            Waiting { entries: VecDeque::new(), weight, left: weight }
        });
        waiting.weight = weight;
        waiting.entries.push_back((id, entry));
        Place { key: slot, id }
    }

    /// The one whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let slot = *self.ring.front()?;
        let waiting = self.by_key.get_mut(&slot)?;
        let (_, entry) = waiting.entries.pop_front()?;
        self.len -= 1;
        waiting.left = waiting.left.saturating_sub(1);
        if waiting.entries.is_empty() {
            self.by_key.remove(&slot);
            self.ring.pop_front();
        } else if waiting.left == 0 {
            waiting.left = waiting.weight;
            self.ring.rotate_left(1);
        }
        Some(entry)
    }

    /// Takes out who does not want to wait any more; `None` if it has passed already.
    pub fn remove(&mut self, place: Place) -> Option<T> {
        let waiting = self.by_key.get_mut(&place.key)?;
        let at = waiting.entries.binary_search_by_key(&place.id, |(id, _)| *id).ok()?;
        let (_, entry) = waiting.entries.remove(at)?;
        self.len -= 1;
        if waiting.entries.is_empty() {
            self.by_key.remove(&place.key);
            self.ring.retain(|slot| *slot != place.key);
        }
        Some(entry)
    }

    fn slot(&self, key: Key) -> u64 {
        match self.by_key.len() >= KEYS_MAX && !self.by_key.contains_key(&key.hash) {
            true => key.hash % SHARDS,
            false => key.hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Queue};

    fn key(hash: u64, weight: u32) -> Key {
        Key { hash, weight }
    }

    fn drain(queue: &mut Queue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn keys_take_turns_by_weight() {
        let mut queue = Queue::default();
        for entry in ["a1", "a2", "a3", "a4"] {
            queue.push(key(1, 2), entry);
        }
        for entry in ["b1", "b2"] {
            queue.push(key(2, 1), entry);
        }
        assert_eq!(queue.ahead(key(3, 1)), 3);
        assert_eq!(queue.ahead(key(2, 1)), 6);
        assert_eq!(drain(&mut queue), ["a1", "a2", "b1", "a3", "a4", "b2"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn who_leaves_is_taken_out_at_once() {
        let mut queue = Queue::default();
        let first = queue.push(key(1, 1), "a");
        queue.push(key(1, 1), "b");
        let other = queue.push(key(2, 1), "c");
        assert_eq!(queue.remove(first), Some("a"));
        assert_eq!(queue.remove(first), None);
        assert_eq!(queue.remove(other), Some("c"));
        assert_eq!(queue.len(), 1);
        assert_eq!(drain(&mut queue), ["b"]);
        queue.push(key(2, 1), "d");
        assert_eq!(drain(&mut queue), ["d"]);
    }
}
