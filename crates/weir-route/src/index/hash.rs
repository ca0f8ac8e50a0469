//! Keyed hashing of what routes and requests are compared by.
//!
//! Two texts with one hash share a bucket of the index and nothing worse: every candidate's
//! predicates are asked. The seed keeps others from choosing such texts; it comes from outside,
//! since this crate has no dice.

use std::hash::Hasher;

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;

/// Seed of tables that are built without one.
pub const DEFAULT_SEED: u64 = 0x7765_6972;

/// A keyed hash function.
#[derive(Clone, Debug)]
pub(crate) struct Hash {
    seed: u64,
    shared: SharedSeed,
}

impl Hash {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed: seed.rotate_left(32), shared: SharedSeed::from_u64(seed) }
    }

    #[inline]
    pub(crate) fn text(&self, text: &[u8]) -> u64 {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared);
        hasher.write(text);
        hasher.finish()
    }

    /// Hash of a number, such as the first `size` bits of an address.
    pub(crate) fn number(&self, number: u128, size: u16) -> u64 {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared);
        hasher.write_u128(number);
        hasher.write_u16(size);
        hasher.finish()
    }
}
