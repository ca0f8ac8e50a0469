//! What a valve counts.

/// Upper bounds of the buckets of waits, in milliseconds; the last bucket has none.
pub const WAIT_BOUNDS_MS: [u64; 6] = [1, 10, 100, 1_000, 10_000, 60_000];

/// Counters and state of a valve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Passed, at once or after a wait.
    pub admitted: u64,
    /// Passed after a wait.
    pub waited: u64,
    /// Refused, as the queue was full.
    pub refused_full: u64,
    /// Refused, as the wait would have been too long.
    pub refused_wait: u64,
    /// Refused, as the wait would have gone beyond their own deadline, or has.
    pub refused_deadline: u64,
    /// Refused while they waited, as an operator emptied the queue.
    pub refused_flushed: u64,
    /// Left while they waited.
    pub cancelled: u64,
    /// Would have waited or been refused, if the limit were enforced.
    pub shadowed: u64,
    /// Waits by [`WAIT_BOUNDS_MS`].
    pub waits: [u64; WAIT_BOUNDS_MS.len() + 1],
    /// Sum of all waits in nanoseconds.
    pub wait_sum_ns: u64,
    /// Longest time between a slot and the release that used it, in nanoseconds.
    pub late_max_ns: u64,
    /// Waiting now.
    pub depth: usize,
    /// Bytes that those hold.
    pub held_bytes: u64,
    /// In service now, where concurrency is limited.
    pub in_service: u64,
    /// Current maximum of requests in service, if concurrency is limited.
    pub concurrency: Option<u64>,
    /// Duration of a request at an idle upstream, in nanoseconds, once known; only for adaptive
    /// concurrency.
    pub baseline_ns: Option<u64>,
    /// Bytes moved under its bandwidth limit.
    pub moved_bytes: u64,
    /// Number of times that a body had to wait for its bandwidth, or would have had to.
    pub bandwidth_waits: u64,
    /// Keys that have the limit for themselves now, where each key has.
    pub keys: usize,
}

impl Counts {
    /// Adds what the valve of one key has counted. What the limit is stays.
    pub(super) fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.admitted, other.admitted),
            (&mut self.waited, other.waited),
            (&mut self.refused_full, other.refused_full),
            (&mut self.refused_wait, other.refused_wait),
            (&mut self.refused_deadline, other.refused_deadline),
            (&mut self.refused_flushed, other.refused_flushed),
            (&mut self.cancelled, other.cancelled),
            (&mut self.shadowed, other.shadowed),
            (&mut self.wait_sum_ns, other.wait_sum_ns),
            (&mut self.held_bytes, other.held_bytes),
            (&mut self.in_service, other.in_service),
            (&mut self.moved_bytes, other.moved_bytes),
            (&mut self.bandwidth_waits, other.bandwidth_waits),
        ];
        let waits = self.waits.iter_mut().zip(other.waits);
        for (sum, one) in sums.into_iter().chain(waits) {
            *sum = sum.saturating_add(one);
        }
        self.depth += other.depth;
        self.late_max_ns = self.late_max_ns.max(other.late_max_ns);
    }

    /// Counts one that passed after a wait.
    pub(super) fn add_wait(&mut self, wait_ns: u64) {
        self.waited += 1;
        self.wait_sum_ns = self.wait_sum_ns.saturating_add(wait_ns);
        let at = WAIT_BOUNDS_MS.iter().position(|bound| wait_ns <= bound * 1_000_000);
        if let Some(count) = self.waits.get_mut(at.unwrap_or(WAIT_BOUNDS_MS.len())) {
            *count += 1;
        }
    }
}
