//! Counters of a pipeline.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Counters of a pipeline over all workers.
#[derive(Debug, Default)]
pub(crate) struct PipelineCounters {
    pub(crate) accepted: AtomicU64,
    pub(crate) active: AtomicI64,
    /// Turned away by the limit.
    pub(crate) limited: AtomicU64,
    /// No upstream could be reached.
    pub(crate) unreached: AtomicU64,
    /// Connections closed because they were idle for too long or too old.
    pub(crate) expired: AtomicU64,
    /// Ended as they broke the rules of their protocol.
    pub(crate) broken: AtomicU64,
    /// Turned away by rules, or for want of the right credentials.
    pub(crate) denied: AtomicU64,
    /// Ended as they did not read what came for them.
    pub(crate) slow: AtomicU64,
    /// Responses that nobody waits for any more.
    pub(crate) late: AtomicU64,
    /// Messages from clients, where they are told apart.
    pub(crate) messages: AtomicU64,
    /// Bytes from clients to upstreams.
    pub(crate) sent: AtomicU64,
    /// Bytes from upstreams to clients.
    pub(crate) received: AtomicU64,
}

/// Bytes of one connection, added to those of its pipeline as they pass.
pub(super) struct Tally<'a> {
    counters: &'a PipelineCounters,
    sent: u64,
    received: u64,
}

impl<'a> Tally<'a> {
    pub(super) fn new(counters: &'a PipelineCounters) -> Self {
        Self { counters, sent: 0, received: 0 }
    }

    /// Updates the totals sent to and received from upstreams; returns whether they have grown.
    pub(super) fn add(&mut self, sent: u64, received: u64) -> bool {
        let add = |counter: &AtomicU64, before: &mut u64, now: u64| {
            let more = now.saturating_sub(std::mem::replace(before, now));
            if more > 0 {
                counter.fetch_add(more, Ordering::Relaxed);
            }
            more > 0
        };
        add(&self.counters.sent, &mut self.sent, sent)
            | add(&self.counters.received, &mut self.received, received)
    }
}
