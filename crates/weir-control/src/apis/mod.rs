//! API definitions of the store, and their only writer.
//!
//! A change is validated as a whole and compiled, then written durably, then published with one
//! swap below the routes, which do not change. Unchanged definitions are shared with the previous
//! version, so that the cost does not grow with their number. All methods may block.

mod entry;
mod key;
mod room;
mod shelf;
mod stored;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use weir_config::CommonMocks;
use weir_mock::{MockSet, MockTable};
use weir_store::{AuditAction, AuditEntry, Store, StoreError};

use crate::table::{Condition, Done, Problem, Refusal};
pub use entry::{Entry, check_name, check_tenant};
pub use key::ApiKey;
use shelf::too_many_shapes;
pub use shelf::{Definitions, Kept, Served, Shelf};
use stored::read;

/// The attempts, and the wait between them, to free replaced definitions once no request uses them.
const FREE_TRIES: u32 = 100;
const FREE_WAIT: Duration = Duration::from_millis(1);

/// The definitions of the store. Readers do not wait for a change.
pub struct Apis {
    store: Arc<Store>,
    table: Arc<MockTable>,
    shelf: ArcSwap<Shelf>,
    /// Held by the writer.
    writing: Mutex<()>,
}

/// The author and the time of a change.
#[derive(Clone, Debug)]
pub struct By {
    /// As the audit log names them.
    pub who: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// Definitions that have been checked, to be written in one change.
pub struct Checked {
    entry: Entry,
    served: Served,
}

impl Apis {
    /// Serves the definitions of `store` through `table`. Invalid ones are logged and left out.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn start(
        store: Arc<Store>,
        table: Arc<MockTable>,
        common: &CommonMocks,
    ) -> Result<Self, StoreError> {
        let (shelf, mocks) = read(&store, common)?;
        let apis = Self { store, table, shelf: ArcSwap::default(), writing: Mutex::new(()) };
        apis.publish(shelf, mocks);
        Ok(apis)
    }

    /// The current definitions.
    pub fn shelf(&self) -> Arc<Shelf> {
        self.shelf.load_full()
    }

    /// A definition as it was written, with its revision.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn written(&self, key: &ApiKey) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        self.store.api(&key.to_string())
    }

    /// The mocks that serve requests.
    pub fn served(&self) -> Arc<MockSet> {
        self.table.current()
    }

    /// Checks a definition on its own.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn check(&self, entry: Entry) -> Result<Checked, Vec<Problem>> {
        let common = &self.shelf.load().common;
        let served = Served::new(entry.mount()?, common)?;
        Ok(Checked { entry, served })
    }

    /// Writes a definition.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn put(&self, checked: Checked, when: &Condition, by: By) -> Result<Done, Refusal> {
        let key = checked.entry.key.clone();
        self.change(vec![checked], &[], Some((&key, when)), by)
    }

    /// Writes many definitions in one swap, or none of them. Of equal names the last one counts.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn import(&self, checked: Vec<Checked>, by: By) -> Result<Done, Refusal> {
        self.change(checked, &[], None, by)
    }

    /// Removes a definition.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn delete(&self, key: &ApiKey, when: &Condition, by: By) -> Result<Done, Refusal> {
        if *when == Condition::Any && self.shelf.load().get(key).is_none() {
            return Err(Refusal::NotFound);
        }
        self.change(Vec::new(), std::slice::from_ref(key), Some((key, when)), by)
    }

    /// Removes definitions in one swap.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn delete_all(&self, keys: &[ApiKey], by: By) -> Result<Done, Refusal> {
        self.change(Vec::new(), keys, None, by)
    }

    /// Serves all definitions under another configuration.
    pub fn configure(&self, common: &CommonMocks) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = self.shelf.load_full();
        if shelf.common == *common {
            return;
        }
        let mut next = Shelf::new(shelf.revision, common);
        let mut mocks = MockSet::named(&common.options, common.tenants.form.clone());
        for (tenant, own) in shelf.owners() {
            for (name, kept) in own.iter() {
                let served = match &kept.served {
                    Ok(served) => Served::new(served.mount.clone(), common),
                    Err(problems) => Err(problems.clone()),
                };
                let written = (kept.revision, kept.bytes);
                next.keep(&mut mocks, &ApiKey::new(tenant, name), written, served);
            }
        }
        room::warn(&next);
        self.publish(next, mocks);
    }

    fn change(
        &self,
        puts: Vec<Checked>,
        deletes: &[ApiKey],
        condition: Option<(&ApiKey, &Condition)>,
        by: By,
    ) -> Result<Done, Refusal> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.recover()?;
        let mut next = Shelf::clone(&self.shelf.load());
        if let Some((key, condition)) = condition {
            let known = next.get(key).map(|kept| kept.revision);
            if !condition.holds(known) {
                return Err(Refusal::Changed(known));
            }
        }
        let mut mocks = MockSet::clone(&self.table.current());
        let mut done = Done::default();
        let mut gone = Vec::new();
        for key in deletes {
            if next.remove(key).is_some() {
                mocks.remove(&key.tenant, &key.name);
                gone.push(key.to_string());
            }
        }
        let mut records = Vec::with_capacity(puts.len());
        let mut written_to = BTreeSet::new();
        for Checked { entry, served } in puts {
            let key = entry.key.clone();
            let added = mocks.put(&key.tenant, Arc::clone(&served.mounted));
            added.map_err(|why| Refusal::Invalid(vec![too_many_shapes(why)]))?;
            let stored = entry.bytes();
            let bytes = stored.len() as u64;
            records.push((key.to_string(), stored));
            let revision = next.revision + records.len() as u64;
            let kept = Arc::new(Kept { revision, bytes, served: Ok(served) });
            match next.insert(&key, kept) {
                Some(_) => done.replaced += 1,
                None => done.created += 1,
            }
            written_to.insert(key.tenant);
        }
        room::check(&self.shelf.load(), &next, &written_to).map_err(Refusal::Invalid)?;
        done.deleted = gone.len() as u64;
        next.revision += records.len() as u64 + done.deleted;
        done.revision = next.revision;
        if records.is_empty() && gone.is_empty() {
            return Ok(done);
        }
        let audit = audit(&records, &gone, done, by);
        self.write(&records, &gone, &audit)?;
        self.publish(next, mocks);
        Ok(done)
    }

    /// Writes all of it, or nothing.
    fn write(
        &self,
        puts: &[(String, Vec<u8>)],
        deletes: &[String],
        audit: &AuditEntry,
    ) -> Result<(), Refusal> {
        let written = self.store.commit(|transaction| {
            for (name, bytes) in puts {
                transaction.put_api(name, bytes)?;
            }
            for name in deletes {
                transaction.delete_api(name)?;
            }
            transaction.record(audit)
        });
        if let Err(error) = &written {
            tracing::error!(%error, remedy = error.remedy(), "the store failed");
            // After a failed commit its outcome is known only once the store has been reopened.
            let _ = self.recover();
        }
        Ok(written?)
    }

    /// Reopens the store if a failure has closed it, and serves its content.
    fn recover(&self) -> Result<(), StoreError> {
        self.store.reopen()?;
        let shelf = self.shelf.load_full();
        if self.store.apis_revision()? == shelf.revision {
            return Ok(());
        }
        let (next, mocks) = read(&self.store, &shelf.common)?;
        self.publish(next, mocks);
        Ok(())
    }

    fn publish(&self, shelf: Shelf, mocks: MockSet) {
        self.shelf.store(Arc::new(shelf));
        let before = self.table.swap(Arc::new(mocks));
        // Dropped here: a worker that drops the last reference would delay its requests.
        for _ in 0..FREE_TRIES {
            if Arc::strong_count(&before) == 1 {
                break;
            }
            std::thread::sleep(FREE_WAIT);
        }
    }
}

fn audit(puts: &[(String, Vec<u8>)], deletes: &[String], done: Done, by: By) -> AuditEntry {
    let action = match (puts.len(), done.created) {
        (0, _) => AuditAction::Delete,
        (1, 1) => AuditAction::Create,
        (1, _) => AuditAction::Replace,
        _ => AuditAction::Import,
    };
    let names = puts.iter().map(|(name, _)| name).chain(deletes);
    // Routes may be called alike.
    let ids = names.take(AuditEntry::IDS_MAX).map(|name| format!("api:{name}")).collect();
    let count = done.created + done.replaced + done.deleted;
    AuditEntry { at_ms: by.at_ms, who: by.who, action, ids, count, revision: done.revision }
}
