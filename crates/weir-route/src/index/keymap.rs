//! A persistent map from 64-bit hashes: a change copies one small leaf and the pages above it.
//!
//! A page has 64 slots, or fewer if its leaves span several, so that the pages of a large table
//! stay in the processor's caches. The entries of a leaf are sorted by key; each is at its
//! interpolated place, or behind entries that occupy it. So a lookup reads one cold location, one
//! or two cache lines, however large the map is. Building, bulk changes and single changes are the
//! same function, [`KeyMap::update`].

use std::sync::Arc;

use super::fetch::Fetch;

/// Bits of the key per page.
const PAGE_BITS: u32 = 6;
/// Maximum number of slots of a page.
const PAGE_SLOTS: usize = 1 << PAGE_BITS;
/// Maximum number of entries of a leaf. A larger leaf is split in two if it covers several slots;
/// if it covers a single slot or is the whole map, it becomes a page.
const LEAF_MAX: usize = 384;
/// A leaf of `n` entries has `n / FREE_OF` free places. Then an entry is one or two places behind
/// its interpolated one.
const FREE_OF: usize = 3;
/// Places from the interpolated one on that most often contain the entry.
const LIKELY: usize = 3;

/// A persistent map from hashes to `V`.
#[derive(Debug)]
pub(crate) struct KeyMap<V> {
    root: Slot<V>,
}

#[derive(Debug)]
struct Entry<V> {
    key: u64,
    value: V,
}

#[derive(Debug)]
enum Slot<V> {
    /// Entries sorted by key, with gaps. Shared by `1 << (PAGE_BITS - depth)` neighbouring slots of
    /// its page. An entry is at or behind the interpolated place of its key among `places`, without
    /// a gap between.
    Leaf { depth: u16, places: u16, entries: Arc<[Option<Entry<V>>]> },
    /// `1 << bits` slots, each for an equal share of `PAGE_SLOTS`.
    Page { bits: u16, slots: Arc<[Slot<V>]> },
}

/// The rest of a leaf, from the interpolated place of a key on.
#[derive(Debug)]
pub(crate) struct Near<'m, V> {
    entries: &'m [Option<Entry<V>>],
}

impl<'m, V> Near<'m, V> {
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<&'m V> {
        let comes_before = |entry: &&Option<Entry<V>>| entry.as_ref().is_some_and(|e| e.key < key);
        let mut rest = self.entries;
        // Counted without branches, which the processor would mispredict.
        if let Some((likely, _)) = rest.split_at_checked(LIKELY) {
            rest = rest.get(likely.iter().filter(comes_before).count()..).unwrap_or_default();
        }
        let entry = rest.iter().find(|entry| !comes_before(entry))?.as_ref()?;
        (entry.key == key).then_some(&entry.value)
    }

    /// Prefetches the likely places of the value.
    #[inline]
    pub(crate) fn fetch(&self, fetch: &impl Fetch) {
        fetch.fetch(self.entries.get(..LIKELY).unwrap_or(self.entries));
    }
}

impl<V> Clone for Slot<V> {
    fn clone(&self) -> Self {
        match self {
            Slot::Leaf { depth, places, entries } => {
                Slot::Leaf { depth: *depth, places: *places, entries: Arc::clone(entries) }
            }
            Slot::Page { bits, slots } => Slot::Page { bits: *bits, slots: Arc::clone(slots) },
        }
    }
}

impl<V> Clone for KeyMap<V> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone() }
    }
}

impl<V> Default for KeyMap<V> {
    fn default() -> Self {
        Self { root: Slot::leaf(Vec::new(), 0, 0) }
    }
}

impl<V> KeyMap<V> {
    /// The value of `key`.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<&V> {
        self.near(key).get(key)
    }

    /// The location of the value of `key`; its memory is not read.
    #[inline]
    pub(crate) fn near(&self, key: u64) -> Near<'_, V> {
        let mut slot = &self.root;
        let mut above = key;
        let mut rest = key;
        loop {
            match slot {
                Slot::Page { bits, slots } => {
                    let Some(below) = slots.get(slot_of(rest, 0) >> (PAGE_BITS as u16 - bits))
                    else {
                        return Near { entries: &[] };
                    };
                    slot = below;
                    above = rest;
                    rest <<= PAGE_BITS;
                }
                Slot::Leaf { depth, places, entries } => {
                    let start = place(above << depth, *places);
                    return Near { entries: entries.get(start..).unwrap_or_default() };
                }
            }
        }
    }

    /// Whether it is a single leaf.
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.root, Slot::Leaf { .. })
    }

    /// Calls `visit` with every value, in order of keys.
    pub(crate) fn for_each<'a>(&'a self, visit: &mut impl FnMut(&'a V)) {
        self.root.for_each(visit);
    }

    /// Bytes of pages and leaves, without memory that values point to.
    pub(crate) fn bytes(&self) -> usize {
        self.root.bytes()
    }
}

impl<V: Clone> KeyMap<V> {
    /// The map after `ops`, which are sorted by key. `combine` gets the current value and all
    /// operations on its key, and returns the new value, or `None` to remove it. It may move data
    /// out of the operations.
    pub(crate) fn update<O>(
        &self,
        ops: &mut [(u64, O)],
        combine: &mut impl FnMut(Option<&V>, &mut [(u64, O)]) -> Option<V>,
    ) -> Self {
        if ops.is_empty() {
            return self.clone();
        }
        Self { root: update_slot(&self.root, ops, 0, combine) }
    }
}

impl<V> Slot<V> {
    /// A leaf of a page after `used` bits of the key; 0 for the root.
    fn leaf(entries: Vec<Entry<V>>, used: u32, depth: u16) -> Self {
        let wanted = entries.len() + entries.len() / FREE_OF;
        let places = u16::try_from(wanted).unwrap_or(u16::MAX);
        let mut placed = Vec::with_capacity(wanted);
        for entry in entries {
            let own = place(entry.key << used << depth, places);
            placed.resize_with(own.max(placed.len()), || None);
            placed.push(Some(entry));
        }
        Slot::Leaf { depth, places, entries: placed.into() }
    }

    /// Number of slots of its page that this one spans.
    fn width(&self) -> usize {
        match self {
            Slot::Leaf { depth, .. } => PAGE_SLOTS >> depth,
            Slot::Page { .. } => 1,
        }
    }

    fn for_each<'a>(&'a self, visit: &mut impl FnMut(&'a V)) {
        match self {
            Slot::Leaf { entries, .. } => {
                entries.iter().flatten().for_each(|entry| visit(&entry.value));
            }
            Slot::Page { bits, slots } => {
                distinct(*bits, slots).for_each(|slot| slot.for_each(visit));
            }
        }
    }

    fn bytes(&self) -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        match self {
            Slot::Leaf { entries, .. } => COUNTS + size_of_val(&**entries),
            Slot::Page { bits, slots } => {
                let below: usize = distinct(*bits, slots).map(Slot::bytes).sum();
                COUNTS + size_of_val(&**slots) + below
            }
        }
    }
}

/// The slots of a page, without repetitions of shared leaves.
fn distinct<V>(bits: u16, slots: &[Slot<V>]) -> impl Iterator<Item = &Slot<V>> {
    let each = PAGE_SLOTS >> bits;
    let mut at = 0;
    std::iter::from_fn(move || {
        let slot = slots.get(at)?;
        at += slot.width() / each;
        Some(slot)
    })
}

/// The interpolated place among `places` of a key; `fraction` are the bits that differ within a
/// leaf.
#[inline]
fn place(fraction: u64, places: u16) -> usize {
    ((u128::from(fraction) * u128::from(places)) >> 64) as usize
}

fn update_slot<V: Clone, O>(
    slot: &Slot<V>,
    ops: &mut [(u64, O)],
    used: u32,
    combine: &mut impl FnMut(Option<&V>, &mut [(u64, O)]) -> Option<V>,
) -> Slot<V> {
    if ops.is_empty() {
        return slot.clone();
    }
    match slot {
        // The page merges its leaves itself.
        Slot::Leaf { entries, .. } => match merge(entries, ops, combine) {
            few if few.len() <= LEAF_MAX => Slot::leaf(few, 0, 0),
            many => page(many, 0),
        },
        Slot::Page { bits, slots: old } => {
            let mut slots = Vec::new();
            let (mut from, mut rest) = (0, ops);
            for slot in distinct(*bits, old) {
                let until = from + slot.width();
                let here = rest.partition_point(|(key, _)| slot_of(*key, used) < until);
                let (mine, others) = rest.split_at_mut(here);
                rest = others;
                match slot {
                    Slot::Leaf { entries, depth, .. } if !mine.is_empty() => {
                        spread(merge(entries, mine, combine), used, *depth, from, &mut slots);
                    }
                    Slot::Leaf { .. } => slots.push(slot.clone()),
                    Slot::Page { .. } => {
                        slots.push(update_slot(slot, mine, used + PAGE_BITS, combine));
                    }
                }
                from = until;
            }
            page_of(slots)
        }
    }
}

/// The entries of a leaf after `ops`.
fn merge<V: Clone, O>(
    entries: &[Option<Entry<V>>],
    mut ops: &mut [(u64, O)],
    combine: &mut impl FnMut(Option<&V>, &mut [(u64, O)]) -> Option<V>,
) -> Vec<Entry<V>> {
    let mut merged = Vec::with_capacity(entries.len() + ops.len());
    let mut old = entries.iter().flatten().peekable();
    while let Some((key, _)) = ops.first() {
        let key = *key;
        while let Some(entry) = old.next_if(|entry| entry.key < key) {
            merged.push(Entry { key: entry.key, value: entry.value.clone() });
        }
        let same = ops.partition_point(|(k, _)| *k <= key);
        let (mine, rest) = ops.split_at_mut(same);
        ops = rest;
        let before = old.next_if(|entry| entry.key == key);
        if let Some(value) = combine(before.map(|entry| &entry.value), mine) {
            merged.push(Entry { key, value });
        }
    }
    merged.extend(old.map(|entry| Entry { key: entry.key, value: entry.value.clone() }));
    merged
}

/// A page of `entries`, after `used` bits of their keys.
fn page<V>(entries: Vec<Entry<V>>, used: u32) -> Slot<V> {
    let mut slots = Vec::new();
    spread(entries, used, 0, 0, &mut slots);
    page_of(slots)
}

/// Appends the leaves and pages of `entries`, which fill a range of `PAGE_SLOTS >> depth` slots
/// starting at `from`.
fn spread<V>(entries: Vec<Entry<V>>, used: u32, depth: u16, from: usize, slots: &mut Vec<Slot<V>>) {
    let width = PAGE_SLOTS >> depth;
    if width == 1 && entries.len() > LEAF_MAX && used + 2 * PAGE_BITS <= 64 {
        return slots.push(page(entries, used + PAGE_BITS));
    }
    if width == 1 || entries.len() <= LEAF_MAX {
        return slots.push(Slot::leaf(entries, used, depth));
    }
    let middle = from + width / 2;
    let cut = entries.partition_point(|entry| slot_of(entry.key, used) < middle);
    let mut low = entries;
    let high = low.split_off(cut);
    spread(low, used, depth + 1, from, slots);
    spread(high, used, depth + 1, middle, slots);
}

/// The slot of `key` in a page after `used` bits.
fn slot_of(key: u64, used: u32) -> usize {
    ((key << used) >> (64 - PAGE_BITS)) as usize
}

/// The page of these leaves and pages, as small as the narrowest of them allows.
fn page_of<V>(parts: Vec<Slot<V>>) -> Slot<V> {
    let narrowest = parts.iter().map(Slot::width).min().unwrap_or(PAGE_SLOTS);
    let mut slots = Vec::with_capacity(PAGE_SLOTS / narrowest);
    for part in parts {
        slots.resize(slots.len() + part.width() / narrowest, part);
    }
    let bits = PAGE_BITS as u16 - narrowest.ilog2() as u16;
    Slot::Page { bits, slots: slots.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::{Just, any, prop_oneof, proptest};

    use super::KeyMap;
    use crate::index::tables::random::cases;

    /// Spreads small numbers over the key space, except for `same` leading bits.
    fn key(n: u64, same: u32) -> u64 {
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> same
    }

    fn check(batches: &[Vec<(u16, bool)>], same: u32) {
        let mut map = KeyMap::default();
        let mut model = BTreeMap::new();
        for (round, batch) in batches.iter().enumerate() {
            let old = map.update::<()>(&mut [], &mut |_, _| None);
            let before = model.clone();
            let mut ops: Vec<_> =
                batch.iter().map(|&(n, put)| (key(n.into(), same), put)).collect();
            ops.sort_by_key(|op| op.0);
            for &(key, put) in &ops {
                if put {
                    model.insert(key, round);
                } else {
                    model.remove(&key);
                }
            }
            map = map.update(&mut ops, &mut |_, ops| ops.last().filter(|op| op.1).map(|_| round));
            equal(&old, &before);
            equal(&map, &model);
            for &(key, _) in &ops {
                assert_eq!(map.get(key), model.get(&key));
                assert_eq!(map.get(key ^ 1), model.get(&(key ^ 1)));
            }
        }
    }

    fn equal(map: &KeyMap<usize>, model: &BTreeMap<u64, usize>) {
        let mut seen = Vec::new();
        map.for_each(&mut |value| seen.push(*value));
        assert_eq!(seen, model.values().copied().collect::<Vec<_>>());
        assert!(model.iter().all(|(key, value)| map.get(*key) == Some(value)));
    }

    proptest! {
        #![proptest_config(cases(32))]
        #[test]
        fn behaves_as_a_sorted_map(
            batches in proptest::collection::vec(
                proptest::collection::vec((0..6000u16, any::<bool>()), 0..3000), 1..6),
            same in prop_oneof![Just(0u32), Just(20), Just(53)],
        ) {
            check(&batches, same);
        }
    }

    #[test]
    fn one_at_a_time_is_the_same_as_all_at_once() {
        let one_by_one: Vec<_> = (0..1500u16).map(|n| vec![(n, true)]).collect();
        check(&one_by_one[..600], 0);
        check(&[(0..40_000u16).map(|n| (n, true)).collect()], 0);
        check(&[(0..3000u16).map(|n| (n, true)).collect()], 20);
        check(&[(0..3000u16).map(|n| (n, true)).collect()], 53);
        check(&[(0..3000u16).map(|n| (n, true)).collect()], 60);
    }

    #[test]
    fn a_change_leaves_most_leaves_shared() {
        let ops: Vec<_> = (0..60_000u64).map(|n| (key(n, 0), ())).collect();
        let mut sorted = ops.clone();
        sorted.sort_by_key(|op| op.0);
        let alive = std::sync::Arc::new(());
        let map = KeyMap::default().update(&mut sorted, &mut |_, _| Some(alive.clone()));
        let before = std::sync::Arc::strong_count(&alive);
        let next = map.update(&mut [(key(7, 0), ())], &mut |_, _| None);
        assert!(std::sync::Arc::strong_count(&alive) < before + 400);
        assert!(next.get(key(7, 0)).is_none());
        assert!(map.get(key(7, 0)).is_some());
    }
}
