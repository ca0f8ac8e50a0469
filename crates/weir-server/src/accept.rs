//! Taking connections from the listening sockets to the workers.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;

use crate::deadline::Deadlines;
use crate::descriptors::{Admission, Counted, Files};
use crate::drain::{Listening, Phase};
use crate::executor::{Executor, spawn, yield_now};
use crate::http::downstream::serve;
use crate::listener::turn_away;
use crate::metrics::{OpenConnection, WorkerCounters};
use crate::net::Socket;
use crate::start_error::StartError;
use crate::watched::Watched;
use crate::worker::Worker;

/// Time between two accepts when the system has no file descriptor left, whatever was counted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Interval between log lines about this, or about waiting clients.
const TOLD_AGAIN: Duration = Duration::from_secs(10);
/// How long a draining listener accepts connections whose handshake had already begun.
const LAST_HANDSHAKES: Duration = Duration::from_millis(300);
/// Duration from which a non-empty queue is not expected to end by itself.
const QUEUE_MAX: Duration = Duration::from_millis(500);
/// Connections accepted in a row before those accepted are served.
const ACCEPTS_MAX: usize = 32;

/// A new connection, non-blocking, and its peer.
pub(crate) type Accepted = (TcpStream, SocketAddr);
/// A connection on its way from an acceptor to a worker, which counts it already.
pub(crate) type Handed = (Accepted, Admission, OpenConnection);

/// Serves connections of the worker's own listening socket until `stopped` says to drain.
pub(crate) async fn accept_own(
    worker: &Rc<Worker>,
    listener: TcpListener,
    stopped: watch::Receiver<Phase>,
) {
    let take = |accepted, admission| {
        worker.deadlines.refresh();
        admit(worker, accepted, admission, OpenConnection::new(&worker.counters));
    };
    let (counters, files) = (&worker.counters, &worker.files);
    accept_until_drained(listener, counters, files, &worker.deadlines, stopped, take).await;
}

/// Serves connections that the acceptors hand to this worker.
pub(crate) async fn accept_handed(worker: &Rc<Worker>, mut receiver: UnboundedReceiver<Handed>) {
    while let Some((accepted, admission, open)) = receiver.recv().await {
        worker.deadlines.refresh();
        admit(worker, accepted, admission, open);
    }
}

/// Starts serving a connection, unless there are too many with it.
fn admit(
    worker: &Rc<Worker>,
    (stream, peer): Accepted,
    admission: Admission,
    open: OpenConnection,
) {
    if !admits(worker) {
        // Closed before it is uncounted: the next holder of its place must find the file closed.
        drop(stream);
        return;
    }
    let stream = Socket::fresh(stream);
    if let Err(error) = spawn(serve(Rc::clone(worker), stream, peer, admission, open)) {
        tracing::error!(%error, "a connection is not served");
    }
}

/// Whether a new connection is within the limit; counts it as accepted or refused.
pub(crate) fn admits(worker: &Worker) -> bool {
    let max = worker.snapshot().settings.connections_max / worker.counters.workers().max(1);
    let admits = worker.counters.connections() <= max.max(1) as i64;
    match admits {
        true => worker.counters.connection_accepted(),
        false => worker.counters.connection_refused(),
    }
    admits
}

/// Passes every connection to `take` until `stopped` says to drain, then accepts those whose
/// handshake has begun, so that closing the listener resets none of them.
pub(crate) async fn accept_until_drained(
    listener: TcpListener,
    counters: &WorkerCounters,
    files: &Arc<Files>,
    deadlines: &Rc<Deadlines>,
    mut stopped: watch::Receiver<Phase>,
    take: impl Fn(Accepted, Admission),
) {
    let listener = match Watched::new(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "cannot listen");
            return;
        }
    };
    tokio::select! {
        biased;
        () = accept_all(&listener, counters, files, deadlines, &take) => return,
        _ = stopped.wait_for(|phase| *phase >= Phase::Draining) => {}
    }
    if let Err(error) = turn_away(listener.file()) {
        tracing::warn!(%error, "connections that come while the listener closes are reset");
    }
    // Ends by the timeout, unless the socket fails.
    tokio::select! {
        () = accept_all(&listener, counters, files, deadlines, &take) => {}
        () = deadlines.sleep(LAST_HANDSHAKES) => {}
    }
}

/// Passes every arriving connection to `take`. Ends only if the socket cannot be used at all.
async fn accept_all(
    listener: &Watched<TcpListener>,
    counters: &WorkerCounters,
    files: &Arc<Files>,
    deadlines: &Rc<Deadlines>,
    take: impl Fn(Accepted, Admission),
) {
    let mut entrance = Entrance::new(files, deadlines);
    loop {
        poll_fn(|_| listener.poll_readable()).await;
        for _ in 0..ACCEPTS_MAX {
            let Some(admission) = entrance.admission(listener.file()).await else {
                listener.clear_readable();
                break;
            };
            match listener.try_read(accept) {
                Ok(accepted) => take(accepted, admission),
                // There are no more.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    entrance.queue = None;
                    break;
                }
                Err(error) => {
                    drop(admission);
                    counters.accept_failed();
                    entrance.pause(&error).await;
                    break;
                }
            }
        }
        yield_now().await;
    }
}

fn accept(listener: &TcpListener) -> io::Result<Accepted> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (stream, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    Ok((stream.into(), peer.ok_or(io::ErrorKind::InvalidData)?))
}

/// Whether a connection waits in the listener's queue.
fn is_awaited(listener: &TcpListener) -> bool {
    let mut one = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut one, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Admission of connections at one listening socket.
struct Entrance<'a> {
    files: &'a Arc<Files>,
    deadlines: &'a Rc<Deadlines>,
    /// The last connection was refused because no file became free in time.
    refusing: bool,
    /// The queue of waiting connections, from the first one that found no free file.
    queue: Option<Queue<'a>>,
    /// When the shortage of files was last logged.
    told: Option<Instant>,
}

/// Connections that wait at one listening socket.
struct Queue<'a> {
    since: Instant,
    /// Set once the queue has lasted too long to end by itself.
    long: Option<Counted<'a>>,
}

impl<'a> Entrance<'a> {
    fn new(files: &'a Arc<Files>, deadlines: &'a Rc<Deadlines>) -> Self {
        Self { files, deadlines, refusing: false, queue: None, told: None }
    }

    /// Admission of the next connection; `None` if no descriptor is free and the queue is empty.
    async fn admission(&mut self, listener: &TcpListener) -> Option<Admission> {
        if let Some(file) = self.files.try_client() {
            self.refusing = false;
            return Some(file);
        }
        if !is_awaited(listener) {
            self.queue = None;
            return None;
        }
        self.tell("descriptor limit reached: new connections stay queued");
        let admission = self.wait().await;
        self.refusing = admission.refused;
        Some(admission)
    }

    /// Waits until the first client of the queue is admitted, or may be answered with 503.
    async fn wait(&mut self) -> Admission {
        let new = || Queue { since: Instant::now(), long: None };
        let queue = self.queue.get_or_insert_with(new);
        let mut admission = pin!(self.files.admission(self.deadlines, !self.refusing));
        if queue.long.is_none() {
            let left = QUEUE_MAX.saturating_sub(queue.since.elapsed());
            tokio::select! {
                biased;
                admission = &mut admission => return admission,
                () = self.deadlines.sleep(left) => queue.long = Some(self.files.queue()),
            }
        }
        admission.await
    }

    async fn pause(&mut self, error: &io::Error) {
        // A connection reset before it was accepted is no reason to wait.
        if error.kind() == io::ErrorKind::ConnectionAborted {
            return;
        }
        self.tell(&format!("cannot accept connections: {error}"));
        self.deadlines.sleep(ACCEPT_PAUSE).await;
    }

    fn tell(&mut self, what: &str) {
        if self.told.is_none_or(|told| told.elapsed() >= TOLD_AGAIN) {
            self.told = Some(Instant::now());
            tracing::warn!("{what}; raise the limit on open files");
        }
    }
}

/// A thread that accepts and hands connections to the worker with the fewest.
pub(crate) struct Acceptor {
    pub(crate) senders: Arc<[UnboundedSender<Handed>]>,
    pub(crate) counters: Arc<[Arc<WorkerCounters>]>,
    pub(crate) files: Arc<Files>,
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
        let run = move || {
            let done = Executor::new().and_then(|executor| executor.run(self.run(listener)));
            if let Err(error) = done {
                tracing::error!(%error, "an acceptor has ended");
            }
        };
        builder.spawn(run).map_err(StartError::Thread)
    }

    async fn run(self, listener: TcpListener) {
        let stopped = self.stopped.clone();
        let first = self.counters.first().map(Arc::clone).unwrap_or_default();
        let take = |accepted, admission| self.hand_over(accepted, admission);
        let deadlines = Deadlines::new(Instant::now());
        let accept = accept_until_drained(listener, &first, &self.files, &deadlines, stopped, take);
        tokio::select! {
            () = accept => {}
            Err(error) = Rc::clone(&deadlines).run() => {
                tracing::error!(%error, "an acceptor has no timer");
            }
        }
    }

    /// Ties go round, so that a burst spreads evenly before the counts show it.
    fn hand_over(&self, accepted: Accepted, admission: Admission) {
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
        let _ = sender.send((accepted, admission, OpenConnection::new(counters)));
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::rc::Rc;
    use std::time::{Duration, Instant};

    use super::Entrance;
    use crate::deadline::Deadlines;
    use crate::descriptors::{Files, FilesPlan};
    use crate::executor::{Executor, yield_now};

    /// Idle connections are not closed for a queue that ends by itself.
    #[test]
    fn a_queue_is_long_from_its_second_half_second_until_it_is_empty() {
        // At most one client at a time.
        let files = Files::new(&FilesPlan::of(0, 1, false));
        let deadlines = Deadlines::new(Instant::now());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let mut entrance = Entrance::new(&files, &deadlines);
        let test = async {
            let first = entrance.admission(&listener).await.expect("there is room");
            assert!(entrance.admission(&listener).await.is_none(), "nobody is there");

            let _client = TcpStream::connect(address).expect("a connection");
            let leaves = async {
                yield_now().await;
                drop(first);
            };
            let (second, ()) = tokio::join!(entrance.admission(&listener), leaves);
            assert!(second.as_ref().is_some_and(|place| !place.refused) && !files.is_overrun());

            let leaves = async {
                while !files.is_overrun() {
                    deadlines.sleep(Duration::from_millis(10)).await;
                }
                drop(second);
            };
            let (third, ()) = tokio::join!(entrance.admission(&listener), leaves);
            assert!(third.is_some_and(|place| !place.refused), "the wait goes on");
            assert!(files.is_overrun(), "nobody has seen the queue empty");

            let _last = files.try_client().expect("there is room");
            let _accepted = listener.accept().expect("whoever waited");
            assert!(entrance.admission(&listener).await.is_none(), "nobody is there");
            assert!(!files.is_overrun());
        };
        let executor = Executor::new().expect("an executor");
        let done = executor.run(async {
            tokio::select! {
                () = test => {}
                Err(error) = Rc::clone(&deadlines).run() => panic!("no timer: {error}"),
            }
        });
        done.expect("a run");
    }
}
