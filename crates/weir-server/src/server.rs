//! Starting and stopping the workers.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{oneshot, watch};
use weir_snapshot::{Settings, Snapshot};

use crate::accept::{Acceptor, Handed, accept_handed, accept_own};
use crate::access_log::{self, Batch, LogBuffer};
use crate::descriptors::{Files, FilesPlan};
use crate::drain::{DrainState, Listening, Phase};
use crate::executor::{Executor, TIDY, spawn, yield_now};
use crate::http::loop_guard::Identity;
use crate::inquiries::Inquiries;
use crate::listener::{Asked, BindError, SocketBuffers, bind};
use crate::metrics::{Metrics, WorkerCounters};
use crate::pipeline::{Order, PipelineSet, PipelineStatus, take_orders};
use crate::recorder::Recorder;
use crate::reserved::{Reserved, ReservedPaths};
use crate::start_error::StartError;
use crate::sys::{files_max, on_core};
use crate::worker::Worker;

/// Options of the server besides a snapshot.
#[derive(Debug)]
pub struct ServerOptions {
    /// Seed of all chance (weights, request ids): 64 random bits.
    pub seed: u64,
    /// Paths that are not left to the routes.
    pub reserved: Option<ReservedPaths>,
    /// Address of the admin API's listener, which may never be an upstream.
    pub admin: Option<SocketAddr>,
    /// Queue for the filters' questions; without it none is answered.
    pub inquiries: Option<Inquiries>,
    /// What is to be recorded.
    pub recorder: Arc<Recorder>,
}

/// The running data plane.
#[derive(Debug)]
pub struct Server {
    address: Option<SocketAddr>,
    workers: usize,
    acceptors: usize,
    shares: FilesPlan,
    buffers: SocketBuffers,
    unpinned: Option<String>,
    metrics: Metrics,
    pipelines: Arc<PipelineSet>,
    drain: Arc<DrainState>,
    stop: watch::Sender<Phase>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Binds the address of the snapshot's settings and starts serving.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn start(
        snapshot: &Arc<ArcSwap<Snapshot>>,
        options: &ServerOptions,
    ) -> Result<Self, StartError> {
        let settings = Arc::clone(&snapshot.load().settings);
        let workers = worker_count(&settings);
        let acceptors = settings.acceptors.min(workers);
        let sockets = if acceptors == 0 { workers } else { acceptors };
        let asked = Asked::of(&settings, "server.port".into());
        let bound = match settings.serves_http {
            true => Some(bind(settings.listen, sockets, &asked).map_err(StartError::Bind)?),
            false => None,
        };
        let (address, buffers) = bound.as_ref().map(|own| (own.address, own.buffers)).unzip();
        let buffers = buffers.unwrap_or_default();
        let log = settings.access_log.as_ref().map(access_log::open).transpose();
        let (log, writer) = log.map_err(StartError::AccessLog)?.unzip();
        let (stop, stopped) = watch::channel(Phase::Serving);
        let drain = Arc::new(DrainState::default());
        let listed = Arc::default();
        let counters: Vec<_> =
            (0..workers).map(|_| Arc::new(WorkerCounters::new(workers, &listed))).collect();
        let reserved = options.reserved.as_ref().map(|paths| Arc::new(Reserved::new(paths)));
        let identity = Arc::new(Identity::new(address.map_or(0, |own| own.port()), options.admin));
        let shares = files_plan(&settings, files_max());
        let files = Files::new(&shares);
        let plan = Plan {
            snapshot,
            settings: &settings,
            log,
            drain: &drain,
            stopped,
            reserved,
            identity,
            files: Arc::clone(&files),
            inquiries: options.inquiries.clone(),
            recorder: &options.recorder,
            unpinned: RefCell::new(None),
        };
        let (senders, orders) = (0..workers).map(|_| unbounded_channel()).unzip();
        let pipelines = Arc::new(PipelineSet::new(senders, &drain));
        let taken = pipelines.apply(&snapshot.load().pipelines, &settings);
        if let Some((_, error)) = taken.into_iter().next() {
            return Err(StartError::Bind(error));
        }
        let listeners = bound.map(|bound| bound.listeners);
        let mut threads = plan.spawn(listeners, orders, &counters, acceptors, options.seed)?;
        // Joined last: it ends when the workers have closed the log.
        threads.extend(writer);
        Ok(Self {
            address,
            workers,
            acceptors,
            shares,
            buffers,
            unpinned: plan.unpinned.take(),
            metrics: Metrics::new(counters, files),
            pipelines,
            drain,
            stop,
            threads,
        })
    }

    /// Listening address of the main listener; `None` if there are only pipelines.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Applies the pipelines of `snapshot`: unchanged ones keep their connections. Returns the
    /// addresses that could not be bound; the others are served.
    pub fn set_pipelines(&self, snapshot: &Snapshot) -> Vec<(String, BindError)> {
        self.pipelines.apply(&snapshot.pipelines, &snapshot.settings)
    }

    /// The pipelines that run, as often as it is asked.
    pub fn pipelines(&self) -> impl Fn() -> Vec<PipelineStatus> + Send + Sync + 'static {
        let pipelines = Arc::clone(&self.pipelines);
        move || pipelines.status()
    }

    /// Number of worker threads.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Number of acceptor threads; 0 when each worker accepts.
    pub fn acceptors(&self) -> usize {
        self.acceptors
    }

    /// Shares of the process's limit on open files.
    pub fn files(&self) -> &FilesPlan {
        &self.shares
    }

    /// Buffers of client connections, as asked for and as granted.
    pub fn socket_buffers(&self) -> SocketBuffers {
        self.buffers
    }

    /// The reason why a worker is not pinned to its core although `weir.server.pinning` is set.
    pub fn unpinned(&self) -> Option<&str> {
        self.unpinned.as_deref()
    }

    /// Counters of all workers.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Stops accepting and closes idle connections; running exchanges finish.
    pub fn drain(&self) {
        self.advance(Phase::Draining);
    }

    fn advance(&self, phase: Phase) {
        self.drain.advance(phase);
        self.pipelines.close(phase);
        // Fails only when no worker is left.
        let _ = self.stop.send(phase);
    }

    /// Waits until all connections are closed, for `timeout` at most, then cuts the rest. Returns
    /// the number of connections cut. `hurry` is polled regularly: `true` ends the wait at once.
    pub fn finish(self, timeout: Duration, hurry: impl Fn() -> bool) -> i64 {
        self.drain();
        let until = Instant::now() + timeout;
        // In this order: connections of a listener are counted before the listener is gone.
        let busy = || self.drain.is_listening() || self.metrics.connections() > 0;
        while busy() && Instant::now() < until && !hurry() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let cut = self.metrics.connections();
        self.advance(Phase::Stopped);
        for thread in self.threads {
            // A worker that panicked has said so already.
            let _ = thread.join();
        }
        cut
    }
}

fn worker_count(settings: &Settings) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if settings.workers == 0 { cores } else { settings.workers }
}

/// Shares of a limit of `limit` open files under these settings.
pub fn files_plan(settings: &Settings, limit: u64) -> FilesPlan {
    let workers = worker_count(settings);
    FilesPlan::of(limit, workers + settings.acceptors.min(workers), settings.splice)
}

/// Shared parameters of all threads.
struct Plan<'a> {
    snapshot: &'a Arc<ArcSwap<Snapshot>>,
    settings: &'a Settings,
    log: Option<SyncSender<Batch>>,
    drain: &'a Arc<DrainState>,
    stopped: watch::Receiver<Phase>,
    reserved: Option<Arc<Reserved>>,
    identity: Arc<Identity>,
    files: Arc<Files>,
    inquiries: Option<Inquiries>,
    recorder: &'a Arc<Recorder>,
    /// Why a worker could not be pinned.
    unpinned: RefCell<Option<String>>,
}

/// Source of a worker's connections.
enum Intake {
    /// Its own listening socket.
    Own(StdListener, Listening),
    /// Dedicated acceptors.
    Handed(UnboundedReceiver<Handed>),
    /// Pipelines alone.
    None,
}

impl Plan<'_> {
    fn spawn(
        &self,
        listeners: Option<Vec<StdListener>>,
        orders: Vec<UnboundedReceiver<Order>>,
        counters: &[Arc<WorkerCounters>],
        acceptors: usize,
        seed: u64,
    ) -> Result<Vec<JoinHandle<()>>, StartError> {
        let (intakes, hands): (Vec<_>, Vec<_>) = match (listeners, acceptors) {
            (None, _) => (counters.iter().map(|_| Intake::None).collect(), Vec::new()),
            (Some(listeners), 0) => {
                let own = |listener| Intake::Own(listener, Listening::new(self.drain));
                (listeners.into_iter().map(own).collect(), Vec::new())
            }
            (Some(listeners), _) => {
                let channels = counters.iter().map(|_| unbounded_channel());
                let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
                let senders: Arc<[_]> = senders.into();
                let hand = |listener| (listener, Arc::clone(&senders));
                let hands = listeners.into_iter().map(hand).collect();
                (receivers.into_iter().map(Intake::Handed).collect(), hands)
            }
        };
        let mut threads = Vec::new();
        for (n, sources) in intakes.into_iter().zip(orders).enumerate() {
            let Some(own) = counters.get(n) else { continue };
            let seed = seed ^ (n as u64).wrapping_mul(0xd129_0dd3_9c5d_7f2b);
            threads.push(self.spawn_worker(n, sources, Arc::clone(own), seed)?);
        }
        let next = Arc::new(AtomicUsize::new(0));
        for (n, (listener, senders)) in hands.into_iter().enumerate() {
            let acceptor = Acceptor {
                senders,
                counters: counters.into(),
                files: Arc::clone(&self.files),
                next: Arc::clone(&next),
                stopped: self.stopped.clone(),
                _listening: Listening::new(self.drain),
            };
            threads.push(acceptor.spawn(n, listener)?);
        }
        Ok(threads)
    }

    fn spawn_worker(
        &self,
        n: usize,
        (intake, orders): (Intake, UnboundedReceiver<Order>),
        counters: Arc<WorkerCounters>,
        seed: u64,
    ) -> Result<JoinHandle<()>, StartError> {
        let log = self.settings.access_log.clone().zip(self.log.clone());
        let (snapshot, drain) = (Arc::clone(self.snapshot), Arc::clone(self.drain));
        let (stopped, reserved) = (self.stopped.clone(), self.reserved.clone());
        let (identity, files) = (Arc::clone(&self.identity), Arc::clone(&self.files));
        let (inquiries, recorder) = (self.inquiries.clone(), Arc::clone(self.recorder));
        let body = move || {
            let log = log
                .map(|(settings, sender)| LogBuffer::new(&settings, sender, Arc::clone(&counters)));
            let worker = Worker::new(
                snapshot, counters, drain, log, reserved, identity, files, inquiries, recorder,
                seed,
            );
            if let Err(error) = run(&worker, intake, orders, stopped) {
                tracing::error!(%error, "a worker has ended");
            }
        };
        let builder = std::thread::Builder::new().name(format!("weir-worker-{n}"));
        if !self.settings.pinning {
            return builder.spawn(body).map_err(StartError::Thread);
        }
        let (spawned, refused) = on_core(n, || builder.spawn(body));
        if refused.is_some() {
            self.unpinned.replace(refused);
        }
        spawned.map_err(StartError::Thread)
    }
}

/// Runs a worker until the server stops.
fn run(
    worker: &Rc<Worker>,
    intake: Intake,
    orders: UnboundedReceiver<Order>,
    stopped: watch::Receiver<Phase>,
) -> io::Result<()> {
    // Only for name lookups, which run on threads of their own.
    let names = Builder::new_current_thread().build()?;
    let _entered = names.enter();
    Executor::new()?.run(serve_until_stopped(worker, intake, orders, stopped))?
}

async fn serve_until_stopped(
    worker: &Rc<Worker>,
    intake: Intake,
    orders: UnboundedReceiver<Order>,
    stopped: watch::Receiver<Phase>,
) -> io::Result<()> {
    let ordered = Rc::clone(worker);
    spawn(async move { take_orders(&ordered, orders).await })?;
    let tidying = Rc::clone(worker);
    spawn(async move {
        loop {
            tidying.deadlines.sleep(TIDY).await;
            tidying.tidy();
        }
    })?;
    let accepting = Rc::clone(worker);
    let mut phases = stopped.clone();
    spawn(async move {
        match intake {
            Intake::Own(listener, _listening) => {
                accept_own(&accepting, listener, stopped).await;
            }
            Intake::Handed(receiver) => accept_handed(&accepting, receiver).await,
            Intake::None => {}
        }
    })?;
    // In a separate task: a sweep then does not poll the phase, which all workers share.
    let (failed, has_failed) = oneshot::channel();
    let deadlines = Rc::clone(&worker.deadlines);
    spawn(async move {
        let Err(error) = deadlines.run().await;
        let _ = failed.send(error);
    })?;
    let stopped = async {
        while phases.wait_for(|phase| *phase >= Phase::Draining).await.is_ok() {
            worker.deadlines.wake_all();
            if phases.wait_for(|phase| *phase == Phase::Stopped).await.is_ok() {
                break;
            }
        }
    };
    let result = tokio::select! {
        () = stopped => Ok(()),
        Ok(error) = has_failed => Err(error),
    };
    worker.deadlines.wake_all();
    // Lets the tasks see the phase and close their connections.
    for _ in 0..16 {
        yield_now().await;
    }
    result
}
