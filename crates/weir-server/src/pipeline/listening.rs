//! The listeners of pipelines in a worker.

use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arc_swap::ArcSwap;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use weir_snapshot::{Pipeline, Protocol, Snapshot};

use super::counters::PipelineCounters;
use super::dubbo::SharedLinks;
use super::health::Checked;
use super::http::HttpPipeline;
use super::near::{Cut, Near};
use super::{dubbo, frame, health, socks, tcp};
use crate::accept::{Accepted, accept_until_drained, admits};
use crate::descriptors::Admission;
use crate::drain::{DrainState, Listening, Phase};
use crate::executor::{TIDY, spawn};
use crate::http::downstream;
use crate::metrics::OpenConnection;
use crate::net::Socket;
use crate::worker::Worker;

/// A listener that a worker is to serve.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) listener: TcpListener,
    pub(crate) serves: Serves,
    pub(crate) current: Arc<ArcSwap<Pipeline>>,
    pub(crate) counters: Arc<PipelineCounters>,
    pub(crate) drain: Arc<DrainState>,
    pub(crate) stopped: watch::Receiver<Phase>,
    /// Until nothing more is accepted.
    pub(crate) listening: Listening,
}

/// The engine that serves a listener's connections.
#[derive(Debug)]
pub(crate) enum Serves {
    /// The HTTP engine with its own route table.
    Http(Arc<ArcSwap<Snapshot>>),
    /// The pipeline's current configuration.
    Stream,
}

/// Order to a worker.
#[derive(Debug)]
pub(crate) enum Order {
    /// To serve.
    Open(Box<Opening>),
    /// To check upstreams: one worker does it for all.
    Check(Checked),
}

/// Executes orders until their channel is closed.
pub(crate) async fn take_orders(worker: &Rc<Worker>, mut orders: UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        let worker = Rc::clone(worker);
        let spawned = match order {
            Order::Open(opening) => spawn(serve(worker, *opening)),
            Order::Check(checked) => spawn(health::watch(worker, checked)),
        };
        if let Err(error) = spawned {
            tracing::error!(%error, "a pipeline is not served");
        }
    }
}

/// The handler for connections of one listener.
struct Entry {
    worker: Rc<Worker>,
    /// The worker state that serves HTTP, if the pipeline is an HTTP one.
    beside: Option<Rc<Worker>>,
    current: Arc<ArcSwap<Pipeline>>,
    counters: Arc<PipelineCounters>,
    drain: Arc<DrainState>,
    /// Connections to Dubbo providers that its consumers share.
    links: Rc<SharedLinks>,
}

async fn serve(worker: Rc<Worker>, opening: Opening) {
    let Opening { listener, serves, current, counters, drain, stopped, listening } = opening;
    let beside = match serves {
        Serves::Http(table) => {
            let pipeline = HttpPipeline::new(&counters, &current);
            Some(worker.beside(table, Arc::clone(&drain), pipeline))
        }
        Serves::Stream => None,
    };
    let links = Rc::default();
    let entry = Entry { worker: Rc::clone(&worker), beside, current, counters, drain, links };
    let take = |accepted, admission| {
        worker.deadlines.refresh();
        entry.take(accepted, admission);
    };
    let tidying = async {
        loop {
            worker.deadlines.sleep(TIDY).await;
            if let Some(beside) = &entry.beside {
                beside.tidy_own();
            }
        }
    };
    let (counters, files) = (&worker.counters, &worker.files);
    let accepting =
        accept_until_drained(listener, counters, files, &worker.deadlines, stopped, take);
    tokio::select! {
        () = accepting => {}
        () = tidying => {}
    }
    drop(listening);
    // Wakes idle connections, so that they notice the end.
    worker.deadlines.wake_all();
}

impl Entry {
    fn take(&self, (stream, peer): Accepted, admission: Admission) {
        let open = OpenConnection::new(&self.worker.counters);
        let pipeline = self.current.load_full();
        if admission.refused && self.beside.is_none() || !admits(&self.worker) {
            drop(stream);
            return;
        }
        self.counters.accepted.fetch_add(1, Ordering::Relaxed);
        let active = Active::new(&self.counters);
        let worker = Rc::clone(&self.worker);
        let socket = Socket::fresh(stream);
        let spawned = match &self.beside {
            Some(beside) => {
                let served = downstream::serve(Rc::clone(beside), socket, peer, admission, open);
                spawn(async move {
                    let _active = active;
                    served.await;
                })
            }
            None => {
                let drain = Arc::clone(&self.drain);
                let near = Near::new(worker, socket, peer, pipeline, drain);
                let links = Rc::clone(&self.links);
                spawn(async move {
                    converse(near, &links, active.counters()).await;
                    drop((admission, open, active));
                })
            }
        };
        if let Err(error) = spawned {
            tracing::error!(%error, "a connection is not served");
        }
    }
}

async fn speak(
    near: &mut Near,
    links: &Rc<SharedLinks>,
    counters: &Arc<PipelineCounters>,
) -> Result<(), Cut> {
    near.introduce().await?;
    let pipeline = Arc::clone(&near.pipeline);
    match &pipeline.protocol {
        Protocol::Tcp | Protocol::Http(_) => tcp::serve(near, counters).await,
        Protocol::Frame(settings) => frame::serve(near, settings, counters).await,
        Protocol::Dubbo(settings) => dubbo::serve(near, settings, links, counters).await,
        Protocol::Socks(rules) => socks::serve(near, rules, counters).await,
    }
}

/// Serves a connection by the protocol of its pipeline, and counts why it ended before its time.
async fn converse(mut near: Near, links: &Rc<SharedLinks>, counters: &Arc<PipelineCounters>) {
    let counter = match speak(&mut near, links, counters).await {
        Ok(()) | Err(Cut::Gone) => return,
        Err(Cut::Limited) => &counters.limited,
        Err(Cut::Unreached) => &counters.unreached,
        Err(Cut::Expired) => &counters.expired,
        Err(Cut::Broken) => &counters.broken,
        Err(Cut::Slow) => &counters.slow,
        Err(Cut::Denied) => &counters.denied,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A connection of a pipeline, counted while it lives.
#[derive(Debug)]
struct Active(Arc<PipelineCounters>);

impl Active {
    fn new(counters: &Arc<PipelineCounters>) -> Self {
        counters.active.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counters))
    }

    fn counters(&self) -> &Arc<PipelineCounters> {
        &self.0
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}
