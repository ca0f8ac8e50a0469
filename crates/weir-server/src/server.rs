//! Starting and stopping the workers.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use weir_config::{AccessLogFormat, Settings, Snapshot};

use crate::access_log::{self, LogBuffer};
use crate::drain::{DrainState, Listening, Phase};
use crate::http::downstream::serve;
use crate::listener::{BindError, bind, turn_away};
use crate::metrics::{Metrics, WorkerCounters};
use crate::reserved::{Reserved, ReservedPaths};
use crate::worker::Worker;

/// Time between two accepts when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long handshakes that had begun may take to be accepted once draining begins.
const LAST_HANDSHAKES: Duration = Duration::from_millis(300);
/// How often a worker lets go of what it holds only for speed.
const TIDY: Duration = Duration::from_secs(1);

/// What the server needs besides a snapshot.
#[derive(Debug)]
pub struct ServerOptions {
    /// Seed of all chance (weights, request ids): 64 random bits.
    pub seed: u64,
    /// Paths that are not left to the routes.
    pub reserved: Option<ReservedPaths>,
}

/// Why the server did not start.
#[derive(Debug)]
pub enum StartError {
    /// An address cannot be listened on.
    Bind(BindError),
    /// The access log cannot be opened.
    AccessLog(io::Error),
    /// A thread or runtime cannot be made.
    Thread(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bind(error) => error.fmt(f),
            Self::AccessLog(error) => {
                write!(f, "cannot open the access log: {error}; see weir.access-log.path")
            }
            Self::Thread(error) => write!(f, "cannot start a worker thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// The running data plane.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    workers: usize,
    acceptors: usize,
    metrics: Metrics,
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
        let bound = bind(settings.listen, sockets, settings.backlog).map_err(StartError::Bind)?;
        let (address, listeners) = bound;
        let log = settings.access_log.as_ref().map(access_log::open).transpose();
        let (log, writer) = log.map_err(StartError::AccessLog)?.unzip();
        let (stop, stopped) = watch::channel(Phase::Serving);
        let drain = Arc::new(DrainState::default());
        let counters: Vec<_> =
            (0..workers).map(|_| Arc::new(WorkerCounters::new(workers))).collect();
        let reserved = options.reserved.as_ref().map(|paths| Arc::new(Reserved::new(paths)));
        let plan = Plan { snapshot, settings: &settings, log, drain: &drain, stopped, reserved };
        let mut threads = plan.spawn(listeners, &counters, acceptors, options.seed)?;
        // Joined last: it ends when the workers have let go of their ends of the log.
        threads.extend(writer);
        let metrics = Metrics::new(counters);
        Ok(Self { address, workers, acceptors, metrics, drain, stop, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of worker threads.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Number of acceptor threads; 0 when each worker accepts.
    pub fn acceptors(&self) -> usize {
        self.acceptors
    }

    /// Counters of all workers.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Stops accepting and lets idle connections go; running exchanges finish.
    pub fn drain(&self) {
        self.drain.advance(Phase::Draining);
        let _ = self.stop.send(Phase::Draining);
    }

    /// Waits until all connections are gone, for `timeout` at most, then ends what is left. Tells
    /// how many connections were cut. `hurry` is asked now and then whether to end at once.
    pub fn finish(self, timeout: Duration, hurry: impl Fn() -> bool) -> i64 {
        self.drain();
        let until = Instant::now() + timeout;
        // In this order: what a listener has taken is counted before the listener is gone.
        let busy = || self.drain.is_listening() || self.metrics.connections() > 0;
        while busy() && Instant::now() < until && !hurry() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let cut = self.metrics.connections();
        self.drain.advance(Phase::Stopped);
        let _ = self.stop.send(Phase::Stopped);
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

/// What all threads are started with.
struct Plan<'a> {
    snapshot: &'a Arc<ArcSwap<Snapshot>>,
    settings: &'a Settings,
    log: Option<SyncSender<Vec<u8>>>,
    drain: &'a Arc<DrainState>,
    stopped: watch::Receiver<Phase>,
    reserved: Option<Arc<Reserved>>,
}

/// Where a worker's connections come from.
enum Intake {
    /// Its own listening socket.
    Own(StdListener, Listening),
    /// Dedicated acceptors.
    Handed(UnboundedReceiver<StdStream>),
}

impl Plan<'_> {
    fn spawn(
        &self,
        listeners: Vec<StdListener>,
        counters: &[Arc<WorkerCounters>],
        acceptors: usize,
        seed: u64,
    ) -> Result<Vec<JoinHandle<()>>, StartError> {
        let (intakes, hands): (Vec<_>, Vec<_>) = match acceptors {
            0 => {
                let own = |listener| Intake::Own(listener, Listening::new(self.drain));
                (listeners.into_iter().map(own).collect(), Vec::new())
            }
            _ => {
                let channels = counters.iter().map(|_| unbounded_channel());
                let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
                let senders: Arc<[_]> = senders.into();
                let hand = |listener| (listener, Arc::clone(&senders));
                let hands = listeners.into_iter().map(hand).collect();
                (receivers.into_iter().map(Intake::Handed).collect(), hands)
            }
        };
        let mut threads = Vec::new();
        for (n, intake) in intakes.into_iter().enumerate() {
            let Some(own) = counters.get(n) else { continue };
            let seed = seed ^ (n as u64).wrapping_mul(0xd129_0dd3_9c5d_7f2b);
            threads.push(self.spawn_worker(n, intake, Arc::clone(own), seed)?);
        }
        let next = Arc::new(AtomicUsize::new(0));
        for (n, (listener, senders)) in hands.into_iter().enumerate() {
            let acceptor = Acceptor {
                senders,
                counters: counters.into(),
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
        intake: Intake,
        counters: Arc<WorkerCounters>,
        seed: u64,
    ) -> Result<JoinHandle<()>, StartError> {
        let format = self.settings.access_log.as_ref().map(|log| log.format);
        let log = self.log.clone().map(|sender| (format, sender));
        let (snapshot, drain) = (Arc::clone(self.snapshot), Arc::clone(self.drain));
        let (stopped, reserved) = (self.stopped.clone(), self.reserved.clone());
        let runtime = Builder::new_current_thread();
        let body = move || {
            let log = log.map(|(format, sender)| {
                LogBuffer::new(format.unwrap_or(AccessLogFormat::Common), sender)
            });
            let worker = Worker::new(snapshot, counters, drain, log, reserved, seed);
            run(runtime, &worker, intake, stopped);
        };
        let builder = std::thread::Builder::new().name(format!("weir-worker-{n}"));
        builder.spawn(body).map_err(StartError::Thread)
    }
}

/// Runs a worker until the server stops.
fn run(mut builder: Builder, worker: &Rc<Worker>, intake: Intake, stopped: watch::Receiver<Phase>) {
    let runtime = match builder.enable_all().build_local(LocalOptions::default()) {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "a worker has no runtime");
            return;
        }
    };
    runtime.block_on(async {
        tokio::task::spawn_local(Rc::clone(&worker.deadlines).run());
        let tidying = Rc::clone(worker);
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(TIDY).await;
                tidying.tidy();
            }
        });
        let accepting = Rc::clone(worker);
        let mut phases = stopped.clone();
        let accept = tokio::task::spawn_local(async move {
            match intake {
                Intake::Own(listener, _listening) => {
                    accept_own(&accepting, listener, stopped).await;
                }
                Intake::Handed(receiver) => accept_handed(&accepting, receiver).await,
            }
        });
        while phases.wait_for(|phase| *phase >= Phase::Draining).await.is_ok() {
            worker.deadlines.wake_all();
            if phases.wait_for(|phase| *phase == Phase::Stopped).await.is_ok() {
                break;
            }
        }
        worker.deadlines.wake_all();
        accept.abort();
        // Let the tasks see the phase and close what they hold.
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    });
}

async fn accept_own(
    worker: &Rc<Worker>,
    listener: StdListener,
    mut stopped: watch::Receiver<Phase>,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "a worker cannot listen");
            return;
        }
    };
    loop {
        tokio::select! {
            biased;
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => admit(worker, stream, peer),
                Err(error) => pause_accepting(&worker.counters, &error).await,
            },
            _ = stopped.wait_for(|phase| *phase >= Phase::Draining) => break,
        }
    }
    accept_last(&listener, |stream, peer| admit(worker, stream, peer)).await;
}

/// Accepts what had begun to connect when draining began, so that closing the listener resets
/// nobody.
async fn accept_last(listener: &TcpListener, mut take: impl FnMut(TcpStream, SocketAddr)) {
    if let Err(error) = turn_away(listener) {
        tracing::debug!(%error, "connections that come while the listener closes are reset");
    }
    let accept = async {
        while let Ok((stream, peer)) = listener.accept().await {
            take(stream, peer);
        }
    };
    // The end of the time is what ends it; an error means that nothing more can be taken.
    let _ = tokio::time::timeout(LAST_HANDSHAKES, accept).await;
}

async fn accept_handed(worker: &Rc<Worker>, mut receiver: UnboundedReceiver<StdStream>) {
    while let Some(stream) = receiver.recv().await {
        // The acceptor counted it; from here on the task does.
        worker.counters.connection_closed();
        let Ok(stream) = TcpStream::from_std(stream) else { continue };
        let Ok(peer) = stream.peer_addr() else { continue };
        admit(worker, stream, peer);
    }
}

/// Starts serving a connection, unless there are too many.
fn admit(worker: &Rc<Worker>, stream: TcpStream, peer: SocketAddr) {
    let max = worker.snapshot().settings.connections_max / worker.counters.workers().max(1);
    if worker.counters.connections() >= max.max(1) as i64 {
        worker.counters.connection_refused();
        return;
    }
    tokio::task::spawn_local(serve(Rc::clone(worker), stream, peer));
}

async fn pause_accepting(counters: &WorkerCounters, error: &io::Error) {
    counters.accept_failed();
    // A connection reset before it was accepted is no reason to wait.
    if error.kind() == io::ErrorKind::ConnectionAborted {
        return;
    }
    tracing::warn!(%error, "cannot accept connections; raise the limit on open files");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

/// A thread that accepts and hands connections to the worker with the fewest.
struct Acceptor {
    senders: Arc<[UnboundedSender<StdStream>]>,
    counters: Arc<[Arc<WorkerCounters>]>,
    next: Arc<AtomicUsize>,
    stopped: watch::Receiver<Phase>,
    _listening: Listening,
}

impl Acceptor {
    fn spawn(self, n: usize, listener: StdListener) -> Result<JoinHandle<()>, StartError> {
        let builder = std::thread::Builder::new().name(format!("weir-acceptor-{n}"));
        let run = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.run(listener)),
            Err(error) => tracing::error!(%error, "an acceptor has no runtime"),
        };
        builder.spawn(run).map_err(StartError::Thread)
    }

    async fn run(self, listener: StdListener) {
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        let mut stopped = self.stopped.clone();
        loop {
            tokio::select! {
                biased;
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => self.hand_over(stream),
                    Err(error) => pause_accepting(&self.first(), &error).await,
                },
                _ = stopped.wait_for(|phase| *phase >= Phase::Draining) => break,
            }
        }
        accept_last(&listener, |stream, _| self.hand_over(stream)).await;
    }

    fn first(&self) -> Arc<WorkerCounters> {
        self.counters.first().map(Arc::clone).unwrap_or_default()
    }

    /// Ties go round, so that a burst spreads evenly before the counts show it.
    fn hand_over(&self, stream: TcpStream) {
        let count = self.senders.len().max(1);
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let least = (0..count)
            .map(|n| (turn + n) % count)
            .min_by_key(|n| self.counters.get(*n).map_or(i64::MAX, |worker| worker.connections()));
        let Some(least) = least else { return };
        let (Some(sender), Some(counters)) = (self.senders.get(least), self.counters.get(least))
        else {
            return;
        };
        let Ok(stream) = stream.into_std() else { return };
        counters.connection_handed();
        if sender.send(stream).is_err() {
            counters.connection_closed();
        }
    }
}
