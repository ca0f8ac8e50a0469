//! State shared by all requests of an origin.

use std::sync::Arc;

use crate::pool::Pool;
use crate::stats::{Counters, Stats};

/// The counters and the threads of an origin, and what it logs.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) counters: Arc<Counters>,
    pub(crate) pool: Option<Arc<Pool>>,
    pub(crate) access_log: bool,
}

impl Shared {
    /// Connections, requests and threads now and so far.
    pub(crate) fn stats(&self) -> Stats {
        self.counters.read(self.pool.as_deref().map(Pool::stats).unwrap_or_default())
    }
}
