//! The control of the route table, and its only writer.
//!
//! [`Control`] merges the routes of the configuration files with those of the store, as SCG merges
//! its sources, and publishes the result for the data plane. Every change is validated whole,
//! written durably, then made visible with one swap, then answered. The data plane knows only the
//! published snapshot.

mod assemble;
mod batch;
mod change;
mod filter;
mod listing;
mod publisher;
mod refusal;
mod source;
mod writer;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use tokio::sync::{Semaphore, oneshot};
use weir_limit::Valves;
use weir_route::RouteDefinition;
use weir_server::Recorder;
use weir_snapshot::Snapshot;
use weir_store::{AuditEntry, Store, StoreError};

pub use batch::Batch;
pub use change::{Condition, Done};
pub use filter::{Filter, Origin};
pub use listing::{Entry, View};
pub use publisher::ChangeTimes;
pub use refusal::{Problem, Refusal};
pub use source::{Loaded, STORE_POSITION};

use crate::apis::Apis;
use assemble::assemble;
use batch::prepare;
use publisher::Publisher;
use source::Table;
use writer::{Edit, Job, Work, Writer};

/// Changes that may wait for the writer; more are refused as [`Refusal::Busy`].
const QUEUE_MAX: usize = 4_096;

/// Control of the route table. Dropping it finishes the changes that were accepted.
pub struct Control {
    store: Arc<Store>,
    table: Arc<ArcSwap<Table>>,
    published: Arc<ArcSwap<Snapshot>>,
    times: Arc<Mutex<ChangeTimes>>,
    jobs: Mutex<Option<Sender<Job>>>,
    places: Arc<Semaphore>,
    writer: Mutex<Option<JoinHandle<()>>>,
    apis: Arc<Apis>,
    recorder: Arc<Recorder>,
}

impl Control {
    /// Compiles files and store into the first snapshot, then accepts changes.
    ///
    /// # Errors
    /// Routes that do not compile (unless the configuration skips them), or a store that cannot be
    /// read.
    pub fn start(loaded: Loaded, store: Store) -> Result<Self, Refusal> {
        let table = assemble(loaded, &store, 0)?;
        weir_server::set_limits(table.loaded.compiler.take_limits());
        let published = Arc::new(ArcSwap::new(Arc::clone(&table.snapshot)));
        let table = Arc::new(ArcSwap::from_pointee(table));
        let store = Arc::new(store);
        let compiler = Arc::clone(&table.load().loaded.compiler);
        let definitions = Arc::clone(compiler.mock_table());
        let apis = Apis::start(Arc::clone(&store), definitions, compiler.common_mocks())?;
        let apis = Arc::new(apis);
        let (sender, receiver) = channel();
        let times = Arc::new(Mutex::default());
        let publisher =
            Publisher::new(Arc::clone(&table), Arc::clone(&published), Arc::clone(&times));
        let writer = Writer { store: Arc::clone(&store), publisher, apis: Arc::clone(&apis) };
        let thread = std::thread::Builder::new()
            .name("weir-routes".into())
            .spawn(move || writer.run(&receiver))
            .map_err(|_| Refusal::Busy)?;
        Ok(Self {
            store,
            table,
            published,
            times,
            jobs: Mutex::new(Some(sender)),
            places: Arc::new(Semaphore::new(QUEUE_MAX)),
            writer: Mutex::new(Some(thread)),
            apis,
            recorder: Arc::default(),
        })
    }

    /// The published snapshot, for the data plane.
    pub fn published(&self) -> Arc<ArcSwap<Snapshot>> {
        Arc::clone(&self.published)
    }

    /// The API definitions of the store.
    pub fn apis(&self) -> &Arc<Apis> {
        &self.apis
    }

    /// What is recorded of the traffic; it is lost with the process.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// The limits that routes in force name.
    pub fn limits(&self) -> Arc<Valves> {
        Arc::clone(self.table.load().loaded.compiler.limits())
    }

    /// The durations of changes so far.
    pub fn change_times(&self) -> ChangeTimes {
        *self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The route table as it is now, to be read.
    pub fn view(&self) -> View {
        View::new(self.table.load_full(), Arc::clone(&self.store))
    }

    /// Writes a route.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn put(
        &self,
        definition: RouteDefinition,
        condition: Condition,
        who: String,
    ) -> Result<Done, Refusal> {
        let prepared = prepare(&self.table.load(), &definition).map_err(Refusal::Invalid)?;
        self.edit(Edit::Put(prepared, condition), who).await
    }

    /// An empty batch, to be filled and given to [`Control::import`].
    pub fn batch(&self) -> Batch {
        Batch::new(self.table.load_full())
    }

    /// Writes many routes in one swap, or none of them. Of equal ids the last one counts.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn import(&self, batch: Batch, who: String) -> Result<Done, Refusal> {
        self.edit(Edit::Import(batch.finish()?), who).await
    }

    /// Removes a route of the store.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn delete(
        &self,
        id: String,
        condition: Condition,
        who: String,
    ) -> Result<Done, Refusal> {
        self.edit(Edit::Delete(id, condition), who).await
    }

    /// Removes the routes of the store that match `filter`, in one swap.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn delete_matching(&self, filter: Filter, who: String) -> Result<Done, Refusal> {
        self.edit(Edit::DeleteMatching(filter), who).await
    }

    /// Replaces the configuration and its routes; routes of the store are recompiled under it.
    ///
    /// # Errors
    /// See [`Refusal`]; the running configuration goes on.
    pub async fn reload(&self, loaded: Loaded, who: String) -> Result<Done, Refusal> {
        self.submit(Work::Reload(Box::new(loaded)), who).await
    }

    /// The last `count` changes before sequence number `before`, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn audit(
        &self,
        before: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, AuditEntry)>, StoreError> {
        self.store.audit(before, count)
    }

    /// Whether the store accepts changes, as far as is known.
    pub fn store_is_open(&self) -> bool {
        !self.store.is_closed()
    }

    /// Opens the store again if a failure has shut it.
    ///
    /// # Errors
    /// See [`Refusal`]; the table that serves goes on.
    pub async fn recover(&self) -> Result<(), Refusal> {
        if self.store_is_open() {
            return Ok(());
        }
        self.submit(Work::Recover, String::new()).await.map(drop)
    }

    /// The store's file.
    pub fn store_path(&self) -> &std::path::Path {
        self.store.path()
    }

    async fn edit(&self, edit: Edit, who: String) -> Result<Done, Refusal> {
        self.submit(Work::Edit(Box::new(edit)), who).await
    }

    async fn submit(&self, work: Work, who: String) -> Result<Done, Refusal> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Refusal::Busy)?;
        let (reply, answer) = oneshot::channel();
        let job = Job { work, who, at_ms: now_ms(), reply, _place: place };
        let sender = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(sender) = sender else { return Err(Refusal::Stopping) };
        sender.send(job).map_err(|_| Refusal::Stopping)?;
        drop(sender);
        answer.await.unwrap_or(Err(Refusal::Fault))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The writer's panic has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Wall clock in milliseconds since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
