//! Byte and message counters of one pipeline, over all workers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of messages and bytes.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Messages from clients, where they are told apart.
    pub(crate) messages: AtomicU64,
    /// Bytes from clients to upstreams.
    pub(crate) sent: AtomicU64,
    /// Bytes from upstreams to clients.
    pub(crate) received: AtomicU64,
}

impl Traffic {
    /// A message and its answer have passed.
    pub(crate) fn exchanged(&self, sent: u64, received: u64) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.moved(sent, received);
    }

    /// Bytes have passed.
    pub(crate) fn moved(&self, sent: u64, received: u64) {
        self.sent.fetch_add(sent, Ordering::Relaxed);
        self.received.fetch_add(received, Ordering::Relaxed);
    }
}
