//! A gate an answer waits at until the test opens it.

use std::sync::Arc;

use tokio::sync::watch;

use crate::patiently;

/// Holds an answer back until it is opened. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    arrived: Arc<watch::Sender<usize>>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self { open: Arc::new(watch::Sender::new(false)), arrived: Arc::new(watch::Sender::new(0)) }
    }

    /// Lets everything through, now and later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until `count` answers in all have come to this gate.
    ///
    /// # Panics
    /// If they do not within [`crate::PATIENCE`].
    pub async fn wait_for(&self, count: usize) {
        let mut arrived = self.arrived.subscribe();
        let done = arrived.wait_for(|arrived| *arrived >= count);
        if patiently(done, "answers at a gate").await.is_none() {
            panic!("{} answers at the gate instead of {count}", *self.arrived.borrow());
        }
    }

    /// Comes to this gate.
    pub(crate) fn arrive(&self) {
        self.arrived.send_modify(|count| *count += 1);
    }

    /// Waits until this gate is open.
    pub(crate) async fn pass(&self) {
        let mut open = self.open.subscribe();
        // The sender lives as long as `self`.
        let _ = open.wait_for(|open| *open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
