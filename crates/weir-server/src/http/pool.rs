//! Connections to upstreams that a worker keeps for reuse.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_filter::Target;
use weir_snapshot::PoolSettings;

use super::buffers::Carry;
use crate::descriptors::UpstreamFile;
use crate::net::{Socket, is_stale};

/// A connection to an upstream, in use.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) stream: Socket,
    /// The pool it belongs to, while it is in use.
    pool: Option<Rc<Pool>>,
    /// Bytes received behind the head last parsed.
    pub(crate) carry: Carry,
    /// The connection has served a request before, so it may turn out to be stale.
    pub(crate) reused: bool,
    opened_ms: u64,
    pub(super) _permit: Option<OwnedSemaphorePermit>,
    _file: UpstreamFile,
}

impl Upstream {
    /// A new connection, which `pool` keeps once it is idle.
    pub(super) fn new(
        stream: Socket,
        pool: Rc<Pool>,
        opened_ms: u64,
        permit: Option<OwnedSemaphorePermit>,
        file: UpstreamFile,
    ) -> Self {
        Self {
            stream,
            pool: Some(pool),
            carry: Carry::default(),
            reused: false,
            opened_ms,
            _permit: permit,
            _file: file,
        }
    }
}

#[derive(Debug)]
struct Idle {
    upstream: Box<Upstream>,
    since_ms: u64,
}

/// The connections of one worker to one target.
#[derive(Debug, Default)]
pub(super) struct Pool {
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
    pub(super) fn take(
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
    pub(super) fn of(&self, target: &Arc<Target>) -> Rc<Pool> {
        Rc::clone(self.by_target.borrow_mut().entry(Arc::clone(target)).or_default())
    }
}

impl Pool {
    pub(super) fn permits(&self, bound: usize) -> Arc<Semaphore> {
        Arc::clone(self.permits.get_or_init(|| Arc::new(Semaphore::new(bound))))
    }

    /// Joins the queue of those waiting for a connection, if it has room.
    pub(super) fn enqueue(&self, queue_max: usize) -> bool {
        let room = self.waiting.get() < queue_max;
        self.waiting.set(self.waiting.get() + usize::from(room));
        room
    }

    pub(super) fn dequeue(&self) {
        self.waiting.set(self.waiting.get().saturating_sub(1));
    }

    /// Whether the pool is needed without an idle connection: by a connection in use, or by a task
    /// that waits for one or may open one.
    fn is_in_use(self: &Rc<Self>) -> bool {
        let permits = self.permits.get();
        Rc::strong_count(self) > 1 || permits.is_some_and(|permits| Arc::strong_count(permits) > 1)
    }
}

/// Keeps a connection whose last response was complete, for the next request.
pub(crate) fn keep(mut upstream: Box<Upstream>, settings: &PoolSettings, now_ms: u64) {
    let age = now_ms.saturating_sub(upstream.opened_ms);
    let old = settings.life_timeout.is_some_and(|life| age >= ms(life));
    // Without its pool, which would make a reference cycle with the idle connection.
    let Some(pool) = upstream.pool.take().filter(|_| settings.enabled && !old) else { return };
    upstream.carry.shrink();
    upstream.reused = true;
    // A permit is for a connection in use: a waiting task must not wait for an idle one.
    upstream._permit = None;
    pool.idle_ms_max.set(ms(settings.idle_timeout));
    pool.idle.borrow_mut().push_back(Idle { upstream, since_ms: now_ms });
}

fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
