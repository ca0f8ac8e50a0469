//! Keyed hashing of the texts and numbers by which the index looks routes up.
//!
//! Texts with equal hashes share a bucket of the index, with no other effect: the predicates of
//! every candidate are evaluated. The seed prevents attackers from choosing such texts; it is
//! passed in, since this crate has no random numbers.

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
