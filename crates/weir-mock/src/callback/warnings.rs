//! How often failed callbacks are warned of: an unreachable receiver fails every one.

use std::sync::atomic::{AtomicU64, Ordering};

/// Warnings in a minute at most.
const PER_MINUTE: u64 = 10;
/// Bits of the count; the minute is above them.
const COUNT_BITS: u32 = 8;

/// Warnings of failed callbacks so far.
#[derive(Debug, Default)]
pub struct CallbackWarnings(AtomicU64);

impl CallbackWarnings {
    /// None so far.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether to warn of one more at `now_ms`, milliseconds since 1970.
    pub fn has_room(&self, now_ms: i64) -> bool {
        let minute = now_ms.div_euclid(60_000).cast_unsigned() << COUNT_BITS;
        let counted = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            let count = last & ((1 << COUNT_BITS) - 1);
            match last - count == minute {
                true => (count < PER_MINUTE).then_some(last + 1),
                false => Some(minute + 1),
            }
        });
        counted.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::CallbackWarnings;

    #[test]
    fn a_minute_has_a_few() {
        let warnings = CallbackWarnings::new();
        let of = |now_ms: i64| (0..20).filter(|_| warnings.has_room(now_ms)).count();
        assert_eq!((of(1_000), of(59_999), of(60_000), of(180_000)), (10, 0, 10, 10));
    }
}
