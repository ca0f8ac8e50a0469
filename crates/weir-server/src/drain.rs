//! Stopping without losing a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Phases of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Serving.
    Serving,
    /// No new connections; idle ones close, running exchanges finish.
    Draining,
    /// Everything ends now.
    Stopped,
}

/// The phase of the whole data plane, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct DrainState {
    phase: AtomicU8,
    listening: AtomicUsize,
}

impl DrainState {
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Stopped,
        }
    }

    /// Moves on to `phase`; never back.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::Relaxed);
    }

    /// Whether connections may still be accepted.
    pub(crate) fn is_listening(&self) -> bool {
        self.listening.load(Ordering::Acquire) > 0
    }
}

/// Counts a listening socket as open while it lives.
#[derive(Debug)]
pub(crate) struct Listening(Arc<DrainState>);

impl Listening {
    pub(crate) fn new(drain: &Arc<DrainState>) -> Self {
        drain.listening.fetch_add(1, Ordering::Release);
        Self(Arc::clone(drain))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.listening.fetch_sub(1, Ordering::Release);
    }
}
