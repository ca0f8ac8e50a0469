//! The store's file: opening, reading, committing, and reopening after a failure.

use std::fs::{self, File};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use redb::{
    Builder, Database, DatabaseError, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageBackend,
};

use crate::audit::AuditEntry;
use crate::error::{StoreError, StoreErrorKind};
use crate::place::Place;
use crate::polite::PoliteFile;
use crate::record::StoredRoute;
use crate::transaction::{AUDIT, IDS, META, META_FORMAT, META_REVISION, ROUTES, Transaction};

/// Name of the file in the store's directory.
pub const FILE_NAME: &str = "routes.redb";
/// Name of the file with the id of the last process that opened the store.
const OWNER_NAME: &str = "routes.pid";
/// Layout of the tables that this version reads and writes.
const FORMAT: u64 = 1;

/// Bounds of the store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Entries kept in the audit log; older ones are dropped (10,000).
    pub audit_entries_max: u64,
    /// Memory for cached pages in bytes (4 MiB).
    pub cache_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { audit_entries_max: 10_000, cache_bytes: 4 * 1024 * 1024 }
    }
}

type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send + Sync>;

/// The route store. Readers do not wait for the writer; there is one writer at a time.
pub struct Store {
    place: Place,
    open: Open,
    /// `None` after a failure, until [`Store::reopen`].
    database: RwLock<Option<Database>>,
}

impl Store {
    /// Opens the store in `directory`, creating both if necessary.
    ///
    /// # Errors
    /// See [`StoreErrorKind`].
    pub fn open(directory: &Path, options: Options) -> Result<Self, StoreError> {
        let path = directory.join(FILE_NAME);
        make_directory(directory).map_err(|error| StoreError::io(directory, "create", &error))?;
        let file = path.clone();
        let store = Self::over(path, options, move || {
            let file = PoliteFile::open(&file)?;
            Builder::new().set_cache_size(options.cache_bytes).create_with_backend(file)
        })
        .map_err(|error| error.by_owner(owner(directory)))?;
        let note = directory.join(OWNER_NAME);
        fs::write(&note, std::process::id().to_string())
            .map_err(|error| StoreError::io(&note, "write", &error))?;
        // The file's directory entry must survive a crash, not only its content.
        let synced = File::open(directory).and_then(|handle| handle.sync_all());
        synced.map_err(|error| StoreError::io(directory, "sync", &error))?;
        Ok(store)
    }

    /// Opens a store over another storage backend, which `layer` makes for each (re)opening. For
    /// tests with failing storage.
    ///
    /// # Errors
    /// See [`StoreErrorKind`].
    pub fn open_over<B: StorageBackend>(
        options: Options,
        layer: impl Fn() -> B + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        Self::over(PathBuf::from(FILE_NAME), options, move || {
            Builder::new().set_cache_size(options.cache_bytes).create_with_backend(layer())
        })
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Changes the store: runs `change`, makes all of it durable, then returns. If `change` or the
    /// commit fails, nothing of it counts.
    ///
    /// After a failed commit the store is closed until [`Store::reopen`].
    ///
    /// # Errors
    /// Those of `change`, and of the file.
    pub fn commit<T>(
        &self,
        change: impl FnOnce(&mut Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = self.commit_once(change);
        if result.is_err() {
            // After an I/O error redb refuses every operation until it is reopened; only then is it
            // known what a failed commit left behind.
            *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        result
    }

    /// Opens the file again after a failure. Does nothing if the store is open.
    ///
    /// # Errors
    /// See [`StoreErrorKind`].
    pub fn reopen(&self) -> Result<(), StoreError> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if database.is_none() {
            *database = Some(open_checked(&self.place, &self.open)?);
        }
        Ok(())
    }

    /// Whether the store is closed because of a failure.
    pub fn is_closed(&self) -> bool {
        self.database.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Revision of the table; each change of a route increments it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn revision(&self) -> Result<u64, StoreError> {
        self.read(|under, place| {
            let meta = under.open_table(META).map_err(|e| place.database("read", e))?;
            let value = meta.get(META_REVISION).map_err(|e| place.database("read", e))?;
            Ok(value.map_or(0, |number| number.value()))
        })
    }

    /// Number of routes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn len(&self) -> Result<u64, StoreError> {
        self.read(|under, place| {
            let routes = under.open_table(ROUTES).map_err(|e| place.database("read", e))?;
            routes.len().map_err(|e| place.database("read", e))
        })
    }

    /// Whether there is no route.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.len()? == 0)
    }

    /// A range that contains all slots in use.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn slots(&self) -> Result<Range<u64>, StoreError> {
        self.read(|under, place| {
            let routes = under.open_table(ROUTES).map_err(|e| place.database("read", e))?;
            let first = routes.first().map_err(|e| place.database("read", e))?;
            let last = routes.last().map_err(|e| place.database("read", e))?;
            Ok(match (first, last) {
                (Some((first, _)), Some((last, _))) => first.value()..last.value() + 1,
                _ => 0..0,
            })
        })
    }

    /// Calls `visit` with the routes of these slots in order, from one consistent snapshot.
    ///
    /// # Errors
    /// The file cannot be read, or the first error of `visit`.
    pub fn scan<E: From<StoreError>>(
        &self,
        slots: Range<u64>,
        mut visit: impl FnMut(StoredRoute<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.read(|under, place| {
            let routes = under.open_table(ROUTES).map_err(|e| place.database("read", e))?;
            for entry in routes.range(slots).map_err(|e| place.database("read", e))? {
                let (slot, bytes) = entry.map_err(|e| place.database("read", e))?;
                let slot = slot.value();
                visit(
                    StoredRoute::decode(slot, bytes.value())
                        .map_err(|error| place.record(slot, &error))?,
                )?;
            }
            Ok(())
        })
    }

    /// Calls `visit` with those routes of these slots that exist, from one consistent snapshot.
    ///
    /// # Errors
    /// The file cannot be read, or the first error of `visit`.
    pub fn pick<E: From<StoreError>>(
        &self,
        slots: impl IntoIterator<Item = u64>,
        mut visit: impl FnMut(StoredRoute<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.read(|under, place| {
            let routes = under.open_table(ROUTES).map_err(|e| place.database("read", e))?;
            for slot in slots {
                let Some(bytes) = routes.get(slot).map_err(|e| place.database("read", e))? else {
                    continue;
                };
                visit(
                    StoredRoute::decode(slot, bytes.value())
                        .map_err(|error| place.record(slot, &error))?,
                )?;
            }
            Ok(())
        })
    }

    /// The slot of route `id`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn slot_of(&self, id: &str) -> Result<Option<u64>, StoreError> {
        self.read(|under, place| {
            let ids = under.open_table(IDS).map_err(|e| place.database("read", e))?;
            let slot = ids.get(id).map_err(|e| place.database("read", e))?;
            Ok(slot.map(|slot| slot.value()))
        })
    }

    /// The last `count` audit entries before sequence number `before` (`None`: the newest), newest
    /// first, each with its sequence number.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn audit(
        &self,
        before: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, AuditEntry)>, StoreError> {
        self.read(|under, place| {
            let audit = under.open_table(AUDIT).map_err(|e| place.database("read", e))?;
            let range = audit.range(..before.unwrap_or(u64::MAX));
            let mut entries = Vec::new();
            for entry in range.map_err(|e| place.database("read", e))?.rev().take(count) {
                let (sequence, bytes) = entry.map_err(|e| place.database("read", e))?;
                if let Some(entry) = AuditEntry::decode(bytes.value()) {
                    entries.push((sequence.value(), entry));
                }
            }
            Ok(entries)
        })
    }

    fn over(
        path: PathBuf,
        options: Options,
        open: impl Fn() -> Result<Database, DatabaseError> + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        let place = Place { path, audit_entries_max: options.audit_entries_max };
        let open: Open = Box::new(open);
        let database = open_checked(&place, &open)?;
        Ok(Self { place, open, database: RwLock::new(Some(database)) })
    }

    fn commit_once<T>(
        &self,
        change: impl FnOnce(&mut Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let guard = self.guard();
        let database = self.opened(&guard)?;
        let place = &self.place;
        let under = database.begin_write().map_err(|error| place.database("write", error))?;
        let mut transaction = Transaction::open(&under, place)?;
        let result = change(&mut transaction)?;
        if !transaction.close()? {
            under.abort().map_err(|error| place.database("write", error))?;
            return Ok(result);
        }
        under.commit().map_err(|error| place.database("commit", error))?;
        Ok(result)
    }

    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&ReadTransaction, &Place) -> Result<T, E>,
    ) -> Result<T, E> {
        let guard = self.guard();
        let database = self.opened(&guard)?;
        let under = database.begin_read().map_err(|error| self.place.database("read", error))?;
        read(&under, &self.place)
    }

    fn guard(&self) -> RwLockReadGuard<'_, Option<Database>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened<'g>(
        &self,
        guard: &'g RwLockReadGuard<'_, Option<Database>>,
    ) -> Result<&'g Database, StoreError> {
        guard.as_ref().ok_or_else(|| {
            let detail = "closed after an earlier failure";
            StoreError::new(StoreErrorKind::Io, &self.place.path, "use", detail)
        })
    }
}

/// Opens the file, creates the tables if it is new, and checks that this version can read it.
fn open_checked(place: &Place, open: &Open) -> Result<Database, StoreError> {
    // redb asserts on some damaged files instead of returning an error.
    let opened = catch_unwind(AssertUnwindSafe(open)).map_err(|_| {
        StoreError::new(StoreErrorKind::Corrupt, &place.path, "open", "the file is damaged")
    })?;
    let database = opened.map_err(|error| place.database("open", error))?;
    let under = database.begin_write().map_err(|error| place.database("open", error))?;
    {
        let mut meta = under.open_table(META).map_err(|error| place.database("open", error))?;
        let found = meta.get(META_FORMAT).map_err(|error| place.database("open", error))?;
        match found.map(|format| format.value()) {
            Some(FORMAT) => return Ok(database),
            Some(other) => {
                let detail = format!("format {other}, this weir knows {FORMAT}");
                return Err(StoreError::new(StoreErrorKind::Newer, &place.path, "open", detail));
            }
            None => {}
        }
        meta.insert(META_FORMAT, FORMAT).map_err(|error| place.database("open", error))?;
        under.open_table(ROUTES).map_err(|error| place.database("open", error))?;
        under.open_table(IDS).map_err(|error| place.database("open", error))?;
        under.open_table(AUDIT).map_err(|error| place.database("open", error))?;
    }
    under.commit().map_err(|error| place.database("open", error))?;
    Ok(database)
}

/// Routes may contain credentials, so a new directory is accessible to its owner only.
fn make_directory(directory: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
/// Id of the last process that opened the store in `directory`, if it is recorded.
fn owner(directory: &Path) -> Option<u32> {
    fs::read_to_string(directory.join(OWNER_NAME)).ok()?.trim().parse().ok()
}
