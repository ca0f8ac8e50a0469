//! Puts a large table on huge pages once it is made, and again when much of it has changed.

use std::time::Duration;

use weir_control::Control;
use weir_server::{use_huge_pages, yield_to_traffic};

/// The interval at which the number of changes is read.
const PERIOD: Duration = Duration::from_secs(1);
/// A smaller table occupies few pages anyway.
const ROUTES_MIN: usize = 10_000;
/// After changes of this share of the routes it is done again.
const CHANGED_SHARE: u64 = 8;

/// The state of the last move to huge pages.
#[derive(Default)]
pub struct Heap {
    /// Changes made when it was done last; `None` if that was with another table.
    changes: Option<u64>,
}

impl Heap {
    /// Returns when a large table is new or has changed much, and has changed no more for a moment.
    pub async fn outdated(&self, control: &Control) {
        let mut last = None;
        loop {
            let now = control.change_times().changes;
            let published = control.published();
            let snapshot = published.load();
            let routes = snapshot.index.len();
            let wanted = snapshot.settings.huge_pages && routes >= ROUTES_MIN;
            drop(snapshot);
            let changed = |at| now - at > routes as u64 / CHANGED_SHARE;
            if wanted && last == Some(now) && self.changes.is_none_or(changed) {
                return;
            }
            last = Some(now);
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// Notes that the table was replaced.
    pub fn is_new(&mut self) {
        self.changes = None;
    }

    /// Moves the table to huge pages, in a thread of its own at low priority.
    pub fn renew(&mut self, control: &Control) {
        self.changes = Some(control.change_times().changes);
        let moving = || {
            yield_to_traffic();
            let bytes = use_huge_pages();
            tracing::debug!(bytes, "on huge pages");
        };
        // Without the thread the gateway runs on normal pages.
        let thread = std::thread::Builder::new().name("weir-heap".to_owned()).spawn(moving);
        drop(thread);
    }
}
