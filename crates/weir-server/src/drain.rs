//! Stopping without losing a request.

use std::sync::atomic::{AtomicU8, Ordering};

/// How far a stop has come.
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
pub(crate) struct DrainState(AtomicU8);

impl DrainState {
    pub(crate) fn phase(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Stopped,
        }
    }

    /// Moves on to `phase`; never back.
    pub(crate) fn advance(&self, phase: Phase) {
        self.0.fetch_max(phase as u8, Ordering::Relaxed);
    }
}
