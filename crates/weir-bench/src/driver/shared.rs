//! State shared by the workers of a run and its observers.

use crate::clock::{Clock, Nanos, SECOND};
use crate::record::Slice;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Backlog that is due when sending stops may still be sent for so long.
pub(super) const LATE: Nanos = SECOND / 20;

/// A handle to observe a run and to end it early.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    /// Answers that are not waited for any more.
    hurry: AtomicBool,
    /// Requests in flight of the workers that have stopped sending.
    pub(super) awaited: AtomicUsize,
    slices: Mutex<BTreeMap<u64, Slice>>,
}

impl Watch {
    /// Tells the workers to stop sending and to wait for answers in flight; if they already do, or
    /// on a second call, to stop waiting.
    pub fn stop(&self) {
        if self.stopped() || self.awaited() > 0 {
            self.hurry.store(true, Ordering::Relaxed);
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether to stop waiting for answers in flight.
    pub fn hurried(&self) -> bool {
        self.hurry.load(Ordering::Relaxed)
    }

    /// The number of outstanding answers after the last request was sent.
    pub fn awaited(&self) -> usize {
        self.awaited.load(Ordering::Relaxed)
    }

    /// Whether [`Watch::stop`] was called.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Slices closed so far by all workers.
    pub fn slices(&self) -> Vec<Slice> {
        self.slices.lock().map(|slices| slices.values().cloned().collect()).unwrap_or_default()
    }

    pub(super) fn publish(&self, slice: &Slice) {
        if let Ok(mut slices) = self.slices.lock() {
            slices
                .entry(slice.second)
                .and_modify(|mine| mine.add(slice))
                .or_insert_with(|| slice.clone());
        }
    }
}

/// State shared by all workers of a run.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) claimed: AtomicU64,
    pub(super) requests_max: u64,
    pub(super) deadline: AtomicU64,
    pub(super) watch: Arc<Watch>,
}

impl Shared {
    /// The time at which sending stops.
    pub(super) fn deadline(&self) -> Nanos {
        self.deadline.load(Ordering::Relaxed)
    }

    /// Whether one more request may begin; counts it if the number of requests is limited.
    pub(super) fn admits(&self, now: Nanos) -> bool {
        now < self.deadline()
            && (self.requests_max == u64::MAX
                || self.claimed.fetch_add(1, Ordering::Relaxed) < self.requests_max)
    }
}
