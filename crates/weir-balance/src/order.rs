//! The order in which members of different weights have their turns. It is made once for each list
//! of members, so that a choice looks at one place of it and not at every member.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The most turns in an order. Weights that need more are rounded; nobody is left out.
const TURNS_MAX: u64 = 1 << 14;

/// One round of turns, by place of the member: each has as many as its weight, spread evenly over
/// the round, so that nobody has all of its turns in one go.
#[derive(Debug)]
pub(crate) struct Order {
    turns: Vec<u32>,
    /// Each member has one turn, in the order of their places: nothing is written down.
    even: Option<usize>,
}

impl Order {
    /// The order for members with these weights, each at least 1.
    pub fn of(weights: &[u32]) -> Self {
        let divisor = weights.iter().fold(0, |a, b| gcd(a, *b)).max(1);
        if weights.iter().all(|weight| *weight == divisor) {
            return Self { turns: Vec::new(), even: Some(weights.len()) };
        }
        let total: u64 = weights.iter().map(|weight| u64::from(weight / divisor)).sum();
        let max = TURNS_MAX.max(weights.len() as u64);
        let turns_of = |weight: u32| {
            let own = u64::from(weight / divisor);
            if total <= max { own } else { (own * max / total).max(1) }
        };
        let mut turns: Vec<(u64, u32)> = Vec::new();
        for (place, weight) in (0..).zip(weights) {
            let own = turns_of(*weight);
            // The middles of equal parts of the round.
            turns.extend((0..own).map(|turn| (((2 * turn + 1) << 32) / (2 * own), place)));
        }
        turns.sort_unstable();
        Self { turns: turns.into_iter().map(|(_, place)| place).collect(), even: None }
    }

    /// Turns in a round.
    pub fn count(&self) -> usize {
        self.even.unwrap_or(self.turns.len())
    }

    /// Whose turn is the one with this number in the round.
    pub fn place(&self, turn: usize) -> Option<usize> {
        match self.even {
            Some(count) => (turn < count).then_some(turn),
            None => self.turns.get(turn).and_then(|place| usize::try_from(*place).ok()),
        }
    }
}

/// The next of `count` places that `may`. Turns of those that may not are used up: or who follows
/// one that is away would have its share, too.
pub(crate) fn next_in_turn(
    turn: &AtomicUsize,
    count: usize,
    may: impl Fn(usize) -> bool,
) -> Option<usize> {
    let from = turn.fetch_add(1, Ordering::Relaxed).checked_rem(count)?;
    // From one's own turn on: others take turns meanwhile, and no place may be missed.
    let place = |skipped: usize| (from + skipped) % count;
    let Some(skipped) = (0..count).find(|skipped| may(place(*skipped))) else {
        // No turn is taken: with two looks for each request every other place would be left out.
        turn.fetch_sub(1, Ordering::Relaxed);
        return None;
    };
    if skipped > 0 {
        turn.fetch_add(skipped, Ordering::Relaxed);
    }
    Some(place(skipped))
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(weights: &[u32], expected: &[usize]) {
        let order = Order::of(weights);
        let turns: Vec<_> = (0..order.count()).filter_map(|turn| order.place(turn)).collect();
        assert_eq!(turns, expected, "{weights:?}");
        assert_eq!(order.place(order.count()), None);
    }

    #[test]
    fn turns_are_as_many_as_the_weight_and_spread() {
        check(&[], &[]);
        check(&[7, 7, 7], &[0, 1, 2]);
        check(&[2, 1, 1], &[0, 1, 2, 0]);
        check(&[150, 100], &[0, 1, 0, 1, 0]);
        check(&[5, 1], &[0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn an_order_is_bounded_and_leaves_nobody_out() {
        let order = Order::of(&[u32::MAX, 1, u32::MAX / 2]);
        assert!(order.count() <= TURNS_MAX as usize + 3, "{}", order.count());
        let turns = |place| (0..order.count()).filter(|t| order.place(*t) == Some(place)).count();
        assert_eq!(turns(1), 1);
        assert!(turns(0).abs_diff(2 * turns(2)) <= 2);
    }
}
