//! Counts of times as a worker takes them down, once or twice for each request: HdrHistogram's
//! buckets and nothing else, at a fifth of the instructions.

use crate::clock::Nanos;
use hdrhistogram::Histogram;

/// The longest time that has a bucket of its own, as for [`super::histogram`].
const LONGEST: Nanos = 3_600_000_000_000;

/// Counts by bucket. Times in a bucket of HdrHistogram's with the same bounds are in one here.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    counts: Vec<u64>,
    /// Binary digits below the finest step.
    unit_bits: u32,
    /// Binary digits of the steps in the upper half of a range between powers of two.
    half_bits: u32,
}

impl Tally {
    /// With three significant digits from 100 ns on, as [`super::histogram`] has them.
    pub(super) fn fine() -> Self {
        Self::new(6, 10)
    }

    /// With two significant digits from 1 µs on.
    pub(super) fn coarse() -> Self {
        Self::new(9, 7)
    }

    fn new(unit_bits: u32, half_bits: u32) -> Self {
        let mut tally = Self { counts: Vec::new(), unit_bits, half_bits };
        // Zeroed and not filled: what is never counted takes no memory.
        tally.counts = vec![0; tally.index(LONGEST) + 1];
        tally
    }

    /// Counts a time; one that is too long as the longest.
    pub(super) fn record(&mut self, time: Nanos) {
        let index = self.index(time.min(LONGEST));
        if let Some(count) = self.counts.get_mut(index) {
            *count += 1;
        }
    }

    /// (least and greatest time of a bucket, number of times in it), rising, without empty ones.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(index, &count)| {
            let range = (index >> self.half_bits).saturating_sub(1);
            let shift = range as u32 + self.unit_bits;
            let least = ((index - (range << self.half_bits)) as u64) << shift;
            (least, least + (1 << shift) - 1, count)
        })
    }

    /// Adds everything to a histogram with the same bounds.
    pub(super) fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (least, _, count) in self.buckets() {
            histogram.saturating_record_n(least, count);
        }
    }

    /// Forgets all counts.
    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Each range between powers of two has as many steps; those up to the first share one size.
    fn index(&self, time: Nanos) -> usize {
        let digits = self.half_bits + 1 + self.unit_bits;
        let range = (64 - digits).saturating_sub((time | ((1 << digits) - 1)).leading_zeros());
        ((range as usize) << self.half_bits) + (time >> (range + self.unit_bits)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Tally};
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    /// What either holds: greatest time of each bucket, and count.
    fn check(tally: &mut Tally, mut histogram: Histogram<u64>, times: &[u64]) {
        let mut again = histogram.clone();
        for time in times {
            tally.record(*time);
            histogram.saturating_record(*time);
        }
        let buckets = |histogram: &Histogram<u64>| -> Vec<(u64, u64)> {
            let steps = histogram.iter_recorded();
            steps.map(|s| (s.value_iterated_to(), s.count_since_last_iteration())).collect()
        };
        let got: Vec<(u64, u64)> = tally.buckets().map(|(_, most, n)| (most, n)).collect();
        assert_eq!(got, buckets(&histogram));
        tally.add_to(&mut again);
        assert_eq!(buckets(&again), buckets(&histogram));
        assert_eq!((again.min(), again.max()), (histogram.min(), histogram.max()));
        tally.clear();
        assert_eq!(tally.buckets().count(), 0);
    }

    #[test]
    fn what_is_too_long_counts_as_the_longest() {
        let mut tally = Tally::fine();
        [LONGEST, u64::MAX].into_iter().for_each(|time| tally.record(time));
        let last = tally.buckets().last().unwrap();
        assert!(last.0 <= LONGEST && LONGEST <= last.1 && last.2 == 2, "{last:?}");
    }

    proptest! {
        #[test]
        fn it_counts_as_hdrhistogram_does(
            times in prop::collection::vec((0u32..43, any::<u64>()), 0..200),
        ) {
            // Of every size, not nearly all of the longest.
            let mut times: Vec<u64> =
                times.into_iter().map(|(bits, time)| (time & ((1 << bits) - 1)).min(LONGEST)).collect();
            // The ends are those of buckets, but for times below the first.
            times.push(1_000);
            check(&mut Tally::fine(), super::super::histogram(), &times);
            let coarse = Histogram::new_with_bounds(1_000, LONGEST, 2).unwrap();
            check(&mut Tally::coarse(), coarse, &times);
        }
    }
}
