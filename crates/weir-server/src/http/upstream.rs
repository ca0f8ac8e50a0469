//! Connections to upstreams: pooled or new, bounded, and closed when in doubt.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use weir_filter::Target;
use weir_snapshot::PoolSettings;

use super::client::Client;
use super::pool::Upstream;
use crate::deadline::TICK_MS;
use crate::descriptors::UpstreamFile;
use crate::error::{ErrorKind, ProxyError};
use crate::net::{Socket, connect_to, poll_read, watch_over};
use crate::watched::Watched;
use crate::worker::Worker;

/// Bytes a client may send ahead while its request waits; beyond, they stay in the kernel.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// Age of a connection from which the client's leaving is noticed during its first exchange.
const FRESH_MS_MAX: u64 = TICK_MS / 2;

/// Requirements on an upstream connection.
pub(crate) struct Wanted<'a> {
    pub(crate) target: &'a Arc<Target>,
    pub(crate) pool: &'a PoolSettings,
    pub(crate) connect_timeout: Duration,
    /// Workers that share the bound on connections.
    pub(crate) workers: usize,
    /// Do not use a kept connection: one has just turned out stale.
    pub(crate) fresh: bool,
    /// Set if a filter chose the target: link-local addresses that are allowed nevertheless.
    pub(crate) chosen: Option<&'a [IpAddr]>,
}

/// A pooled connection to `wanted.target`, if one is idle and their number is not limited.
pub(crate) fn kept(worker: &Worker, wanted: &Wanted<'_>) -> Option<Box<Upstream>> {
    if wanted.pool.connections_max.is_some() || wanted.fresh {
        return None;
    }
    worker.pools.take(wanted.target, wanted.pool, worker.deadlines.now_ms())
}

/// A connection to `wanted.target`, pooled or new, where this may have to wait. Ends early when the
/// client disconnects.
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
    let (stream, pool) = (Socket::watched(stream), worker.pools.of(wanted.target));
    let now_ms = worker.deadlines.now_ms();
    Ok(Box::new(Upstream::new(stream, pool, now_ms, permit, file)))
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

/// Whether the client closed its connection; bytes sent ahead are kept, up to a bound.
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
