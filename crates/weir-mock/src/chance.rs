//! Chance that is the same each time: numbers from a seed and a place.

/// The source of random values for one answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    seed: u64,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The `n`-th number for `place`, so that a field more does not change the others.
    pub(crate) fn roll(self, place: &str, n: u64) -> u64 {
        let mut hash = self.seed ^ 0xcbf2_9ce4_8422_2325;
        for byte in place.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        mix(hash.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(self, place: &str, n: u64, end: u64) -> u64 {
        self.roll(place, n) % end.max(1)
    }

    /// One of a list.
    pub(crate) fn pick<'l, T: ?Sized>(self, place: &str, n: u64, list: &'l [&T]) -> Option<&'l T> {
        let at = usize::try_from(self.below(place, n, list.len() as u64)).unwrap_or(0);
        list.get(at).copied()
    }

    /// True in `percent` of all cases.
    pub(crate) fn happens(self, place: &str, n: u64, percent: u64) -> bool {
        self.below(place, n, 100) < percent
    }
}

/// SplitMix64's finisher.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
