//! Connections to upstreams: kept for reuse, bounded, and thrown away when in doubt.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hashbrown::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_filter::Target;
use weir_snapshot::PoolSettings;

use super::buffers::Carry;
use super::downstream::Client;
use crate::deadline::TICK_MS;
use crate::descriptors::UpstreamFile;
use crate::error::{ErrorKind, ProxyError};
use crate::net::{Socket, connect_to, is_stale, poll_read, watch_over};
use crate::poller::Watched;
use crate::worker::Worker;

/// Bytes a client may send ahead while its request waits; beyond, they stay in the kernel.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// Age from which a client's going away is noticed in the midst of its first exchange.
const FRESH_MS_MAX: u64 = TICK_MS / 2;

/// A connection to an upstream, in use.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) stream: Socket,
    /// Where it is kept, while it is in use.
    pool: Option<Rc<Pool>>,
    /// Bytes received behind the head last parsed.
    pub(crate) carry: Carry,
    /// It has served a request before, so it may turn out stale.
    pub(crate) reused: bool,
    opened_ms: u64,
    _permit: Option<OwnedSemaphorePermit>,
    _file: UpstreamFile,
}

#[derive(Debug)]
struct Idle {
    upstream: Box<Upstream>,
    since_ms: u64,
}

/// The connections of one worker to one target.
#[derive(Debug, Default)]
struct Pool {
    idle: RefCell<VecDeque<Idle>>,
    permits: OnceCell<Arc<Semaphore>>,
    waiting: Cell<usize>,
    idle_ms_max: Cell<u64>,
}

/// All pools of one worker.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    by_target: RefCell<HashMap<Arc<Target>, Rc<Pool>>>,
}

impl Pools {
    /// A kept connection to `target` that is still good.
    fn take(
        &self,
        target: &Arc<Target>,
        settings: &PoolSettings,
        now_ms: u64,
    ) -> Option<Box<Upstream>> {
        let pools = self.by_target.borrow();
        let pool = pools.get(target)?;
        let mut idle = pool.idle.borrow_mut();
        while let Some(Idle { mut upstream, since_ms }) = idle.pop_back() {
            let fresh = now_ms.saturating_sub(since_ms) < ms(settings.idle_timeout);
            if fresh && !is_stale(&upstream.stream) {
                upstream.pool = Some(Rc::clone(pool));
                return Some(upstream);
            }
        }
        None
    }

    /// Closes connections that were idle for too long or that the upstream closed; all that are
    /// idle if somebody is `short` of open files.
    pub(crate) fn evict(&self, now_ms: u64, short: bool) {
        self.by_target.borrow_mut().retain(|_, pool| {
            let max = if short { 0 } else { pool.idle_ms_max.get() };
            let mut idle = pool.idle.borrow_mut();
            idle.retain(|idle| {
                now_ms.saturating_sub(idle.since_ms) < max && !is_stale(&idle.upstream.stream)
            });
            !idle.is_empty() || pool.is_in_use()
        });
    }

    /// The pool of `target`, new if there is none.
    fn of(&self, target: &Arc<Target>) -> Rc<Pool> {
        Rc::clone(self.by_target.borrow_mut().entry(Arc::clone(target)).or_default())
    }
}

impl Pool {
    fn permits(&self, bound: usize) -> Arc<Semaphore> {
        Arc::clone(self.permits.get_or_init(|| Arc::new(Semaphore::new(bound))))
    }

    /// Joins the queue of those waiting for a connection, if it has room.
    fn enqueue(&self, queue_max: usize) -> bool {
        let room = self.waiting.get() < queue_max;
        self.waiting.set(self.waiting.get() + usize::from(room));
        room
    }

    fn dequeue(&self) {
        self.waiting.set(self.waiting.get().saturating_sub(1));
    }

    /// Whether it is needed without an idle connection: by one in use, or by who waits for one or
    /// may open one.
    fn is_in_use(self: &Rc<Self>) -> bool {
        let permits = self.permits.get();
        Rc::strong_count(self) > 1 || permits.is_some_and(|permits| Arc::strong_count(permits) > 1)
    }
}

/// Keeps a connection whose last response was complete, for the next request.
pub(crate) fn keep(mut upstream: Box<Upstream>, settings: &PoolSettings, now_ms: u64) {
    let age = now_ms.saturating_sub(upstream.opened_ms);
    let old = settings.life_timeout.is_some_and(|life| age >= ms(life));
    // Without its pool: one that is kept must not keep what keeps it.
    let Some(pool) = upstream.pool.take().filter(|_| settings.enabled && !old) else { return };
    upstream.carry.shrink();
    upstream.reused = true;
    // A permit is for a connection in use: who waits must not wait for an idle one.
    upstream._permit = None;
    pool.idle_ms_max.set(ms(settings.idle_timeout));
    pool.idle.borrow_mut().push_back(Idle { upstream, since_ms: now_ms });
}

/// What a connection is wanted for.
pub(crate) struct Wanted<'a> {
    pub(crate) target: &'a Arc<Target>,
    pub(crate) pool: &'a PoolSettings,
    pub(crate) connect_timeout: Duration,
    /// Workers that share the bound on connections.
    pub(crate) workers: usize,
    /// Do not use a kept connection: one has just turned out stale.
    pub(crate) fresh: bool,
    /// Where a filter has set the target: link-local addresses that it may be all the same.
    pub(crate) chosen: Option<&'a [IpAddr]>,
}

/// A kept connection to `wanted.target`, where none has to be waited for.
pub(crate) fn kept(worker: &Worker, wanted: &Wanted<'_>) -> Option<Box<Upstream>> {
    if wanted.pool.connections_max.is_some() || wanted.fresh {
        return None;
    }
    worker.pools.take(wanted.target, wanted.pool, worker.deadlines.now_ms())
}

/// A connection to `wanted.target`, kept or new, where it may take time. Ends early when the client
/// goes away.
pub(crate) async fn acquire(
    worker: &Rc<Worker>,
    client: &mut Client,
    wanted: &Wanted<'_>,
) -> Result<Box<Upstream>, ProxyError> {
    let permit = match wanted.pool.connections_max {
        None => None,
        Some(max) => Some(permit(worker, client, wanted, max).await?),
    };
    if !wanted.fresh {
        let now_ms = worker.deadlines.now_ms();
        if let Some(mut upstream) = worker.pools.take(wanted.target, wanted.pool, now_ms) {
            upstream._permit = permit;
            return Ok(upstream);
        }
    }
    let file = file(worker, client, wanted).await?;
    let stream = connect(worker, client, wanted).await?;
    worker.counters.upstream_opened();
    Ok(Box::new(Upstream {
        stream: Socket::watched(stream),
        pool: Some(worker.pools.of(wanted.target)),
        carry: Carry::default(),
        reused: false,
        opened_ms: worker.deadlines.now_ms(),
        _permit: permit,
        _file: file,
    }))
}

/// An open file for a connection; waits for one if there is none.
async fn file(
    worker: &Rc<Worker>,
    client: &mut Client,
    wanted: &Wanted<'_>,
) -> Result<UpstreamFile, ProxyError> {
    if let Some(file) = worker.files.try_upstream() {
        return Ok(file);
    }
    worker.pools.evict(worker.deadlines.now_ms(), true);
    let wait = worker.files.upstream();
    let got = within(worker, client, wanted.pool.acquire_timeout, wait).await?;
    got.ok_or_else(|| ProxyError::with(ErrorKind::NoFiles, "no open file became free"))
}

async fn permit(
    worker: &Rc<Worker>,
    client: &mut Client,
    wanted: &Wanted<'_>,
    max: usize,
) -> Result<OwnedSemaphorePermit, ProxyError> {
    let pool = worker.pools.of(wanted.target);
    let permits = pool.permits(max.div_ceil(wanted.workers.max(1)).max(1));
    if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
        return Ok(permit);
    }
    if !pool.enqueue(wanted.pool.queue_max) {
        return Err(ProxyError::with(ErrorKind::PoolExhausted, "the acquire queue is full"));
    }
    let wait = permits.acquire_owned();
    let got = within(worker, client, wanted.pool.acquire_timeout, wait).await;
    pool.dequeue();
    match got {
        Ok(Some(Ok(permit))) => Ok(permit),
        Ok(_) => Err(ProxyError::with(ErrorKind::PoolExhausted, "no connection became free")),
        Err(gone) => Err(gone),
    }
}

async fn connect(
    worker: &Rc<Worker>,
    client: &mut Client,
    wanted: &Wanted<'_>,
) -> Result<Watched<TcpStream>, ProxyError> {
    let target = wanted.target;
    let timed_out = || {
        let host = format!("connection timed out: {}:{}", target.host, target.port);
        ProxyError::with(ErrorKind::ConnectTimeout, host)
    };
    let now_ms = worker.deadlines.now_ms();
    let dial = async {
        let addresses = worker.resolver.resolve(target, now_ms).await.map_err(|error| {
            ProxyError::with(ErrorKind::Resolve, format!("{}: {error}", target.host))
        })?;
        let chosen = wanted.chosen;
        dial(&addresses, target, |peer, local| worker.identity.may_reach(peer, local, chosen)).await
    };
    match within(worker, client, wanted.connect_timeout, dial).await? {
        Some(stream) => stream,
        None => Err(timed_out()),
    }
}

/// Tries the addresses one after another, but for those that `may_reach` rules out, which is asked
/// before and, with the address of this end, after connecting.
async fn dial(
    addresses: &[SocketAddr],
    target: &Target,
    may_reach: impl Fn(SocketAddr, Option<IpAddr>) -> bool,
) -> Result<Watched<TcpStream>, ProxyError> {
    let mut last = None;
    for address in addresses {
        if !may_reach(*address, None) {
            last = Some(io::Error::from(io::ErrorKind::PermissionDenied));
            continue;
        }
        match connect_to(*address).await {
            Ok(stream) => {
                let local = stream.file().local_addr().map(|local| local.ip()).ok();
                if !may_reach(*address, local) {
                    last = Some(io::Error::from(io::ErrorKind::PermissionDenied));
                    continue;
                }
                // Failing to set them costs latency, or time if the upstream vanishes.
                let _ = stream.file().set_nodelay(true);
                let _ = watch_over(stream.file());
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    let cause = last.map_or_else(|| "no address".to_owned(), |error| error.to_string());
    Err(ProxyError::with(ErrorKind::Connect, format!("{cause}: {}:{}", target.host, target.port)))
}

/// Runs `work` until it is done, `time` is up (`None`) or the client is gone (an error).
async fn within<T>(
    worker: &Worker,
    client: &mut Client,
    time: Duration,
    work: impl Future<Output = T>,
) -> Result<Option<T>, ProxyError> {
    let mut work = pin!(work);
    worker.deadlines.refresh();
    client.deadline.set(time);
    let result = poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(Some(done)));
        }
        if poll_gone(worker, client) {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        if client.deadline.poll(cx) { Poll::Ready(Ok(None)) } else { Poll::Pending }
    })
    .await;
    client.deadline.clear();
    result
}

/// Whether the client closed its connection; what it sent ahead is kept, up to a bound.
pub(crate) fn poll_gone(worker: &Worker, client: &mut Client) -> bool {
    if client.stream.is_fresh() {
        // A short exchange is over before it is worth a system call to be told.
        let age_ms = worker.deadlines.now_ms().saturating_sub(client.accepted_ms);
        if age_ms < FRESH_MS_MAX {
            client.deadline.nudge();
            return false;
        }
    }
    while client.carry.len() < AHEAD_BYTES_MAX {
        let mut scratch = worker.scratch.borrow_mut();
        match poll_read(&mut client.stream, scratch.buffer()) {
            Poll::Pending => return false,
            Poll::Ready(Ok(0) | Err(_)) => {
                client.ended = true;
                return true;
            }
            Poll::Ready(Ok(count)) => {
                client.carry.push(scratch.read(count));
            }
        }
    }
    false
}

fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
