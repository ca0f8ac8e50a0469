//! Path of a store, for its error messages.

use std::path::PathBuf;

use crate::error::{StoreError, StoreErrorKind};
use crate::record::RecordError;

/// Path of the store, for messages, and the bound of its audit log.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) audit_entries_max: u64,
}

impl Place {
    pub(crate) fn database(
        &self,
        doing: &'static str,
        error: impl Into<redb::Error>,
    ) -> StoreError {
        StoreError::database(&self.path, doing, error)
    }

    pub(crate) fn record(&self, slot: u64, error: &RecordError) -> StoreError {
        let kind = match error {
            RecordError::Newer(_) => StoreErrorKind::Newer,
            RecordError::Short => StoreErrorKind::Corrupt,
        };
        StoreError::new(kind, &self.path, "read", format!("record {slot}: {error}"))
    }
}
