//! Makes a table visible, and frees the one before it once nobody uses that any more.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use weir_config::Snapshot;

use super::source::Table;

/// What changes of the table have taken, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeTimes {
    /// Durable transactions; changes that arrive together share one.
    pub transactions: u64,
    /// Routes put and removed.
    pub changes: u64,
    /// Longest durable write.
    pub write_max: Duration,
    /// Longest time from the durable write until the changes served, imports of more than
    /// [`ChangeTimes::IMPORT`] routes aside.
    pub publish_max: Duration,
    /// Longest such time of an import.
    pub publish_import_max: Duration,
}

impl ChangeTimes {
    /// A transaction with more changes than this is an import.
    pub const IMPORT: usize = 1_000;
}

/// Where the data plane and readers find the table. Belongs to the writer.
pub(crate) struct Publisher {
    table: Arc<ArcSwap<Table>>,
    published: Arc<ArcSwap<Snapshot>>,
    /// Tables of before. A worker that lets go of one last would have to free it: a pause for its
    /// requests, and of a whole import a long one.
    retired: RefCell<Vec<Arc<Table>>>,
    times: Arc<Mutex<ChangeTimes>>,
}

impl Publisher {
    pub(crate) fn new(
        table: Arc<ArcSwap<Table>>,
        published: Arc<ArcSwap<Snapshot>>,
        times: Arc<Mutex<ChangeTimes>>,
    ) -> Self {
        Self { table, published, retired: RefCell::default(), times }
    }

    /// The table that serves.
    pub(crate) fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Has `table` serve from now on.
    pub(crate) fn publish(&self, table: Table) {
        self.published.store(Arc::clone(&table.snapshot));
        let before = self.table.swap(Arc::new(table));
        self.retired.borrow_mut().push(before);
    }

    /// Frees what nobody uses any more; whether nothing is left to be freed later.
    pub(crate) fn free_unused(&self) -> bool {
        let mut retired = self.retired.borrow_mut();
        retired
            .retain(|table| Arc::strong_count(table) > 1 || Arc::strong_count(&table.snapshot) > 1);
        retired.is_empty()
    }

    /// Counts a transaction of `changes`.
    pub(crate) fn count(&self, changes: usize, write: Duration, publish: Duration) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.transactions += 1;
        times.changes += changes as u64;
        times.write_max = times.write_max.max(write);
        let longest = match changes > ChangeTimes::IMPORT {
            true => &mut times.publish_import_max,
            false => &mut times.publish_max,
        };
        *longest = publish.max(*longest);
    }
}
