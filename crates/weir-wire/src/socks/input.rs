//! Reads from the front of received bytes.

use super::error::Stop;

pub(super) fn take<'a>(input: &mut &'a [u8], len: usize) -> Result<&'a [u8], Stop> {
    input.split_off(..len).ok_or(Stop::More)
}

pub(super) fn take_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], Stop> {
    take(input, N)?.first_chunk().copied().ok_or(Stop::More)
}

pub(super) fn take_byte(input: &mut &[u8]) -> Result<u8, Stop> {
    take_array(input).map(|[byte]| byte)
}
