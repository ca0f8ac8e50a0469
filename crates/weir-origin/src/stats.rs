//! The counters of an origin.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// Counters that all workers share.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    connections: AtomicU64,
    connections_total: AtomicU64,
    connections_most: AtomicU64,
    requests: AtomicU64,
}

impl Counters {
    /// Counts a connection for as long as the result lives.
    pub(crate) fn connection(&self) -> OpenConnection<'_> {
        self.connections_total.fetch_add(1, Ordering::Relaxed);
        let now = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        self.connections_most.fetch_max(now, Ordering::Relaxed);
        OpenConnection(self)
    }

    pub(crate) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// The current counts, combined with those of the `threads`.
    pub(crate) fn read(&self, threads: Stats) -> Stats {
        Stats {
            connections: self.connections.load(Ordering::Relaxed),
            connections_total: self.connections_total.load(Ordering::Relaxed),
            connections_most: self.connections_most.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            ..threads
        }
    }
}

/// See [`Counters::connection`].
pub(crate) struct OpenConnection<'a>(&'a Counters);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts of an origin at one moment. Thread counts are 0 unless it blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Open HTTP connections, without those upgraded to WebSocket.
    pub connections: u64,
    /// Connections accepted so far.
    pub connections_total: u64,
    /// The maximum number of connections that were open at once.
    pub connections_most: u64,
    /// Requests begun so far.
    pub requests: u64,
    /// Threads that wait on behalf of a request.
    pub threads_busy: u64,
    /// Threads there are.
    pub threads: u64,
    /// The maximum number of threads at once.
    pub threads_most: u64,
    /// Requests that wait for a thread.
    pub queued: u64,
    /// Requests refused since the queue was full.
    pub refused: u64,
}

impl Stats {
    /// The same as JSON.
    pub(crate) fn json(self) -> Value {
        json!({
            "connections": self.connections,
            "connections_total": self.connections_total,
            "connections_most": self.connections_most,
            "requests": self.requests,
            "threads_busy": self.threads_busy,
            "threads": self.threads,
            "threads_most": self.threads_most,
            "queued": self.queued,
            "refused": self.refused,
        })
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, connections_most, requests, .. } = self;
        write!(f, "connections {connections} (most {connections_most}), requests {requests}")?;
        let Self { threads_busy, threads, threads_most, queued, refused, .. } = self;
        if *threads_most == 0 && *refused == 0 {
            return Ok(());
        }
        write!(f, ", threads {threads_busy} busy of {threads} (most {threads_most})")?;
        write!(f, ", queued {queued}, refused {refused}")
    }
}
