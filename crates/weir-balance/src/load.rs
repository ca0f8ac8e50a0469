//! What all members of a group have under way, counted so rarely that a choice costs the same
//! however many they are.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// So many members are looked at for each choice, on average.
const LOOKS: usize = 8;

/// Sums over the members of a group, as of a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Load {
    asked: AtomicUsize,
    active: AtomicUsize,
    /// The bits of a floating-point number.
    shares: AtomicU64,
}

impl Load {
    /// What is under way and the sum of shares, counted anew by `count` when that is due. Of few
    /// members it is due each time.
    pub fn of(&self, members: usize, count: impl FnOnce() -> (usize, f64)) -> (usize, f64) {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked.is_multiple_of((members / LOOKS).max(1)) {
            let (active, shares) = count();
            self.active.store(active, Ordering::Relaxed);
            self.shares.store(shares.to_bits(), Ordering::Relaxed);
            return (active, shares);
        }
        let shares = f64::from_bits(self.shares.load(Ordering::Relaxed));
        (self.active.load(Ordering::Relaxed), shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_rarely_if_they_are_many() {
        let check = |members: usize, expected: usize| {
            let (load, mut counted) = (Load::default(), 0);
            for _ in 0..1_000 {
                let count = || {
                    counted += 1;
                    (members, 1.5)
                };
                assert_eq!(load.of(members, count), (members, 1.5));
            }
            assert_eq!(counted, expected, "{members}");
        };
        check(1, 1_000);
        check(8, 1_000);
        check(1_000, 8);
        check(100_000, 1);
    }
}
