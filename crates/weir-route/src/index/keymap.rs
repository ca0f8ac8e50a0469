//! A persistent map from 64-bit hashes: a change copies one small leaf and the pages above it.
//!
//! Pages have a fixed fan-out of 64; leaves are slices sorted by key, found by interpolation, so a
//! lookup touches one cold place however large the map is. Building, changing in bulk and changing
//! one entry are the same function, [`KeyMap::update`].

use std::sync::Arc;

/// Bits of the key that one page consumes.
const PAGE_BITS: u32 = 6;
/// Slots of a page.
const PAGE_SLOTS: usize = 1 << PAGE_BITS;
/// A leaf that covers several slots of a page is halved above this.
const LEAF_MAX: usize = 64;
/// A leaf that covers one slot (or is the whole map) becomes a page above this.
const LEAF_SPAWN: usize = 384;

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
    /// Entries sorted by key. Shared by `1 << (PAGE_BITS - depth)` neighbouring slots of its page.
    Leaf {
        depth: u32,
        entries: Arc<[Entry<V>]>,
    },
    Page(Arc<[Slot<V>; PAGE_SLOTS]>),
}

impl<V> Clone for Slot<V> {
    fn clone(&self) -> Self {
        match self {
            Slot::Leaf { depth, entries } => {
                Slot::Leaf { depth: *depth, entries: Arc::clone(entries) }
            }
            Slot::Page(page) => Slot::Page(Arc::clone(page)),
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
        Self { root: Slot::leaf(0, Vec::new()) }
    }
}

impl<V> KeyMap<V> {
    /// The value of `key`.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<&V> {
        let mut slot = &self.root;
        let mut above = key;
        let mut rest = key;
        loop {
            match slot {
                Slot::Page(page) => {
                    slot = page.get((rest >> (64 - PAGE_BITS)) as usize)?;
                    above = rest;
                    rest <<= PAGE_BITS;
                }
                Slot::Leaf { depth, entries } => return find(entries, key, above << depth),
            }
        }
    }

    /// Calls `visit` with every value, in order of keys.
    pub(crate) fn for_each<'a>(&'a self, visit: &mut impl FnMut(&'a V)) {
        self.root.for_each(visit);
    }

    /// Bytes of pages and leaves, without what values point to.
    pub(crate) fn bytes(&self) -> usize {
        self.root.bytes()
    }
}

impl<V: Clone> KeyMap<V> {
    /// The map after `ops`, which are sorted by key: `combine` gets the value so far and all
    /// operations on its key, and gives the new value, `None` to have none. It may take out of the
    /// operations what it needs.
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
    fn leaf(depth: u32, entries: Vec<Entry<V>>) -> Self {
        Slot::Leaf { depth, entries: entries.into() }
    }

    /// Slots of the page that this one stands for.
    fn width(&self) -> usize {
        match self {
            Slot::Leaf { depth, .. } => PAGE_SLOTS >> depth,
            Slot::Page(_) => 1,
        }
    }

    fn for_each<'a>(&'a self, visit: &mut impl FnMut(&'a V)) {
        match self {
            Slot::Leaf { entries, .. } => entries.iter().for_each(|entry| visit(&entry.value)),
            Slot::Page(page) => distinct(&**page).for_each(|slot| slot.for_each(visit)),
        }
    }

    fn bytes(&self) -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        match self {
            Slot::Leaf { entries, .. } => COUNTS + entries.len() * size_of::<Entry<V>>(),
            Slot::Page(page) => {
                let below: usize = distinct(&**page).map(Slot::bytes).sum();
                COUNTS + PAGE_SLOTS * size_of::<Slot<V>>() + below
            }
        }
    }
}

/// The slots of a page, each shared leaf once.
fn distinct<V>(page: &[Slot<V>]) -> impl Iterator<Item = &Slot<V>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let slot = page.get(at)?;
        at += slot.width();
        Some(slot)
    })
}

/// Finds `key` where the uniform distribution of hashes says it must be, or close to it.
#[inline]
fn find<V>(entries: &[Entry<V>], key: u64, fraction: u64) -> Option<&V> {
    let guess = ((u128::from(fraction) * entries.len() as u128) >> 64) as usize;
    let (below, above) = entries.split_at_checked(guess)?;
    let first = above.first()?;
    let mut found = None;
    if first.key <= key {
        found = above.iter().find(|entry| entry.key >= key);
    } else if let Some(entry) = below.iter().rev().find(|entry| entry.key <= key) {
        found = Some(entry);
    }
    found.filter(|entry| entry.key == key).map(|entry| &entry.value)
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
        Slot::Leaf { entries, .. } => one_slot(merge(entries, ops, combine), used),
        Slot::Page(page) => {
            let mut slots = Vec::with_capacity(PAGE_SLOTS);
            let mut rest = ops;
            for slot in distinct(&**page) {
                let from = slots.len();
                let until = from + slot.width();
                let here = rest.partition_point(|(key, _)| slot_of(*key, used) < until);
                let (mine, others) = rest.split_at_mut(here);
                rest = others;
                match slot {
                    Slot::Leaf { entries, depth } if !mine.is_empty() => {
                        spread(merge(entries, mine, combine), used, *depth, from, &mut slots);
                    }
                    Slot::Leaf { .. } => slots.resize(until, slot.clone()),
                    Slot::Page(_) => {
                        slots.push(update_slot(slot, mine, used + PAGE_BITS, combine));
                    }
                }
            }
            page_of(slots)
        }
    }
}

/// The entries of a leaf after `ops`.
fn merge<V: Clone, O>(
    entries: &[Entry<V>],
    mut ops: &mut [(u64, O)],
    combine: &mut impl FnMut(Option<&V>, &mut [(u64, O)]) -> Option<V>,
) -> Vec<Entry<V>> {
    let mut merged = Vec::with_capacity(entries.len() + ops.len());
    let mut old = entries.iter().peekable();
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

/// `entries` as the root of a map, or as the only content of one slot.
fn one_slot<V>(entries: Vec<Entry<V>>, used: u32) -> Slot<V> {
    if entries.len() <= LEAF_SPAWN || used + PAGE_BITS > 64 {
        return Slot::leaf(0, entries);
    }
    let mut slots = Vec::with_capacity(PAGE_SLOTS);
    spread(entries, used, 0, 0, &mut slots);
    page_of(slots)
}

/// Appends the slots that `entries` fill: a range of `PAGE_SLOTS >> depth` slots starting at
/// `from`.
fn spread<V>(entries: Vec<Entry<V>>, used: u32, depth: u32, from: usize, slots: &mut Vec<Slot<V>>) {
    let width = PAGE_SLOTS >> depth;
    if width == 1 && entries.len() > LEAF_SPAWN {
        return slots.push(one_slot(entries, used + PAGE_BITS));
    }
    if width == 1 || entries.len() <= LEAF_MAX {
        return slots.resize(from + width, Slot::leaf(depth, entries));
    }
    let middle = from + width / 2;
    let cut = entries.partition_point(|entry| slot_of(entry.key, used) < middle);
    let mut low = entries;
    let high = low.split_off(cut);
    spread(low, used, depth + 1, from, slots);
    spread(high, used, depth + 1, middle, slots);
}

/// Which slot of a page `key` belongs to, after `used` bits.
fn slot_of(key: u64, used: u32) -> usize {
    ((key << used) >> (64 - PAGE_BITS)) as usize
}

fn page_of<V>(slots: Vec<Slot<V>>) -> Slot<V> {
    let mut slots = slots.into_iter();
    let next = |_| slots.next().unwrap_or_else(|| Slot::leaf(PAGE_BITS, Vec::new()));
    Slot::Page(Arc::new(std::array::from_fn(next)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::{any, proptest};

    use super::KeyMap;
    use crate::index::tables::random::cases;

    /// Spreads small numbers over the key space, or crowds them under one page when `crowd`.
    fn key(n: u64, crowd: bool) -> u64 {
        let spread = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if crowd { spread >> 20 } else { spread }
    }

    fn check(batches: &[Vec<(u16, bool)>], crowd: bool) {
        let mut map = KeyMap::default();
        let mut model = BTreeMap::new();
        for (round, batch) in batches.iter().enumerate() {
            let old = map.update::<()>(&mut [], &mut |_, _| None);
            let before = model.clone();
            let mut ops: Vec<_> =
                batch.iter().map(|&(n, put)| (key(n.into(), crowd), put)).collect();
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
            crowd in any::<bool>(),
        ) {
            check(&batches, crowd);
        }
    }

    #[test]
    fn one_at_a_time_is_the_same_as_all_at_once() {
        let one_by_one: Vec<_> = (0..1500u16).map(|n| vec![(n, true)]).collect();
        check(&one_by_one[..600], false);
        check(&[(0..40_000u16).map(|n| (n, true)).collect()], false);
        check(&[(0..3000u16).map(|n| (n, true)).collect()], true);
    }

    #[test]
    fn a_change_leaves_most_leaves_shared() {
        let ops: Vec<_> = (0..60_000u64).map(|n| (key(n, false), ())).collect();
        let mut sorted = ops.clone();
        sorted.sort_by_key(|op| op.0);
        let alive = std::sync::Arc::new(());
        let map = KeyMap::default().update(&mut sorted, &mut |_, _| Some(alive.clone()));
        let before = std::sync::Arc::strong_count(&alive);
        let next = map.update(&mut [(key(7, false), ())], &mut |_, _| None);
        assert!(std::sync::Arc::strong_count(&alive) < before + 400);
        assert!(next.get(key(7, false)).is_none());
        assert!(map.get(key(7, false)).is_some());
    }
}
