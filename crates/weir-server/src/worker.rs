//! A worker: state shared by its tasks and by no other thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};
use weir_auth::TokenCache;
use weir_route::index::Scratch;
use weir_snapshot::Snapshot;

use crate::access_log::LogBuffer;
use crate::deadline::{Deadline, Deadlines};
use crate::descriptors::Files;
use crate::drain::{DrainState, Phase};
use crate::executor::tidy_here;
use crate::http::buffers::ReadBuffer;
use crate::http::exchange::Exchange;
use crate::http::loop_guard::Identity;
use crate::http::pool::Pools;
use crate::inquiries::Inquiries;
use crate::metrics::WorkerCounters;
use crate::pipeline::HttpPipeline;
use crate::recorder::Recorder;
use crate::reserved::Reserved;
use crate::resolve::Resolver;
use crate::sys::give_back_memory;

/// Exchanges kept for reuse.
const SPARE_EXCHANGES_MAX: usize = 256;
/// A spare exchange with more memory than this is given back to the allocator.
const SPARE_BYTES_MAX: usize = 64 * 1024;

/// Shortest idle timeout of a client while others wait for its place.
const IDLE_MS_MIN: u64 = 1_000;

/// Read size for a head while requests wait at a limit: enough for most heads.
const HEAD_READ_BYTES: usize = 2 * 1024;
/// With more waiting requests than this, memory of a waiting request matters more than the time
/// it takes to save it.
pub(crate) const CROWD: usize = 128;

/// The snapshot of a request. The inner `Arc` is cloned once per worker: cloning it per request
/// would make all workers write to one cache line.
pub(crate) type HeldSnapshot = Rc<Arc<Snapshot>>;

/// State shared by the tasks of one worker.
pub(crate) struct Worker {
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) pools: Pools,
    pub(crate) resolver: Resolver,
    /// Tokens that were verified.
    pub(crate) tokens: RefCell<TokenCache>,
    pub(crate) counters: Arc<WorkerCounters>,
    pub(crate) drain: Arc<DrainState>,
    /// The pipeline it serves, if it serves one.
    pub(crate) pipeline: Option<HttpPipeline>,
    pub(crate) log: Option<Rc<LogBuffer>>,
    pub(crate) scratch: RefCell<ReadBuffer>,
    pub(crate) lookup: RefCell<Scratch>,
    pub(crate) reserved: Option<Arc<Reserved>>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) files: Arc<Files>,
    pub(crate) inquiries: Option<Inquiries>,
    pub(crate) recorder: Arc<Recorder>,
    /// Cloned by each running cache refresh, to count them.
    pub(crate) refreshes: Rc<()>,
    /// Current idle timeout of clients, in addition to their keep-alive timeout.
    pub(crate) idle_ms_max: Cell<u64>,
    /// Requests that wait for their turn at a limit.
    pub(crate) waiting: Cell<usize>,
    /// Connections to Dubbo providers that consumers share.
    shared: RefCell<Cache<Arc<ArcSwap<Snapshot>>, Arc<Snapshot>>>,
    seen: RefCell<HeldSnapshot>,
    #[expect(clippy::vec_box, reason = "an exchange stays where it is: it is large")]
    spare: RefCell<Vec<Box<Exchange>>>,
    dice: Cell<u64>,
    /// Request count at the last housekeeping.
    tidied_at: Cell<u64>,
}

impl Worker {
    #[expect(clippy::too_many_arguments, reason = "what all workers share, each part once")]
    pub(crate) fn new(
        shared: Arc<ArcSwap<Snapshot>>,
        counters: Arc<WorkerCounters>,
        drain: Arc<DrainState>,
        log: Option<LogBuffer>,
        reserved: Option<Arc<Reserved>>,
        identity: Arc<Identity>,
        files: Arc<Files>,
        inquiries: Option<Inquiries>,
        recorder: Arc<Recorder>,
        seed: u64,
    ) -> Rc<Self> {
        let mut shared = Cache::new(shared);
        let snapshot = Arc::clone(shared.load());
        let scratch = ReadBuffer::new(snapshot.settings.read_buffer_bytes, files.pipes_max);
        Rc::new(Self {
            deadlines: Deadlines::new(counters.origin()),
            pools: Pools::default(),
            resolver: Resolver::default(),
            tokens: RefCell::default(),
            counters,
            drain,
            pipeline: None,
            log: log.map(Rc::new),
            scratch: RefCell::new(scratch),
            lookup: RefCell::default(),
            reserved,
            identity,
            files,
            inquiries,
            recorder,
            refreshes: Rc::default(),
            idle_ms_max: Cell::new(u64::MAX),
            waiting: Cell::default(),
            seen: RefCell::new(Rc::new(snapshot)),
            shared: RefCell::new(shared),
            spare: RefCell::default(),
            dice: Cell::new(seed),
            tidied_at: Cell::default(),
        })
    }

    /// A second worker on the same thread, with another table and its own stop.
    pub(crate) fn beside(
        &self,
        shared: Arc<ArcSwap<Snapshot>>,
        drain: Arc<DrainState>,
        pipeline: HttpPipeline,
    ) -> Rc<Self> {
        let mut shared = Cache::new(shared);
        let snapshot = Arc::clone(shared.load());
        let scratch = ReadBuffer::new(snapshot.settings.read_buffer_bytes, self.files.pipes_max);
        Rc::new(Self {
            deadlines: Rc::clone(&self.deadlines),
            pools: Pools::default(),
            resolver: Resolver::default(),
            tokens: RefCell::default(),
            counters: Arc::clone(&self.counters),
            drain,
            pipeline: Some(pipeline),
            log: self.log.clone(),
            scratch: RefCell::new(scratch),
            lookup: RefCell::default(),
            reserved: None,
            identity: Arc::clone(&self.identity),
            files: Arc::clone(&self.files),
            inquiries: self.inquiries.clone(),
            recorder: Arc::clone(&self.recorder),
            refreshes: Rc::default(),
            idle_ms_max: Cell::new(u64::MAX),
            waiting: Cell::default(),
            seen: RefCell::new(Rc::new(snapshot)),
            shared: RefCell::new(shared),
            spare: RefCell::default(),
            dice: Cell::new(self.roll()),
            tidied_at: Cell::default(),
        })
    }

    /// The current snapshot, counted within this thread: no shared cache line is written.
    pub(crate) fn snapshot(&self) -> HeldSnapshot {
        let mut shared = self.shared.borrow_mut();
        let current = shared.load();
        let mut seen = self.seen.borrow_mut();
        if !Arc::ptr_eq(current, &seen) {
            *seen = Rc::new(Arc::clone(current));
        }
        Rc::clone(&seen)
    }

    /// Read size for a head. It is small while requests wait at a limit: the next one may wait as
    /// well, with all that was read of its body.
    pub(crate) fn head_read_max(&self) -> usize {
        if self.waiting.get() > 0 { HEAD_READ_BYTES } else { usize::MAX }
    }

    /// Whether so many requests wait at a limit that each of them is kept as small as possible.
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting.get() > CROWD
    }

    /// 64 random bits (splitmix64).
    pub(crate) fn roll(&self) -> u64 {
        let state = self.dice.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.dice.set(state);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::new(&self.deadlines)
    }

    pub(crate) fn draining(&self) -> bool {
        self.drain.phase() >= Phase::Draining
    }

    /// Whether connections close after their response: while the gateway drains, and while another
    /// client waits for a free file.
    pub(crate) fn lets_go(&self) -> bool {
        self.draining() || self.files.is_crowded()
    }

    /// An exchange to work with, reused if possible.
    pub(crate) fn take_exchange(&self) -> Box<Exchange> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes an exchange back for reuse.
    pub(crate) fn give_exchange(&self, mut exchange: Box<Exchange>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_EXCHANGES_MAX && exchange.memory() <= SPARE_BYTES_MAX {
            exchange.clear();
            spare.push(exchange);
        }
    }

    /// Shortens the idle timeout step by step while the listen queue does not empty: the longest
    /// idle clients are closed first.
    fn make_room(&self) {
        let max = self.idle_ms_max.get();
        if !self.files.is_overrun() {
            self.idle_ms_max.set(max.saturating_mul(4));
            return;
        }
        let keep_alive_ms = self.snapshot().settings.keep_alive_timeout.as_millis() as u64;
        self.idle_ms_max.set((max.min(keep_alive_ms) / 4).max(IDLE_MS_MIN));
        self.deadlines.wake_all();
    }

    /// Whether what upstreams are sent and answer is looked at: recorded, or logged.
    pub(crate) fn is_tapping(&self) -> bool {
        self.recorder.is_on() || self.log.as_ref().is_some_and(|log| log.bodies_max.is_some())
    }

    /// Periodic housekeeping: frees caches and spare buffers.
    pub(crate) fn tidy(&self) {
        self.tidy_own();
        self.deadlines.tidy();
        tidy_here();
        if let Some(log) = &self.log {
            log.flush();
        }
        let served = self.counters.requests();
        if self.tidied_at.replace(served) == served {
            give_back_memory();
        }
    }

    /// The same, without state shared with other workers of the thread.
    pub(crate) fn tidy_own(&self) {
        drop(self.snapshot());
        self.pools.evict(self.deadlines.now_ms(), self.files.is_short());
        self.make_room();
        self.scratch.borrow_mut().tidy();
        self.spare.borrow_mut().truncate(SPARE_EXCHANGES_MAX / 16);
    }
}
