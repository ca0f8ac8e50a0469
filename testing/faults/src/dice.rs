//! Random values that differ in every run, so that many runs find rare faults.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// A source of chance (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A new source.
    pub fn new() -> Self {
        Self(std::collections::hash_map::RandomState::new().build_hasher().finish())
    }

    /// A number below `bound`, which is above 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A time below `most`.
    pub fn time(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.below(most.as_micros() as u64 + 1))
    }
}

impl Default for Dice {
    fn default() -> Self {
        Self::new()
    }
}
