//! Queue of waiting requests. Order: by rank, or by turns of the keys (deficit round robin with the
//! key's weight as quantum; Shreedhar and Varghese, 1995) and by rank within a key.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::shards::{KEYS_MAX, hand};

/// Key that a request counts for: a hash, or 0 for all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Hash of the key's text.
    pub hash: u64,
    /// Cost of its requests that may pass in one round; at least 1.
    pub weight: u32,
}

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
    /// All keys of `by_key`; the one whose turn it is comes first.
    ring: VecDeque<u64>,
    /// Number of keys of `by_key` whose last entry gave up; they go when their turn comes.
    empty: usize,
    rounds: Rounds,
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

/// Sums of the costs and weights of keys, by the number of rounds in which their entries pass.
/// There are few such numbers even where there are many keys: at most one for each length of their
/// queues, if all costs are 1.
#[derive(Debug, Default)]
struct Rounds {
    by_rounds: BTreeMap<u64, (u64, u64)>,
    weight: u64,
}

impl Rounds {
    fn add(&mut self, cost: u64, weight: u64) {
        if cost == 0 {
            return;
        }
        let sums = self.by_rounds.entry(cost.div_ceil(weight)).or_default();
        *sums = (sums.0 + cost, sums.1 + weight);
        self.weight += weight;
    }

    fn remove(&mut self, cost: u64, weight: u64) {
        let rounds = cost.div_ceil(weight);
        let Some(sums) = self.by_rounds.get_mut(&rounds) else { return };
        *sums = (sums.0 - cost, sums.1 - weight);
        if sums.1 == 0 {
            self.by_rounds.remove(&rounds);
        }
        self.weight -= weight;
    }

    /// Cost that passes in so many rounds.
    fn cost_of(&self, rounds: u64) -> u64 {
        let done = self.by_rounds.range(..=rounds).map(|(_, sums)| *sums);
        let (cost, weight) = done.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        rounds.saturating_mul(self.weight - weight).saturating_add(cost)
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
        Self {
            by_key: HashMap::new(),
            ring: VecDeque::new(),
            empty: 0,
            rounds: Rounds::default(),
            len: 0,
            cost: 0,
            next_id: 0,
        }
    }
}

impl<T> Queue<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Maximum cost that passes before `comer` if no further request arrives.
    pub fn ahead(&self, comer: Comer) -> u64 {
        let waiting = self.by_key.get(&self.slot(comer.key));
        let own = waiting.map_or(0, |waiting| match waiting.entries.back() {
            Some(last) if last.order.0 > comer.rank => {
                let before = waiting.entries.iter().take_while(|one| one.order.0 <= comer.rank);
                before.map(|entry| entry.cost).sum()
            }
            _ => waiting.cost,
        });
        let rounds = (own + comer.cost).div_ceil(u64::from(comer.key.weight.max(1)));
        // In each round before its own every other key has a full turn.
        let of_own_key = |one: &Waiting<T>| one.cost.min(rounds.saturating_mul(one.weight));
        let others = self.rounds.cost_of(rounds) - waiting.map_or(0, of_own_key);
        own.saturating_add(others).min(self.cost)
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
            self.empty += 1;
            Waiting { entries: VecDeque::new(), weight, left: weight, cost: 0 }
        });
        self.empty -= usize::from(waiting.entries.is_empty());
        self.rounds.remove(waiting.cost, waiting.weight);
        waiting.weight = weight;
        waiting.cost += comer.cost;
        self.rounds.add(waiting.cost, weight);
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
        self.rounds.remove(waiting.cost, waiting.weight);
        waiting.cost -= entry.cost;
        waiting.left = waiting.left.saturating_sub(entry.cost);
        if waiting.entries.is_empty() {
            self.by_key.remove(&slot);
            self.ring.pop_front();
        } else {
            self.rounds.add(waiting.cost, waiting.weight);
            if waiting.left < waiting.first_cost() {
                waiting.left += waiting.weight;
                self.ring.rotate_left(1);
            }
        }
        Some((entry.value, entry.cost))
    }

    /// The key whose turn it is, brought to the front of the ring. A key whose first entry costs
    /// more than it has left saves up over the rounds.
    fn turn(&mut self) -> Option<u64> {
        for _ in 0..self.ring.len() {
            let slot = *self.ring.front()?;
            let waiting = self.by_key.get_mut(&slot)?;
            if waiting.entries.is_empty() {
                self.by_key.remove(&slot);
                self.ring.pop_front();
                self.empty -= 1;
                continue;
            }
            if waiting.left >= waiting.first_cost() || self.ring.len() == 1 {
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
        self.rounds.remove(waiting.cost, waiting.weight);
        waiting.cost -= entry.cost;
        self.rounds.add(waiting.cost, waiting.weight);
        self.empty += usize::from(waiting.entries.is_empty());
        if self.empty > self.by_key.len() / 2 {
            self.by_key.retain(|_, waiting| !waiting.entries.is_empty());
            self.ring.retain(|slot| self.by_key.contains_key(slot));
            self.empty = 0;
        }
        Some(entry.value)
    }

    /// The queue of a key: its own; where there are too many keys, the emptiest of the shared ones
    /// that it is dealt.
    fn slot(&self, key: Key) -> u64 {
        if self.by_key.len() < KEYS_MAX || self.by_key.contains_key(&key.hash) {
            return key.hash;
        }
        let cost = |slot: &u64| self.by_key.get(slot).map_or(0, |waiting| waiting.cost);
        hand(key.hash).into_iter().min_by_key(cost).unwrap_or(key.hash)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Comer, KEYS_MAX, Key, Queue};

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

    #[test]
    fn a_heavy_key_beyond_the_table_keeps_no_other_from_its_turns() {
        let mut queue = Queue::default();
        for hash in 0..KEYS_MAX as u64 {
            queue.push(comer(hash, 1), "own");
        }
        let hash = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for _ in 0..1_000 {
            queue.push(comer(hash(1 << 40), 1), "heavy");
        }
        let turns = KEYS_MAX as u64 + 4;
        for n in 1..=100 {
            assert!(queue.ahead(comer(hash((1 << 40) + n), 1)) <= turns, "{n}");
        }
        assert_eq!(drain(&mut queue).len(), KEYS_MAX + 1_000);
    }

    #[test]
    fn keys_whose_entries_gave_up_take_no_turn_and_no_memory() {
        let mut queue = Queue::default();
        let all: Vec<_> = (0..1_000).map(|hash| queue.push(comer(hash, 1), "gone")).collect();
        queue.push(comer(5_000, 1), "stays");
        for place in &all {
            assert!(queue.remove(*place).is_some());
            assert!(queue.ring.len() <= 2 * queue.by_key.len() && queue.empty <= queue.ring.len());
        }
        assert!(queue.by_key.len() <= 2, "{}", queue.by_key.len());
        assert_eq!(queue.ahead(comer(7, 1)), 1);
        assert_eq!(drain(&mut queue), ["stays"]);
        assert!(queue.by_key.is_empty() && queue.ring.is_empty() && queue.empty == 0);
        assert!(queue.rounds.by_rounds.is_empty() && queue.rounds.weight == 0);
    }

    proptest! {
        /// The sums by rounds say what a look at every key says.
        #[test]
        fn what_is_ahead_is_the_turns_of_all_others(
            steps in proptest::collection::vec((0_u64..6, 1_u32..5, 1_u64..9, 0_u8..4), 1..120),
        ) {
            let mut queue = Queue::default();
            let mut places = Vec::new();
            for (hash, weight, cost, what) in steps {
                let comer = Comer { cost, ..comer(hash, weight) };
                let own = queue.by_key.get(&hash).map_or(0, |waiting| waiting.cost);
                let rounds = (own + cost).div_ceil(u64::from(weight));
                let others = queue.by_key.iter().filter(|(key, _)| **key != hash);
                let others: u64 =
                    others.map(|(_, one)| one.cost.min(rounds * one.weight)).sum();
                prop_assert_eq!(queue.ahead(comer), (own + others).min(queue.cost));
                match what {
                    0 => drop(queue.pop()),
                    1 => drop(places.pop().and_then(|place| queue.remove(place))),
                    _ => places.push(queue.push(comer, ())),
                }
                let entries: usize = queue.by_key.values().map(|one| one.entries.len()).sum();
                prop_assert_eq!(queue.len(), entries);
            }
        }
    }
}
