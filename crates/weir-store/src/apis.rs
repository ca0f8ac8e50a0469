//! API definitions, stored beside the routes by name, each with the revision of its last change.
//! The table is created with the first definition, so the file of a store without any does not
//! change.

use redb::{ReadTransaction, TableDefinition, TableError};

use crate::error::{StoreError, StoreErrorKind};
use crate::place::Place;
use crate::store::Store;
use crate::transaction::{META, META_APIS_REVISION, Transaction};

/// Name to record.
const APIS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("apis");
/// Version of the encoding; the first byte of each record. The revision follows, then the text.
const FORMAT: u8 = 1;

/// A stored API definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredApi<'a> {
    /// Name of the definition.
    pub name: &'a str,
    /// Revision of the definitions at its last change.
    pub revision: u64,
    /// The definition, byte for byte as written.
    pub bytes: &'a [u8],
}

impl<'a> StoredApi<'a> {
    /// Reads a record.
    ///
    /// # Errors
    /// The reason, in words, if the record is invalid.
    pub fn decode(name: &'a str, record: &'a [u8]) -> Result<Self, String> {
        let (&format, rest) = record.split_first().ok_or("cut short")?;
        if format != FORMAT {
            return Err(format!("format {format}, this weir knows {FORMAT}"));
        }
        let (revision, bytes) = rest.split_first_chunk::<8>().ok_or("cut short")?;
        Ok(Self { name, revision: u64::from_le_bytes(*revision), bytes })
    }
}

impl Store {
    /// Revision of the API definitions; each change of a definition increments it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn apis_revision(&self) -> Result<u64, StoreError> {
        self.read(|under, place| {
            let meta = under.open_table(META).map_err(|e| place.database("read", e))?;
            let value = meta.get(META_APIS_REVISION).map_err(|e| place.database("read", e))?;
            Ok(value.map_or(0, |number| number.value()))
        })
    }

    /// The API definition `name`, with its revision.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn api(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        self.read(|under, place| {
            let Some(table) = open(under, place)? else { return Ok(None) };
            let Some(record) = table.get(name).map_err(|e| place.database("read", e))? else {
                return Ok(None);
            };
            let stored = StoredApi::decode(name, record.value());
            let stored = stored.map_err(|why| damaged(place, name, &why))?;
            Ok(Some((stored.revision, stored.bytes.to_vec())))
        })
    }

    /// Calls `visit` with each API definition in order of name, from one consistent snapshot.
    ///
    /// # Errors
    /// The file cannot be read, or the first error of `visit`.
    pub fn scan_apis<E: From<StoreError>>(
        &self,
        mut visit: impl FnMut(StoredApi<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.read(|under, place| {
            let Some(table) = open(under, place)? else { return Ok(()) };
            for entry in table.range::<&str>(..).map_err(|e| place.database("read", e))? {
                let (name, record) = entry.map_err(|e| place.database("read", e))?;
                let name = name.value();
                let stored = StoredApi::decode(name, record.value());
                visit(stored.map_err(|why| damaged(place, name, &why))?)?;
            }
            Ok(())
        })
    }
}

impl Transaction<'_> {
    /// Writes an API definition under its name and returns its revision.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put_api(&mut self, name: &str, bytes: &[u8]) -> Result<u64, StoreError> {
        let revision = self.next_api_revision()?;
        let place = self.place;
        let mut record = std::mem::take(&mut self.scratch);
        record.clear();
        record.push(FORMAT);
        record.extend_from_slice(&revision.to_le_bytes());
        record.extend_from_slice(bytes);
        if let Some(table) = &mut self.apis {
            table.insert(name, record.as_slice()).map_err(|e| place.database("write", e))?;
        }
        self.scratch = record;
        Ok(revision)
    }

    /// Removes the API definition `name` and returns whether it existed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn delete_api(&mut self, name: &str) -> Result<bool, StoreError> {
        self.next_api_revision()?;
        let place = self.place;
        let Some(table) = &mut self.apis else { return Ok(false) };
        let removed = table.remove(name).map_err(|e| place.database("write", e))?;
        Ok(removed.is_some())
    }

    /// Opens the table and increments the revision.
    fn next_api_revision(&mut self) -> Result<u64, StoreError> {
        if self.apis.is_none() {
            let table = self.under.open_table(APIS);
            self.apis = Some(table.map_err(|e| self.place.database("write", e))?);
        }
        let before = match self.apis_revision {
            Some(revision) => revision,
            None => self.number(META_APIS_REVISION)?,
        };
        self.apis_revision = Some(before + 1);
        self.changed = true;
        Ok(before + 1)
    }
}

/// The table, if it exists.
fn open(
    under: &ReadTransaction,
    place: &Place,
) -> Result<Option<redb::ReadOnlyTable<&'static str, &'static [u8]>>, StoreError> {
    match under.open_table(APIS) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(place.database("read", error)),
    }
}

fn damaged(place: &Place, name: &str, why: &str) -> StoreError {
    let detail = format!("definition {name}: {why}");
    StoreError::new(StoreErrorKind::Corrupt, &place.path, "read", detail)
}
