//! The store's file, written so that other threads can run between pages.

use std::io;
use std::ops::Bound;
use std::path::Path;
use std::thread::yield_now;

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// A file whose writer yields its core before each page. A transaction of one change takes 0.2 ms,
/// and the scheduler lets a thread run that long while another waits for the core, even one of
/// higher priority.
#[derive(Debug)]
pub(crate) struct PoliteFile(FileBackend);

impl PoliteFile {
    /// Opens the file, creating it if necessary.
    pub(crate) fn open(path: &Path) -> Result<Self, DatabaseError> {
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        FileBackend::new(file).map(Self)
    }
}

impl StorageBackend for PoliteFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        yield_now();
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        yield_now();
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}
