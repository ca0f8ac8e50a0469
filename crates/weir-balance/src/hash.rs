//! Hashes that are the same on every machine and in every version: who is chosen by them stays.

use weir_filter::Target;

/// A number that is the same for the same bytes (FNV-1a).
pub fn hash_of(bytes: &[u8]) -> u64 {
    fold(bytes.iter().copied())
}

fn fold(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A number for the address of `target`.
pub(crate) fn address_hash(target: &Target) -> u64 {
    fold(target.host.bytes().chain(target.port.to_be_bytes()))
}

/// How well `target` suits `hash` (rendezvous hashing); evenly spread.
pub(crate) fn chance_of(hash: u64, target: &Target) -> u64 {
    spread(hash ^ address_hash(target))
}

/// Spreads bits evenly (the finish of splitmix64).
pub(crate) fn spread(bits: u64) -> u64 {
    let z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Evenly spread bits as a number from 0 to below 1.
pub(crate) fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Evenly spread bits as a place of `count`.
pub(crate) fn place_of(bits: u64, count: usize) -> usize {
    usize::try_from((u128::from(bits) * count as u128) >> 64).unwrap_or_default()
}
