//! An atomic, durable change of the store.

use redb::{ReadableTable, ReadableTableMetadata, Table, TableDefinition, WriteTransaction};

use crate::audit::AuditEntry;
use crate::error::{StoreError, StoreErrorKind};
use crate::place::Place;
use crate::record::{Encoded, StoredRoute};

/// Slot to record.
pub(crate) const ROUTES: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("routes");
/// Route id to slot.
pub(crate) const IDS: TableDefinition<'static, &str, u64> = TableDefinition::new("ids");
/// Sequence number to entry.
pub(crate) const AUDIT: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("audit");
/// Counters of the store as a whole.
pub(crate) const META: TableDefinition<'static, &str, u64> = TableDefinition::new("meta");

pub(crate) const META_FORMAT: &str = "format";
pub(crate) const META_REVISION: &str = "revision";
const META_NEXT_SLOT: &str = "next-slot";
pub(crate) const META_APIS_REVISION: &str = "apis-revision";

/// Result of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// Slot of the route.
    pub slot: u64,
    /// New revision of the route.
    pub revision: u64,
    /// Whether the route existed before.
    pub replaced: bool,
}

/// An open change, passed to the closure of [`crate::Store::commit`]. It reads its own writes.
pub struct Transaction<'t> {
    routes: Table<'t, u64, &'static [u8]>,
    ids: Table<'t, &'static str, u64>,
    audit: Table<'t, u64, &'static [u8]>,
    meta: Table<'t, &'static str, u64>,
    pub(crate) under: &'t WriteTransaction,
    /// Opened when an API definition is written.
    pub(crate) apis: Option<Table<'t, &'static str, &'static [u8]>>,
    /// Revision of the API definitions, once it has been read.
    pub(crate) apis_revision: Option<u64>,
    pub(crate) place: &'t Place,
    revision: u64,
    next_slot: u64,
    pub(crate) changed: bool,
    pub(crate) scratch: Vec<u8>,
}

impl<'t> Transaction<'t> {
    pub(crate) fn open(under: &'t WriteTransaction, place: &'t Place) -> Result<Self, StoreError> {
        let fail = |error| place.database("write", error);
        let meta = under.open_table(META).map_err(fail)?;
        let number = |name| -> Result<u64, StoreError> {
            let found = meta.get(name).map_err(|error| place.database("write", error))?;
            Ok(found.map_or(0, |value| value.value()))
        };
        let (revision, next_slot) = (number(META_REVISION)?, number(META_NEXT_SLOT)?);
        Ok(Self {
            routes: under.open_table(ROUTES).map_err(fail)?,
            ids: under.open_table(IDS).map_err(fail)?,
            audit: under.open_table(AUDIT).map_err(fail)?,
            meta,
            under,
            apis: None,
            apis_revision: None,
            place,
            revision,
            next_slot,
            changed: false,
            scratch: Vec::new(),
        })
    }

    /// Revision of the table, including this change so far.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Number of routes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn len(&self) -> Result<u64, StoreError> {
        self.routes.len().map_err(|error| self.place.database("read", error))
    }

    /// Whether there is no route.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.len()? == 0)
    }

    /// Slot and revision of route `id`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find(&self, id: &str) -> Result<Option<(u64, u64)>, StoreError> {
        let fail = |error| self.place.database("read", error);
        let Some(slot) = self.ids.get(id).map_err(fail)?.map(|slot| slot.value()) else {
            return Ok(None);
        };
        let Some(bytes) = self.routes.get(slot).map_err(fail)? else { return Ok(None) };
        let route = StoredRoute::decode(slot, bytes.value())
            .map_err(|error| self.place.record(slot, &error))?;
        Ok(Some((slot, route.revision)))
    }

    /// Slot of route `id`, or the slot that it will get when it is put.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn slot_for(&self, id: &str) -> Result<u64, StoreError> {
        let known = self.ids.get(id).map_err(|error| self.place.database("read", error))?;
        Ok(known.map_or(self.next_slot, |slot| slot.value()))
    }

    /// Calls `visit` with all routes in order.
    ///
    /// # Errors
    /// The file cannot be read, or the first error of `visit`.
    pub fn scan<E: From<StoreError>>(
        &self,
        mut visit: impl FnMut(StoredRoute<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let place = self.place;
        for entry in self.routes.iter().map_err(|error| place.database("read", error))? {
            let (slot, bytes) = entry.map_err(|error| place.database("read", error))?;
            let slot = slot.value();
            visit(
                StoredRoute::decode(slot, bytes.value())
                    .map_err(|error| place.record(slot, &error))?,
            )?;
        }
        Ok(())
    }

    /// A counter of the store; 0 if it is missing.
    pub(crate) fn number(&self, name: &str) -> Result<u64, StoreError> {
        let found = self.meta.get(name).map_err(|error| self.place.database("read", error))?;
        Ok(found.map_or(0, |value| value.value()))
    }

    /// Increments the revision without a change of a route and returns it.
    pub fn touch(&mut self) -> u64 {
        self.revision += 1;
        self.changed = true;
        self.revision
    }

    /// Writes a route under its id. An overwritten route keeps its slot, as in SCG's
    /// `InMemoryRouteDefinitionRepository`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&mut self, route: &Encoded) -> Result<Put, StoreError> {
        let place = self.place;
        let fail = |error| place.database("write", error);
        let id = route.id();
        let known = self.ids.get(id).map_err(fail)?.map(|slot| slot.value());
        let slot = known.unwrap_or(self.next_slot);
        if known.is_none() {
            self.next_slot += 1;
            self.ids.insert(id, slot).map_err(fail)?;
        }
        self.revision += 1;
        self.changed = true;
        route.write(self.revision, &mut self.scratch);
        self.routes.insert(slot, self.scratch.as_slice()).map_err(fail)?;
        Ok(Put { slot, revision: self.revision, replaced: known.is_some() })
    }

    /// Removes route `id` and returns its slot.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn delete(&mut self, id: &str) -> Result<Option<u64>, StoreError> {
        let place = self.place;
        let fail = |error| place.database("write", error);
        let Some(slot) = self.ids.remove(id).map_err(fail)?.map(|slot| slot.value()) else {
            return Ok(None);
        };
        self.routes.remove(slot).map_err(fail)?;
        self.revision += 1;
        self.changed = true;
        Ok(Some(slot))
    }

    /// Appends to the audit log and drops the oldest entries beyond the bound.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&mut self, entry: &AuditEntry) -> Result<(), StoreError> {
        let place = self.place;
        let fail = |error| place.database("write", error);
        self.changed = true;
        let bytes = entry
            .encode()
            .map_err(|error| StoreError::new(StoreErrorKind::Io, &place.path, "encode", error))?;
        let last = self.audit.last().map_err(fail)?.map_or(0, |(sequence, _)| sequence.value());
        self.audit.insert(last + 1, bytes.as_slice()).map_err(fail)?;
        while self.audit.len().map_err(fail)? > place.audit_entries_max {
            self.audit.pop_first().map_err(fail)?;
        }
        Ok(())
    }

    /// Writes the counters, as the last step before the commit. Returns whether there is anything
    /// to commit.
    pub(crate) fn close(mut self) -> Result<bool, StoreError> {
        if !self.changed {
            return Ok(false);
        }
        let place = self.place;
        let fail = |error| place.database("write", error);
        self.meta.insert(META_REVISION, self.revision).map_err(fail)?;
        self.meta.insert(META_NEXT_SLOT, self.next_slot).map_err(fail)?;
        if let Some(revision) = self.apis_revision {
            self.meta.insert(META_APIS_REVISION, revision).map_err(fail)?;
        }
        Ok(true)
    }
}
