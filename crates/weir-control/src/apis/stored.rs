//! Reads the definitions of the store and prepares them on all cores: preparation dominates the
//! start with many definitions.

use std::num::NonZeroUsize;

use weir_config::CommonMocks;
use weir_mock::MockSet;
use weir_store::{Store, StoreError};

use super::{ApiKey, Entry, Served, Shelf, room};
use crate::table::Problem;

/// Limits, in definitions and bytes, of a batch to prepare; a batch takes memory in addition to the
/// prepared definitions.
const BATCH_MAX: usize = 2_000;
const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Threads at most.
const THREADS_MAX: usize = 16;

/// A definition as it is stored.
struct Record {
    key: ApiKey,
    revision: u64,
    bytes: Vec<u8>,
}

/// A served definition, or its errors.
type Ready = Result<Served, Vec<Problem>>;

/// All definitions of the store, and the mocks that serve them.
pub(super) fn read(store: &Store, common: &CommonMocks) -> Result<(Shelf, MockSet), StoreError> {
    let mut all = All {
        shelf: Shelf::new(0, common),
        mocks: MockSet::named(&common.options, common.tenants.form.clone()),
        batch: Vec::new(),
        bytes: 0,
    };
    store.scan_apis::<StoreError>(|stored| {
        all.bytes += stored.bytes.len();
        let (key, bytes) = (ApiKey::of_stored(stored.name), stored.bytes.to_vec());
        all.batch.push(Record { key, revision: stored.revision, bytes });
        if all.batch.len() >= BATCH_MAX || all.bytes >= BATCH_BYTES_MAX {
            all.keep_batch();
        }
        Ok(())
    })?;
    all.keep_batch();
    all.shelf.revision = store.apis_revision()?;
    room::warn(&all.shelf);
    Ok((all.shelf, all.mocks))
}

/// The definitions read so far.
struct All {
    shelf: Shelf,
    mocks: MockSet,
    /// Of which nothing is made yet.
    batch: Vec<Record>,
    bytes: usize,
}

impl All {
    fn keep_batch(&mut self) {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let ready = ready_all(&batch, &self.shelf.common);
        for (record, served) in batch.iter().zip(ready) {
            let written = (record.revision, record.bytes.len() as u64);
            self.shelf.keep(&mut self.mocks, &record.key, written, served);
        }
    }
}

/// Prepares each of `batch`, in its order.
fn ready_all(batch: &[Record], common: &CommonMocks) -> Vec<Ready> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = batch.len().div_ceil(threads.min(THREADS_MAX)).max(1);
    let ready_each =
        |part: &[Record]| part.iter().map(|record| ready(record, common)).collect::<Vec<_>>();
    let mut parts = batch.chunks(share);
    let own = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| {
                let spawned =
                    std::thread::Builder::new().spawn_scoped(scope, move || ready_each(part));
                (part, spawned)
            })
            .collect();
        let mut all = ready_each(own);
        for (part, spawned) in others {
            let made = spawned.ok().and_then(|thread| thread.join().ok());
            // Without a thread, it is made here.
            all.extend(made.unwrap_or_else(|| ready_each(part)));
        }
        all
    })
}

fn ready(record: &Record, common: &CommonMocks) -> Ready {
    let value = serde_json::from_slice(&record.bytes);
    let value = value.map_err(|error| vec![Problem::new("", error.to_string())])?;
    let ApiKey { tenant, name } = &record.key;
    Served::new(Entry::read(Some(tenant), Some(name), value)?.mount_known()?, common)
}
