//! One second of a run: counts and a coarse histogram, for charts and for the live view.

use crate::clock::{Nanos, SECOND};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// One second. Responses are (upper bound in nanoseconds, count), two significant digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Seconds since the start.
    pub second: u64,
    /// Part of the warm-up.
    pub warmup: bool,
    /// Requests sent.
    pub sent: u64,
    /// Successes completed.
    pub ok: u64,
    /// Failures.
    pub failed: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Response times, sparse.
    pub responses: Vec<(u64, u64)>,
}

impl Slice {
    /// The response time below which a share `quantile` of the slice lies, in nanoseconds.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let total: u64 = self.responses.iter().map(|(_, count)| count).sum();
        let rank = (quantile * total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.responses.iter().find_map(|&(value, count)| {
            seen += count;
            (seen >= rank).then_some(value)
        })
    }

    /// Adds what another worker saw in the same second.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.ok += other.ok;
        self.failed += other.failed;
        self.bytes += other.bytes;
        for &(value, count) in &other.responses {
            match self.responses.binary_search_by_key(&value, |entry| entry.0) {
                Ok(at) => self.responses[at].1 += count,
                Err(at) => self.responses.insert(at, (value, count)),
            }
        }
    }
}

/// The slices of a worker, the newest still open.
#[derive(Clone, Debug)]
pub struct Slices {
    closed: Vec<Slice>,
    open: Slice,
    histogram: Histogram<u32>,
    warm_until: Nanos,
    until: Nanos,
}

impl Slices {
    /// None yet.
    pub fn new(warm_until: Nanos) -> Self {
        let histogram = Histogram::new_with_bounds(1_000, 3_600_000_000_000, 2)
            .unwrap_or_else(|_| unreachable!("constant histogram bounds"));
        let open = Slice { warmup: warm_until > 0, ..Slice::default() };
        Self { closed: Vec::new(), open, histogram, warm_until, until: SECOND }
    }

    /// A request was sent.
    pub fn sent(&mut self, at: Nanos) {
        self.roll(at);
        self.open.sent += 1;
    }

    /// A request ended.
    pub fn done(&mut self, at: Nanos, response: Nanos, bytes: u64, ok: bool) {
        self.roll(at);
        self.open.ok += u64::from(ok);
        self.open.failed += u64::from(!ok);
        self.open.bytes += bytes;
        self.histogram.saturating_record(response);
    }

    /// Closes the slice if its second is over; returns whether it did.
    pub fn roll(&mut self, now: Nanos) -> bool {
        if now < self.until {
            return false;
        }
        self.close();
        let second = now / SECOND;
        self.open = Slice { second, warmup: now < self.warm_until, ..Slice::default() };
        self.until = (second + 1) * SECOND;
        true
    }

    /// Closes the slice that is open, if there is anything in it.
    pub fn close(&mut self) {
        self.open.responses = self
            .histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect();
        self.histogram.reset();
        let slice = std::mem::take(&mut self.open);
        if slice.sent + slice.ok + slice.failed > 0 {
            self.closed.push(slice);
        }
    }

    /// The closed slices.
    pub fn closed(&self) -> &[Slice] {
        &self.closed
    }

    /// Adds another worker's closed slices.
    pub fn add(&mut self, other: &Self) {
        for slice in &other.closed {
            match self.closed.binary_search_by_key(&slice.second, |mine| mine.second) {
                Ok(at) => self.closed[at].add(slice),
                Err(at) => self.closed.insert(at, slice.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slices;
    use crate::clock::SECOND;

    #[test]
    fn seconds_are_apart_and_workers_add_up() {
        let mut one = Slices::new(SECOND);
        one.sent(10);
        one.done(20, 1_000_000, 7, true);
        one.done(SECOND + 1, 2_000_000, 7, false);
        one.close();
        let mut sum = Slices::new(0);
        sum.add(&one);
        sum.add(&one);
        let got: Vec<_> =
            sum.closed().iter().map(|s| (s.second, s.warmup, s.sent, s.ok, s.failed)).collect();
        assert_eq!(got, [(0, true, 2, 2, 0), (1, false, 0, 0, 2)]);
        assert_eq!(sum.closed()[0].bytes, 14);
        let median = sum.closed()[0].quantile(0.5).unwrap();
        assert!(median.abs_diff(1_000_000) < 10_000, "{median}");
    }
}
