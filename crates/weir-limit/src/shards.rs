//! Shares of keys beyond the number that have a place of their own. Each key is dealt a hand of
//! shares and uses the emptiest (shuffle sharding), so that a heavy key spoils at most its own
//! hand: two keys rarely have the whole hand in common.

/// Keys that have a place of their own at most.
pub(crate) const KEYS_MAX: usize = 65_536;
const SHARES: u64 = 1_024;
const HAND: usize = 4;

/// The shares of a key.
pub(crate) fn hand(hash: u64) -> [u64; HAND] {
    let mut nth = 0;
    [(); HAND].map(|()| {
        nth += 1;
        // Each from other bits of the hash.
        hash.rotate_left(16 * nth) % SHARES
    })
}
