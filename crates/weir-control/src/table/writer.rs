//! The writer thread: changes that arrive together share one durable transaction and one swap.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use weir_route::Route;
use weir_route::index::Change;
use weir_snapshot::RouteTarget;
use weir_store::{AuditAction, AuditEntry, Encoded, Store, StoreError, Transaction};

use super::assemble::{assemble, stored_again};
use super::change::{Condition, Done};
use super::filter::Filter;
use super::publisher::Publisher;
use super::refusal::{Problem, Refusal};
use super::source::{Loaded, STORE_POSITION, Table};
use crate::apis::Apis;

/// The maximum number of changes in one transaction.
const BATCH_MAX: usize = 1_000;
/// The interval at which unused retired tables are dropped.
const FREE_EVERY: Duration = Duration::from_millis(100);

/// A definition, ready to be stored, with its compiled route.
pub(crate) struct Prepared {
    pub(crate) encoded: Encoded,
    pub(crate) route: Arc<Route<RouteTarget>>,
    /// Configuration it was compiled under.
    pub(crate) generation: u64,
}

/// An edit of the routes in the store.
pub(crate) enum Edit {
    Put(Prepared, Condition),
    Import(Vec<Prepared>),
    Delete(String, Condition),
    DeleteMatching(Filter),
}

pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) who: String,
    pub(crate) at_ms: i64,
    pub(crate) reply: Reply,
    /// Its place in the queue. The limit is a semaphore beside an unbounded queue: a bounded queue
    /// would allocate memory for its whole capacity.
    pub(crate) _place: OwnedSemaphorePermit,
}

pub(crate) enum Work {
    Edit(Box<Edit>),
    Reload(Box<Loaded>),
    /// Opens the store again if a failure has shut it.
    Recover,
}

/// An edit, and its author.
struct Asked {
    edit: Edit,
    who: String,
    at_ms: i64,
}

type Reply = oneshot::Sender<Result<Done, Refusal>>;

pub(crate) struct Writer {
    pub(crate) store: Arc<Store>,
    pub(crate) publisher: Publisher,
    pub(crate) apis: Arc<Apis>,
}

impl Writer {
    /// Serves jobs until every sender is gone.
    pub(crate) fn run(self, jobs: &Receiver<Job>) {
        weir_server::yield_to_traffic();
        while let Some(first) = self.next(jobs) {
            let rest = jobs.try_iter().take(BATCH_MAX - 1);
            let (mut edits, mut replies) = (Vec::new(), Vec::new());
            for Job { work, who, at_ms, reply, _place: _ } in std::iter::once(first).chain(rest) {
                match work {
                    Work::Edit(edit) => {
                        edits.push(Asked { edit: *edit, who, at_ms });
                        replies.push(reply);
                    }
                    Work::Reload(loaded) => {
                        self.commit(std::mem::take(&mut edits), std::mem::take(&mut replies));
                        // A caller that is gone does not undo its change.
                        let _ = reply.send(self.reload(*loaded, who, at_ms));
                    }
                    Work::Recover => {
                        let opened = self.open_store().map(|()| Done::default());
                        let _ = reply.send(opened.map_err(Refusal::Store));
                    }
                }
            }
            self.commit(edits, replies);
        }
    }

    /// The next job. While there are tables to be freed, looks after them now and then.
    fn next(&self, jobs: &Receiver<Job>) -> Option<Job> {
        yield_now();
        while !self.publisher.free_unused() {
            match jobs.recv_timeout(FREE_EVERY) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        jobs.recv().ok()
    }

    fn commit(&self, edits: Vec<Asked>, replies: Vec<Reply>) {
        if edits.is_empty() {
            return;
        }
        // A panic must not end the only writer; its callers get their error from the lost replies.
        let result = catch_unwind(AssertUnwindSafe(|| self.commit_all(edits)));
        match result {
            Ok(Ok(results)) => {
                for (reply, result) in replies.into_iter().zip(results) {
                    let _ = reply.send(result);
                }
            }
            Ok(Err(error)) => {
                tracing::error!(%error, remedy = error.remedy(), "the route store failed");
                self.recover();
                for reply in replies {
                    let _ = reply.send(Err(Refusal::Store(error.clone())));
                }
            }
            Err(_) => {
                self.recover();
                self.resync();
            }
        }
    }

    /// Durable first, then visible, then answered. The table is made before the durable write, so
    /// that swapping a pointer is all that is left to do after it, however many changes there are.
    ///
    /// Between its steps, and before each page of the file, the writer lets others have its core: a
    /// worker that wakes there would wait for all of it, its lower priority notwithstanding.
    fn commit_all(&self, edits: Vec<Asked>) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        self.open_store()?;
        let table = self.publisher.table();
        let started = Instant::now();
        let (results, next) = self.store.commit(|transaction| {
            let mut changes = Vec::new();
            let mut results = Vec::with_capacity(edits.len());
            for Asked { edit, who, at_ms } in edits {
                yield_now();
                let mut step =
                    Step { table: &table, transaction: &mut *transaction, changes: &mut changes };
                match step.apply(edit, who, at_ms) {
                    Err(Refusal::Store(error)) => return Err(error),
                    result => results.push(result),
                }
            }
            let count = changes.len();
            yield_now();
            let next = (count > 0).then(|| {
                let snapshot = table.loaded.compiler.apply(&table.snapshot, changes);
                (count, table.with(snapshot, transaction.revision()))
            });
            yield_now();
            Ok((results, next))
        })?;
        let durable = Instant::now();
        if let Some((count, next)) = next {
            self.publisher.publish(next);
            self.publisher.count(count, durable - started, durable.elapsed());
        }
        Ok(results)
    }

    fn reload(&self, loaded: Loaded, who: String, at_ms: i64) -> Result<Done, Refusal> {
        self.store.reopen()?;
        let generation = self.publisher.table().generation + 1;
        let mut table = assemble(loaded, &self.store, generation)?;
        let count = table.snapshot.index.len() as u64;
        let committed = self.store.commit(|transaction| {
            let revision = transaction.touch();
            let action = AuditAction::Reload;
            transaction.record(&AuditEntry { at_ms, who, action, ids: vec![], count, revision })?;
            Ok(revision)
        });
        match committed {
            Ok(revision) => table.revision = revision,
            // The files are good; that the log of it cannot be written must not keep them out.
            Err(error) => {
                tracing::error!(%error, remedy = error.remedy(), "the reload is not in the audit log");
                let _ = self.store.reopen();
            }
        }
        let revision = table.revision;
        self.apis.configure(table.loaded.compiler.common_mocks());
        self.publisher.publish(table);
        Ok(Done { revision, ..Done::default() })
    }

    /// After a failed commit: reopens the store and serves its content.
    fn recover(&self) {
        match self.store.reopen() {
            // Another writer of the store may have reopened it already.
            Ok(()) => self.resync(),
            Err(error) => {
                tracing::error!(%error, remedy = error.remedy(), "the store stays closed");
            }
        }
    }

    fn open_store(&self) -> Result<(), StoreError> {
        if self.store.is_closed() {
            self.store.reopen()?;
            self.resync();
        }
        Ok(())
    }

    fn resync(&self) {
        let table = self.publisher.table();
        if self.store.revision() == Ok(table.revision) {
            return;
        }
        match stored_again(&table, &self.store) {
            Ok(table) => self.publisher.publish(table),
            Err(error) => tracing::error!(%error, "the store differs from the table that serves"),
        }
    }
}

/// One edit within a transaction.
struct Step<'s, 't> {
    table: &'s Table,
    transaction: &'s mut Transaction<'t>,
    changes: &'s mut Vec<Change<RouteTarget>>,
}

impl Step<'_, '_> {
    fn apply(&mut self, edit: Edit, who: String, at_ms: i64) -> Result<Done, Refusal> {
        let (action, ids, mut done) = match edit {
            Edit::Put(prepared, condition) => {
                let prepared = self.current(prepared)?;
                let known = self.transaction.find(prepared.encoded.id())?;
                check(&condition, known)?;
                let id = prepared.encoded.id().to_owned();
                let done = self.put(prepared)?;
                let created = done.created == 1;
                let action = if created { AuditAction::Create } else { AuditAction::Replace };
                (action, vec![id], done)
            }
            Edit::Import(routes) => self.import(routes)?,
            Edit::Delete(id, condition) => {
                let known = self.transaction.find(&id)?;
                if known.is_none() && condition == Condition::Any {
                    return Err(Refusal::NotFound);
                }
                check(&condition, known)?;
                self.delete(&id)?;
                (AuditAction::Delete, vec![id], Done { deleted: 1, ..Done::default() })
            }
            Edit::DeleteMatching(filter) => self.delete_matching(&filter)?,
        };
        done.revision = self.transaction.revision();
        let count = done.created + done.replaced + done.deleted;
        if count > 0 {
            let revision = done.revision;
            let entry = AuditEntry { at_ms, who, action, ids, count, revision };
            yield_now();
            self.transaction.record(&entry)?;
        }
        Ok(done)
    }

    fn import(
        &mut self,
        routes: Vec<Prepared>,
    ) -> Result<(AuditAction, Vec<String>, Done), Refusal> {
        // All routes are compiled for the current configuration before the first is written: all or
        // nothing.
        let routes: Result<Vec<_>, _> =
            routes.into_iter().map(|prepared| self.current(prepared)).collect();
        let routes = routes?;
        let first = routes.iter().take(AuditEntry::IDS_MAX);
        let ids = first.map(|prepared| prepared.encoded.id().to_owned()).collect();
        let mut total = Done::default();
        for prepared in routes {
            let done = self.put(prepared)?;
            total.created += done.created;
            total.replaced += done.replaced;
        }
        Ok((AuditAction::Import, ids, total))
    }

    fn delete_matching(
        &mut self,
        filter: &Filter,
    ) -> Result<(AuditAction, Vec<String>, Done), Refusal> {
        let mut ids = Vec::new();
        self.transaction.scan::<StoreError>(|stored| {
            if let Ok(definition) = stored.definition()
                && filter.matches(&definition)
            {
                ids.push(definition.id);
            }
            Ok(())
        })?;
        for id in &ids {
            self.delete(id)?;
        }
        let done = Done { deleted: ids.len() as u64, ..Done::default() };
        ids.truncate(AuditEntry::IDS_MAX);
        Ok((AuditAction::Delete, ids, done))
    }

    /// `prepared` under the configuration that serves now.
    fn current(&self, prepared: Prepared) -> Result<Prepared, Refusal> {
        if prepared.generation == self.table.generation {
            return Ok(prepared);
        }
        let route = recompile(self.table, &prepared.encoded, 0)?;
        Ok(Prepared { route, generation: self.table.generation, ..prepared })
    }

    fn put(&mut self, prepared: Prepared) -> Result<Done, Refusal> {
        let Prepared { encoded, mut route, .. } = prepared;
        // The place is known only now; nothing else refers to the route yet.
        let position = STORE_POSITION + self.transaction.slot_for(encoded.id())?;
        match Arc::get_mut(&mut route) {
            Some(route) => route.position = position,
            None => route = recompile(self.table, &encoded, position)?,
        }
        let put = self.transaction.put(&encoded)?;
        self.changes.push(Change::Put(route));
        let replaced = u64::from(put.replaced);
        Ok(Done { revision: put.revision, created: 1 - replaced, replaced, deleted: 0 })
    }

    fn delete(&mut self, id: &str) -> Result<(), Refusal> {
        if let Some(slot) = self.transaction.delete(id)? {
            self.changes.push(Change::Remove(STORE_POSITION + slot));
        }
        Ok(())
    }
}

fn recompile(
    table: &Table,
    encoded: &Encoded,
    position: u64,
) -> Result<Arc<Route<RouteTarget>>, Refusal> {
    let definition = encoded
        .definition()
        .map_err(|error| Refusal::Invalid(vec![Problem::new("", error).of_route(encoded.id())]))?;
    table.loaded.compile(&definition, position).map_err(Refusal::Invalid)
}

fn check(condition: &Condition, known: Option<(u64, u64)>) -> Result<(), Refusal> {
    let revision = known.map(|(_, revision)| revision);
    if condition.holds(revision) { Ok(()) } else { Err(Refusal::Changed(revision)) }
}
