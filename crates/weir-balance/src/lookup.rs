//! A table from hashes to members, made once for each list of members (Maglev hashing, Eisenbud et
//! al. 2016): each member fills slots in an order of its own, by turns that follow the weights. A
//! hash finds its member with one look, and most hashes keep theirs when the list changes.

use crate::hash::spread;
use crate::order::Order;

/// Slots for each member at least: shares are as exact as one slot.
const SLOTS_EACH: usize = 64;
/// Slots of a table at least.
const SLOTS_MIN: usize = 1 << 10;
/// Slots that a hash tries before its caller looks at all members.
const TRIES: u64 = 32;

/// Slots that are filled with places of members.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// A power of two of them; none without members.
    slots: Vec<u32>,
}

impl Lookup {
    /// The table for members with these hashes of their addresses.
    pub fn of(addresses: &[u64], order: &Order) -> Self {
        let count = (addresses.len() * SLOTS_EACH).next_power_of_two().max(SLOTS_MIN);
        let mut slots = vec![None; count];
        // Odd steps visit every slot, as the count is a power of two.
        let mut next: Vec<(usize, usize)> = addresses
            .iter()
            .map(|address| {
                let bits = spread(*address);
                ((bits >> 32) as usize, (bits & 0xffff_ffff) as usize | 1)
            })
            .collect();
        let (mut filled, mut turn) = (0, 0);
        while filled < count {
            let Some(place) = order.place(turn) else { break };
            turn = (turn + 1) % order.count();
            let Some((at, step)) = next.get_mut(place) else { break };
            while let Some(slot) = slots.get_mut(*at % count) {
                *at = at.wrapping_add(*step);
                if slot.is_none() {
                    *slot = u32::try_from(place).ok();
                    filled += 1;
                    break;
                }
            }
        }
        Self { slots: slots.into_iter().flatten().collect() }
    }

    /// Places for `hash`, the one that it belongs to first. Those behind it take over while that
    /// one is away; they differ from hash to hash. A place may come up again.
    pub fn places(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        let mask = (self.slots.len() as u64).saturating_sub(1);
        (0..TRIES).filter_map(move |tried| {
            let slot = spread(hash.wrapping_add(spread(tried))) & mask;
            self.slots.get(usize::try_from(slot).ok()?).and_then(|place| (*place).try_into().ok())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(addresses: &[u64]) -> Vec<u64> {
        let lookup = Lookup::of(addresses, &Order::of(&vec![1; addresses.len()]));
        let place = |hash| lookup.places(hash).next().expect("a place");
        (0..10_000).map(|hash| addresses[place(hash)]).collect()
    }

    #[test]
    fn shares_are_even_and_few_move_when_one_leaves() {
        let all: Vec<u64> = (1..=20).map(spread).collect();
        let before = first(&all);
        for address in &all {
            let share = before.iter().filter(|one| *one == address).count();
            assert!((400..600).contains(&share), "{share} of 10,000 where the share is 500");
        }
        let after = first(&all[1..]);
        let moved = before.iter().zip(&after).filter(|(old, new)| old != new).count();
        let had_to = before.iter().filter(|old| **old == all[0]).count();
        assert!(moved < had_to + 500, "{moved} moved, where {had_to} had to");
    }

    #[test]
    fn without_members_there_is_no_place() {
        assert_eq!(Lookup::of(&[], &Order::of(&[])).places(7).next(), None);
    }
}
