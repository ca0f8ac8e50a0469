//! The pipelines that run, and going over to others.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use weir_balance::MemberState;
use weir_snapshot::{Pipeline, Protocol, Settings, Snapshot};

use super::counters::PipelineCounters;
use super::health::Checked;
use super::listening::{Opening, Order, Serves};
use crate::drain::{DrainState, Listening, Phase};
use crate::listener::{Asked, BindError, Port, bind};
use crate::pacer::now_ns;

/// Status of a pipeline for operators.
#[derive(Clone, Debug)]
pub struct PipelineStatus {
    /// Its name.
    pub id: String,
    /// Protocol.
    pub protocol: &'static str,
    /// Listening addresses.
    pub listen: Vec<SocketAddr>,
    /// Counters by name.
    pub counts: Vec<(&'static str, u64)>,
    /// Connections open now.
    pub active: u64,
    /// Its upstreams, and how they are.
    pub members: Vec<MemberState>,
    /// Name of its limit.
    pub limit: Option<String>,
}

/// A running pipeline.
#[derive(Debug)]
struct Running {
    /// Addresses as configured and as bound; port 0 becomes a free port.
    sockets: Vec<Socket>,
    /// The pipeline, and until when its upstreams are checked.
    checked: Checked,
    /// Route table of an HTTP pipeline.
    table: Option<Arc<ArcSwap<Snapshot>>>,
    counters: Arc<PipelineCounters>,
}

#[derive(Debug)]
struct Socket {
    asked: SocketAddr,
    address: SocketAddr,
    drain: Arc<DrainState>,
    stop: watch::Sender<Phase>,
}

/// All pipelines of a server.
#[derive(Debug)]
pub(crate) struct PipelineSet {
    workers: Vec<UnboundedSender<Order>>,
    /// Shared with the server: counts the listeners.
    drain: Arc<DrainState>,
    running: Mutex<Vec<Running>>,
    /// Sockets that were closed: workers still accept what was on its way to them.
    closed: Mutex<Vec<Socket>>,
}

impl PipelineSet {
    pub(crate) fn new(workers: Vec<UnboundedSender<Order>>, drain: &Arc<DrainState>) -> Self {
        Self {
            workers,
            drain: Arc::clone(drain),
            running: Mutex::default(),
            closed: Mutex::default(),
        }
    }

    /// Applies `pipelines`: unchanged ones keep their listeners and connections. Returns the
    /// addresses that could not be bound.
    pub(crate) fn apply(
        &self,
        pipelines: &[Arc<Pipeline>],
        settings: &Settings,
    ) -> Vec<(String, BindError)> {
        let mut running = self.lock();
        let mut failures = Vec::new();
        let mut old = std::mem::take(&mut *running);
        let is_same = |one: &Running, pipeline: &Pipeline| {
            one.checked.current.load().id == pipeline.id
                && one.table.is_some() == matches!(pipeline.protocol, Protocol::Http(_))
        };
        // A new pipeline may take over the port of a socket that is closed.
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.retain(|socket| !socket.stop.is_closed());
        for one in &mut old {
            let kept = pipelines.iter().find(|pipeline| is_same(one, pipeline));
            let stays = |asked: &SocketAddr| kept.is_some_and(|kept| kept.listen.contains(asked));
            closed.extend(one.sockets.extract_if(.., |socket| !stays(&socket.asked)));
        }
        closed.iter().for_each(|socket| socket.close(Phase::Draining));
        for pipeline in pipelines {
            let known = old.iter().position(|one| is_same(one, pipeline));
            let mut one = match known {
                Some(at) => old.swap_remove(at),
                None => self.begin(pipeline),
            };
            one.checked.current.store(Arc::clone(pipeline));
            if let (Some(table), Protocol::Http(new)) = (&one.table, &pipeline.protocol) {
                table.store(Arc::clone(new));
            }
            for address in &pipeline.listen {
                if one.sockets.iter().any(|socket| socket.asked == *address) {
                    continue;
                }
                let is_known = closed.iter().any(|one| one.address.port() == address.port());
                let port = if is_known { Port::TakenOver } else { Port::Lent };
                match self.open(&one, *address, port, settings) {
                    Ok(socket) => one.sockets.push(socket),
                    Err(error) => failures.push((pipeline.id.clone(), error)),
                }
            }
            running.push(one);
        }
        for gone in old {
            gone.checked.drain.advance(Phase::Stopped);
        }
        failures
    }

    fn begin(&self, pipeline: &Arc<Pipeline>) -> Running {
        let one = Running::new(pipeline);
        if let Some(first) = self.workers.first() {
            // Fails only when the worker is gone.
            let _ = first.send(Order::Check(one.checked.clone()));
        }
        one
    }

    fn open(
        &self,
        one: &Running,
        asked: SocketAddr,
        port: Port,
        settings: &Settings,
    ) -> Result<Socket, BindError> {
        // Without HTTP the server may speak first, so that only HTTP connections can wait for a
        // request.
        let setting = format!("`listen` of pipeline '{}'", one.checked.current.load().id);
        let mut options = Asked { port, ..Asked::of(settings, setting.into()) };
        if one.table.is_none() {
            options.defer = std::time::Duration::ZERO;
        }
        let bound = bind(asked, self.workers.len(), &options)?;
        let (stop, stopped) = watch::channel(Phase::Serving);
        let drain = Arc::new(DrainState::default());
        for (listener, worker) in bound.listeners.into_iter().zip(&self.workers) {
            let serves = match &one.table {
                Some(table) => Serves::Http(Arc::clone(table)),
                None => Serves::Stream,
            };
            // Fails only when the worker is gone.
            let _ = worker.send(Order::Open(Box::new(Opening {
                listener,
                serves,
                current: Arc::clone(&one.checked.current),
                counters: Arc::clone(&one.counters),
                drain: Arc::clone(&drain),
                stopped: stopped.clone(),
                listening: Listening::new(&self.drain),
            })));
        }
        Ok(Socket { asked, address: bound.address, drain, stop })
    }

    /// Ends every listener, and later every connection.
    pub(crate) fn close(&self, phase: Phase) {
        for one in &*self.lock() {
            one.checked.drain.advance(phase);
            one.sockets.iter().for_each(|socket| socket.close(phase));
        }
    }

    /// Every pipeline, for operators.
    pub(crate) fn status(&self) -> Vec<PipelineStatus> {
        let now_ms = now_ns() / 1_000_000;
        self.lock().iter().map(|one| one.status(now_ms)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn new(pipeline: &Arc<Pipeline>) -> Self {
        let table = match &pipeline.protocol {
            Protocol::Http(table) => Some(Arc::new(ArcSwap::new(Arc::clone(table)))),
            _ => None,
        };
        Self {
            sockets: Vec::new(),
            checked: Checked {
                current: Arc::new(ArcSwap::new(Arc::clone(pipeline))),
                drain: Arc::default(),
            },
            table,
            counters: Arc::default(),
        }
    }

    fn status(&self, now_ms: u64) -> PipelineStatus {
        let pipeline = self.checked.current.load();
        let states = pipeline.groups().flat_map(|group| group.states(now_ms));
        let members: Vec<MemberState> = states.collect();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let active = counters.active.load(Ordering::Relaxed);
        PipelineStatus {
            id: pipeline.id.clone(),
            protocol: pipeline.protocol.name(),
            listen: self.sockets.iter().map(|socket| socket.address).collect(),
            counts: vec![
                ("accepted", count(&counters.accepted)),
                ("limited", count(&counters.limited)),
                ("unreached", count(&counters.unreached)),
                ("expired", count(&counters.expired)),
                ("broken", count(&counters.broken)),
                ("denied", count(&counters.denied)),
                ("slow", count(&counters.slow)),
                ("late", count(&counters.late)),
                ("messages", count(&counters.messages)),
                ("sent_bytes", count(&counters.sent)),
                ("received_bytes", count(&counters.received)),
            ],
            active: u64::try_from(active).unwrap_or_default(),
            members,
            limit: pipeline.limit_name.clone(),
        }
    }
}

impl Socket {
    fn close(&self, phase: Phase) {
        self.drain.advance(phase);
        // Fails only when no worker listens any more.
        let _ = self.stop.send(phase);
    }
}
