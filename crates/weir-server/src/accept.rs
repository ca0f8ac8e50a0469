//! Taking connections from the listening sockets to the workers.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;

use crate::drain::{Listening, Phase};
use crate::http::downstream::serve;
use crate::listener::turn_away;
use crate::metrics::{OpenConnection, WorkerCounters};
use crate::net::Socket;
use crate::server::StartError;
use crate::worker::Worker;

/// Time between two accepts when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long handshakes that had begun may take to be accepted once draining begins.
const LAST_HANDSHAKES: Duration = Duration::from_millis(300);
/// Connections accepted in a row before those accepted are served.
const ACCEPTS_MAX: usize = 32;

/// A new connection, non-blocking, and its peer.
type Accepted = (TcpStream, SocketAddr);
/// A connection on its way from an acceptor to a worker, which counts it already.
pub(crate) type Handed = (Accepted, OpenConnection);

/// Serves what a worker's own listening socket gives until `stopped` says to drain.
pub(crate) async fn accept_own(
    worker: &Rc<Worker>,
    listener: TcpListener,
    stopped: watch::Receiver<Phase>,
) {
    let take = |accepted| {
        worker.deadlines.refresh();
        admit(worker, accepted, OpenConnection::new(&worker.counters));
    };
    accept_until_drained(listener, &worker.counters, stopped, take).await;
}

/// Serves what the acceptors hand to this worker.
pub(crate) async fn accept_handed(worker: &Rc<Worker>, mut receiver: UnboundedReceiver<Handed>) {
    while let Some((accepted, open)) = receiver.recv().await {
        worker.deadlines.refresh();
        admit(worker, accepted, open);
    }
}

/// Starts serving a connection, unless there are too many with it.
fn admit(worker: &Rc<Worker>, (stream, peer): Accepted, open: OpenConnection) {
    let max = worker.snapshot().settings.connections_max / worker.counters.workers().max(1);
    if worker.counters.connections() > max.max(1) as i64 {
        worker.counters.connection_refused();
        return;
    }
    worker.counters.connection_accepted();
    tokio::task::spawn_local(serve(Rc::clone(worker), Socket::fresh(stream), peer, open));
}

/// Gives every connection to `take` until `stopped` says to drain, then what had begun to connect,
/// so that closing the listener resets nobody.
async fn accept_until_drained(
    listener: TcpListener,
    counters: &WorkerCounters,
    mut stopped: watch::Receiver<Phase>,
    take: impl Fn(Accepted),
) {
    let listener = match watch(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "cannot listen");
            return;
        }
    };
    tokio::select! {
        biased;
        () = accept_all(&listener, counters, &take) => return,
        _ = stopped.wait_for(|phase| *phase >= Phase::Draining) => {}
    }
    if let Err(error) = turn_away(listener.get_ref()) {
        tracing::debug!(%error, "connections that come while the listener closes are reset");
    }
    // The end of the time is what ends it; an error means that nothing more can be taken.
    let _ = tokio::time::timeout(LAST_HANDSHAKES, accept_all(&listener, counters, &take)).await;
}

/// Gives every connection that arrives to `take`. Ends only if the socket cannot be used at all.
async fn accept_all(
    listener: &AsyncFd<TcpListener>,
    counters: &WorkerCounters,
    take: impl Fn(Accepted),
) {
    loop {
        let Ok(mut ready) = listener.readable().await else { return };
        for _ in 0..ACCEPTS_MAX {
            match ready.try_io(|listener| accept(listener.get_ref())) {
                Ok(Ok(accepted)) => take(accepted),
                Ok(Err(error)) => {
                    pause_accepting(counters, &error).await;
                    break;
                }
                // There are no more.
                Err(_) => break,
            }
        }
        drop(ready);
        tokio::task::yield_now().await;
    }
}

#[expect(deprecated, reason = "its unsafe successor asks for what a `TcpListener` guarantees")]
fn watch(listener: TcpListener) -> io::Result<AsyncFd<TcpListener>> {
    AsyncFd::with_interest(listener, Interest::READABLE)
}

fn accept(listener: &TcpListener) -> io::Result<Accepted> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (stream, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    Ok((stream.into(), peer.ok_or(io::ErrorKind::InvalidData)?))
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
pub(crate) struct Acceptor {
    pub(crate) senders: Arc<[UnboundedSender<Handed>]>,
    pub(crate) counters: Arc<[Arc<WorkerCounters>]>,
    /// Whose turn it is among equals; shared by all acceptors.
    pub(crate) next: Arc<AtomicUsize>,
    pub(crate) stopped: watch::Receiver<Phase>,
    /// Until nothing more is accepted.
    pub(crate) _listening: Listening,
}

impl Acceptor {
    /// Starts acceptor number `n`.
    pub(crate) fn spawn(
        self,
        n: usize,
        listener: TcpListener,
    ) -> Result<JoinHandle<()>, StartError> {
        let builder = std::thread::Builder::new().name(format!("weir-acceptor-{n}"));
        let run = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.run(listener)),
            Err(error) => tracing::error!(%error, "an acceptor has no runtime"),
        };
        builder.spawn(run).map_err(StartError::Thread)
    }

    async fn run(self, listener: TcpListener) {
        let stopped = self.stopped.clone();
        let first = self.counters.first().map(Arc::clone).unwrap_or_default();
        let take = |accepted| self.hand_over(accepted);
        accept_until_drained(listener, &first, stopped, take).await;
    }

    /// Ties go round, so that a burst spreads evenly before the counts show it.
    fn hand_over(&self, accepted: Accepted) {
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
        // Fails only when the worker is gone.
        let _ = sender.send((accepted, OpenConnection::new(counters)));
    }
}
