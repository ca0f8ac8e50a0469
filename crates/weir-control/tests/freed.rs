//! A replaced table is freed by its writer, as soon as it is unused.

mod common;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use common::{control, route};
use weir_control::{Condition, Control, Filter};
use weir_snapshot::Snapshot;

/// The time limit for events that should happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

async fn put(control: &Control, id: &str) {
    let done = control.put(route(id, "http://x"), Condition::Any, "test".into()).await;
    done.expect("a put");
}

async fn wait_until_freed(snapshot: &Weak<Snapshot>) {
    let since = Instant::now();
    while snapshot.strong_count() > 0 {
        assert!(since.elapsed() < PATIENCE, "{} still use it", snapshot.strong_count());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_table_of_before_is_freed_by_the_writer() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[]);
    put(&table, "a").await;
    let published = table.published();
    let used = published.load_full();
    let before = Arc::downgrade(&used);
    put(&table, "b").await;
    // A worker with a request under way lets go of its table later, and need not free it.
    assert!(Arc::strong_count(&used) > 1, "the worker would have to free it");
    drop(used);
    wait_until_freed(&before).await;
}

#[tokio::test]
async fn tables_between_are_freed_while_one_before_them_is_in_use() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[]);
    let first = table.published().load_full();
    let mut between = Vec::new();
    for id in ["a", "b", "c"] {
        put(&table, id).await;
        between.push(Arc::downgrade(&table.published().load_full()));
    }
    let last = between.pop().expect("three");
    for snapshot in &between {
        wait_until_freed(snapshot).await;
    }
    assert_eq!((first.index.len(), last.strong_count() > 0), (0, true));
}

#[tokio::test]
async fn removing_everything_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[]);
    let empty = table.view().snapshot().memory();
    for n in 0..300 {
        put(&table, &format!("route-{n}")).await;
    }
    let full = table.view().snapshot().memory();
    assert!(full.routes > 300 * 100 && full.index > empty.index, "{full:?}");
    let done = table.delete_matching(Filter::default(), "test".into()).await.expect("removed");
    assert_eq!(done.deleted, 300);
    let view = table.view();
    assert_eq!(view.count(None, &Filter::default()).expect("a count"), 0);
    assert_eq!(view.snapshot().memory(), empty);
    assert_eq!(table.change_times().changes, 600);
}
