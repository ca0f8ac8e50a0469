//! Queue of waiting requests. Order: by rank, or by turns of the keys (deficit round robin with the
//! key's weight as quantum; Shreedhar and Varghese, 1995) and by rank within a key.

use std::collections::{HashMap, VecDeque};

/// Key that a request counts for: a hash, or 0 for all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Hash of the key's text.
    pub hash: u64,
    /// Cost of its requests that may pass in one round; at least 1.
    pub weight: u32,
}

/// Keys that have a queue of their own at most; others share [`SHARDS`] queues.
const KEYS_MAX: usize = 65_536;
const SHARDS: u64 = 1_024;

/// A request that enters the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comer {
    /// The key it counts for.
    pub key: Key,
    /// Its cost in units of the rate; at least 1.
    pub cost: u64,
    /// Within a key the lowest rank passes first; equal ranks pass in order of arrival.
    pub rank: u64,
}

/// Waiting entries of type `T`, by key.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    by_key: HashMap<u64, Waiting<T>>,
    /// Keys with waiting requests; the one whose turn it is comes first.
    ring: VecDeque<u64>,
    len: usize,
    /// Sum of the costs of all waiting entries.
    cost: u64,
    next_id: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    /// By rank, then by id.
    entries: VecDeque<Entry<T>>,
    weight: u64,
    /// The rest of this round's quantum, in units of cost.
    left: u64,
    /// Sum of the costs of the entries.
    cost: u64,
}

#[derive(Debug)]
struct Entry<T> {
    order: (u64, u64),
    cost: u64,
    value: T,
}

impl<T> Waiting<T> {
    fn first_cost(&self) -> u64 {
        self.entries.front().map_or(1, |entry| entry.cost)
    }
}

/// Position of an entry in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    key: u64,
    order: (u64, u64),
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), ring: VecDeque::new(), len: 0, cost: 0, next_id: 0 }
    }
}

impl<T> Queue<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Maximum cost that passes before `comer` if no further request arrives.
    pub fn ahead(&self, comer: Comer) -> u64 {
        let slot = self.slot(comer.key);
        let own = self.by_key.get(&slot).map_or(0, |waiting| match waiting.entries.back() {
            Some(last) if last.order.0 > comer.rank => {
                let before = waiting.entries.iter().take_while(|one| one.order.0 <= comer.rank);
                before.map(|entry| entry.cost).sum()
            }
            _ => waiting.cost,
        });
        let rounds = (own + comer.cost).div_ceil(u64::from(comer.key.weight.max(1)));
        // In each round before its own every other key has a full turn.
        let others = self.by_key.iter().filter(|(hash, _)| **hash != slot);
        let others: u64 = others
            .map(|(_, waiting)| waiting.cost.min(rounds.saturating_mul(waiting.weight)))
            .sum();
        (own + others).min(self.cost)
    }

    pub fn push(&mut self, comer: Comer, value: T) -> Place {
        let slot = self.slot(comer.key);
        let order = (comer.rank, self.next_id);
        self.next_id += 1;
        self.len += 1;
        self.cost += comer.cost;
        let weight = u64::from(comer.key.weight.max(1));
        let waiting = self.by_key.entry(slot).or_insert_with(|| {
            self.ring.push_back(slot);
            Waiting { entries: VecDeque::new(), weight, left: weight, cost: 0 }
        });
        waiting.weight = weight;
        waiting.cost += comer.cost;
        let at = waiting.entries.partition_point(|entry| entry.order < order);
        waiting.entries.insert(at, Entry { order, cost: comer.cost, value });
        Place { key: slot, order }
    }

    /// The one whose turn it is, and its cost.
    pub fn pop(&mut self) -> Option<(T, u64)> {
        let slot = self.turn()?;
        let waiting = self.by_key.get_mut(&slot)?;
        let entry = waiting.entries.pop_front()?;
        self.len -= 1;
        self.cost -= entry.cost;
        waiting.cost -= entry.cost;
        waiting.left = waiting.left.saturating_sub(entry.cost);
        if waiting.entries.is_empty() {
            self.by_key.remove(&slot);
            self.ring.pop_front();
        } else if waiting.left < waiting.first_cost() {
            waiting.left += waiting.weight;
            self.ring.rotate_left(1);
        }
        Some((entry.value, entry.cost))
    }

    /// The key whose turn it is, brought to the front of the ring. A key whose first entry costs
    /// more than it has left saves up over the rounds.
    fn turn(&mut self) -> Option<u64> {
        if let [slot] = self.ring.make_contiguous() {
            return Some(*slot);
        }
        for _ in 0..self.ring.len() {
            let slot = *self.ring.front()?;
            let waiting = self.by_key.get_mut(&slot)?;
            if waiting.left >= waiting.first_cost() {
                return Some(slot);
            }
            waiting.left += waiting.weight;
            self.ring.rotate_left(1);
        }
        // No key has enough quantum yet: adds as many rounds at once as the first of them needs.
        let missing =
            |one: &Waiting<T>| one.first_cost().saturating_sub(one.left).div_ceil(one.weight);
        let rounds = self.by_key.values().map(missing).min()?;
        for waiting in self.by_key.values_mut() {
            waiting.left += rounds * waiting.weight;
        }
        let by_key = &self.by_key;
        let ready = |slot: &u64| {
            by_key.get(slot).is_some_and(|waiting| waiting.left >= waiting.first_cost())
        };
        let at = self.ring.iter().position(ready)?;
        self.ring.rotate_left(at);
        self.ring.front().copied()
    }

    /// Removes an entry that gave up waiting; `None` if it has passed already.
    pub fn remove(&mut self, place: Place) -> Option<T> {
        let waiting = self.by_key.get_mut(&place.key)?;
        let at = waiting.entries.binary_search_by_key(&place.order, |entry| entry.order).ok()?;
        let entry = waiting.entries.remove(at)?;
        self.len -= 1;
        self.cost -= entry.cost;
        waiting.cost -= entry.cost;
        if waiting.entries.is_empty() {
            self.by_key.remove(&place.key);
            self.ring.retain(|slot| *slot != place.key);
        }
        Some(entry.value)
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
    use super::{Comer, Key, Queue};

    fn comer(hash: u64, weight: u32) -> Comer {
        Comer { key: Key { hash, weight }, cost: 1, rank: 0 }
    }

    fn drain(queue: &mut Queue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.pop()).map(|(value, _)| value).collect()
    }

    #[test]
    fn keys_take_turns_by_weight() {
        let mut queue = Queue::default();
        for entry in ["a1", "a2", "a3", "a4"] {
            queue.push(comer(1, 2), entry);
        }
        for entry in ["b1", "b2"] {
            queue.push(comer(2, 1), entry);
        }
        assert_eq!(queue.ahead(comer(3, 1)), 3);
        assert_eq!(queue.ahead(comer(2, 1)), 6);
        assert_eq!(drain(&mut queue), ["a1", "a2", "b1", "a3", "a4", "b2"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn keys_share_costs_and_not_requests() {
        let mut queue = Queue::default();
        for entry in ["a1", "a2", "a3"] {
            queue.push(Comer { cost: 1_000_000, ..comer(1, 1) }, entry);
            queue.push(Comer { cost: 1_000_000, ..comer(2, 1) }, entry);
        }
        let (mut first, mut costs) = (Vec::new(), 0);
        for _ in 0..3 {
            let (value, cost) = queue.pop().expect("one");
            first.push(value);
            costs += cost;
        }
        assert_eq!((first, costs), (vec!["a1", "a1", "a2"], 3_000_000));
        let mut queue = Queue::default();
        for _ in 0..4 {
            queue.push(Comer { cost: 3, ..comer(1, 1) }, "dear");
        }
        for _ in 0..12 {
            queue.push(comer(2, 1), "cheap");
        }
        let dear = drain(&mut queue).iter().take(12).filter(|one| **one == "dear").count();
        assert_eq!(dear, 3, "three at 3 beside nine at 1");
    }

    #[test]
    fn a_lower_rank_passes_first_within_its_key() {
        let mut queue = Queue::default();
        queue.push(Comer { rank: 5, ..comer(1, 1) }, "late");
        queue.push(Comer { rank: 2, cost: 7, ..comer(1, 1) }, "soon");
        queue.push(Comer { rank: 2, ..comer(1, 1) }, "soon after");
        assert_eq!(queue.ahead(Comer { rank: 1, ..comer(1, 1) }), 0);
        assert_eq!(queue.ahead(Comer { rank: 2, ..comer(1, 1) }), 8);
        assert_eq!(queue.ahead(Comer { rank: 9, ..comer(1, 1) }), 9);
        assert_eq!(drain(&mut queue), ["soon", "soon after", "late"]);
    }

    #[test]
    fn who_leaves_is_taken_out_at_once() {
        let mut queue = Queue::default();
        let first = queue.push(comer(1, 1), "a");
        queue.push(comer(1, 1), "b");
        let other = queue.push(comer(2, 1), "c");
        assert_eq!(queue.remove(first), Some("a"));
        assert_eq!(queue.remove(first), None);
        assert_eq!(queue.remove(other), Some("c"));
        assert_eq!(queue.len(), 1);
        assert_eq!(drain(&mut queue), ["b"]);
        queue.push(comer(2, 1), "d");
        assert_eq!(drain(&mut queue), ["d"]);
    }
}
