//! Failures of the store's file, classified by what the operator has to do about them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Kind of failure, by remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// No space, quota or file size left (ENOSPC, EDQUOT, EFBIG).
    Full,
    /// The file system is mounted read-only (EROFS).
    ReadOnly,
    /// Permission denied (EACCES, EPERM).
    Denied,
    /// Another process has the file open.
    Locked,
    /// Not a store, or damaged.
    Corrupt,
    /// Written by a newer version of weir.
    Newer,
    /// The device failed (EIO), or any other error of the operating system.
    Io,
}

/// A failed operation on the store. Treat the operation as not done; after a failed commit, only
/// [`crate::Store::reopen`] tells whether it reached the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// Kind of failure.
    pub kind: StoreErrorKind,
    /// The store's file.
    pub path: PathBuf,
    /// Operation that failed, such as `open` or `commit`.
    pub doing: &'static str,
    /// Message of the layer below.
    pub detail: String,
}

impl StoreError {
    /// Advice for the operator.
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            StoreErrorKind::Full => {
                "free space on the file system of `weir.store.path`, then retry"
            }
            StoreErrorKind::ReadOnly => {
                "remount the file system writable, or point `weir.store.path` (--data) elsewhere"
            }
            StoreErrorKind::Denied => {
                "make the directory readable and writable for the user weir runs as, or point \
                 `weir.store.path` (--data) elsewhere"
            }
            StoreErrorKind::Locked => {
                "end the other weir that uses this directory, or give this one its own with \
                 `weir.store.path` (--data)"
            }
            StoreErrorKind::Corrupt => {
                "restore the file from a backup, or move it away: weir then starts without routes \
                 of its own"
            }
            StoreErrorKind::Newer => "run the weir that wrote it, or a later one",
            StoreErrorKind::Io => "look at the device and the system log, then retry",
        }
    }

    /// The same error, naming the process that holds the lock.
    pub(crate) fn by_owner(mut self, owner: Option<u32>) -> Self {
        if let (StoreErrorKind::Locked, Some(process)) = (self.kind, owner) {
            self.detail = format!("another weir uses it, process {process}");
        }
        self
    }

    pub(crate) fn new(
        kind: StoreErrorKind,
        path: &Path,
        doing: &'static str,
        detail: impl fmt::Display,
    ) -> Self {
        Self { kind, path: path.to_owned(), doing, detail: detail.to_string() }
    }

    /// An error of the operating system.
    pub(crate) fn io(path: &Path, doing: &'static str, error: &io::Error) -> Self {
        Self::new(kind_of_io(error), path, doing, error)
    }

    /// An error of the database layer.
    pub(crate) fn database(
        path: &Path,
        doing: &'static str,
        error: impl Into<redb::Error>,
    ) -> Self {
        let error = error.into();
        let kind = match &error {
            redb::Error::Io(io) => kind_of_io(io),
            redb::Error::DatabaseAlreadyOpen => StoreErrorKind::Locked,
            redb::Error::UpgradeRequired(_) => StoreErrorKind::Newer,
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => StoreErrorKind::Io,
            _ => StoreErrorKind::Corrupt,
        };
        Self::new(kind, path, doing, error)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            StoreErrorKind::Full => "no space left",
            StoreErrorKind::ReadOnly => "read-only",
            StoreErrorKind::Denied => "not allowed",
            StoreErrorKind::Locked => "in use by another process",
            StoreErrorKind::Corrupt => "not readable as a store",
            StoreErrorKind::Newer => "written by a newer version",
            StoreErrorKind::Io => "input/output error",
        };
        write!(f, "{} {}: {what} ({})", self.doing, self.path.display(), self.detail)
    }
}

impl std::error::Error for StoreError {}

fn kind_of_io(error: &io::Error) -> StoreErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::WriteZero => StoreErrorKind::Full,
        io::ErrorKind::ReadOnlyFilesystem => StoreErrorKind::ReadOnly,
        io::ErrorKind::PermissionDenied => StoreErrorKind::Denied,
        // redb's error for a file that is truncated or lacks its magic number.
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => StoreErrorKind::Corrupt,
        io::ErrorKind::WouldBlock => StoreErrorKind::Locked,
        _ => StoreErrorKind::Io,
    }
}
