//! Publishes a table, and drops the previous one when no worker uses it any more.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use weir_snapshot::Snapshot;

use super::source::Table;

/// The durations of changes to the table since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeTimes {
    /// Durable transactions; changes that arrive together share one.
    pub transactions: u64,
    /// Routes put and removed.
    pub changes: u64,
    /// Longest durable write, making the table that is to serve included.
    pub write_max: Duration,
    /// Longest time from the durable write until the changes served, imports of more than
    /// [`ChangeTimes::IMPORT`] routes aside.
    pub publish_max: Duration,
    /// Longest such time of an import.
    pub publish_import_max: Duration,
    /// Histogram of these times, imports included: bucket n counts those from 2ⁿ⁻¹ up to 2ⁿ µs.
    publish_counts: [u64; 32],
}

impl ChangeTimes {
    /// A transaction with more changes than this is an import.
    pub const IMPORT: usize = 1_000;

    /// The time in which so many in a thousand transactions were published, rounded up to a power
    /// of two of microseconds.
    pub fn publish_within(&self, per_mille: u64) -> Duration {
        let wanted = self.publish_counts.iter().sum::<u64>() * per_mille;
        let mut so_far = 0;
        let bucket = self.publish_counts.iter().position(|count| {
            so_far += count * 1_000;
            so_far >= wanted
        });
        match so_far {
            0 => Duration::ZERO,
            _ => Duration::from_micros(1 << bucket.unwrap_or_default()),
        }
    }

    fn count(&mut self, changes: usize, write: Duration, publish: Duration) {
        self.transactions += 1;
        self.changes += changes as u64;
        self.write_max = self.write_max.max(write);
        let longest = match changes > Self::IMPORT {
            true => &mut self.publish_import_max,
            false => &mut self.publish_max,
        };
        *longest = publish.max(*longest);
        let bits = u128::BITS - publish.as_micros().leading_zeros();
        let last = self.publish_counts.len() - 1;
        if let Some(count) = self.publish_counts.get_mut(last.min(bits as usize)) {
            *count += 1;
        }
    }
}

/// The published table, as the data plane and readers see it. Owned by the writer.
pub(crate) struct Publisher {
    table: Arc<ArcSwap<Table>>,
    published: Arc<ArcSwap<Snapshot>>,
    /// Retired tables, dropped here: a worker that dropped the last reference would pause its
    /// requests to free the table.
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

    /// Publishes `table`.
    pub(crate) fn publish(&self, table: Table) {
        weir_server::set_limits(table.loaded.compiler.take_limits());
        self.published.store(Arc::clone(&table.snapshot));
        let before = self.table.swap(Arc::new(table));
        self.retired.borrow_mut().push(before);
    }

    /// Drops retired tables that are unused; returns whether none is left.
    pub(crate) fn free_unused(&self) -> bool {
        let mut retired = self.retired.borrow_mut();
        retired
            .retain(|table| Arc::strong_count(table) > 1 || Arc::strong_count(&table.snapshot) > 1);
        retired.is_empty()
    }

    /// Counts a transaction of `changes`.
    pub(crate) fn count(&self, changes: usize, write: Duration, publish: Duration) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.count(changes, write, publish);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ChangeTimes;

    fn check(micros: &[u64], per_mille: u64, expected: u64) {
        let mut times = ChangeTimes::default();
        for micros in micros {
            times.count(1, Duration::ZERO, Duration::from_micros(*micros));
        }
        assert_eq!(times.publish_within(per_mille), Duration::from_micros(expected));
    }

    #[test]
    fn quantiles_are_rounded_up_to_powers_of_two() {
        check(&[], 999, 0);
        check(&[0], 999, 1);
        check(&[5], 1, 8);
        check(&[1, 2, 3, 4], 500, 4);
        check(&[1, 2, 3, 4], 1_000, 8);
        check(&[1, 1, 1, 1_000], 750, 2);
        check(&[1, 1, 1, 1_000], 751, 1_024);
        check(&[u64::MAX], 500, 1 << 31);
    }
}
