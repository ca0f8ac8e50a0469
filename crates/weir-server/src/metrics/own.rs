//! Counters that one thread writes and others read.

use std::sync::atomic::{AtomicU64, Ordering};

/// Adds to a counter that only this thread writes: cheaper than an atomic addition.
pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}
