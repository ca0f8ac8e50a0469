//! Divides the open files of the process between clients, upstreams and everything else.
//!
//! A connection is an open file. Clients get at most [`FilesPlan::clients_max`] of them, which
//! leaves enough for upstream connections: every accepted client gets an answer. When all are in
//! use, a new client waits unaccepted for a free file; if none becomes free, one of a few reserved
//! files is used to answer 503 (`docs/decisions/0011-open-files.md`).

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::deadline::Deadlines;

/// How long new clients wait while no file becomes free; after that they get 503.
const WAIT: Duration = Duration::from_secs(5);
/// Files of a worker or acceptor: listening socket, timer, poller and its wake-up descriptor,
/// rounded up.
const FILES_PER_THREAD: u64 = 8;
/// Files the process has without doing anything: standard streams, store, log, the admin API's
/// listeners and runtime, signals.
const FILES_OF_PROCESS: u64 = 32;
/// Pipes of a worker at most, each of two files: as many large bodies move without being copied.
const PIPES_PER_THREAD: u64 = 64;
/// Bounds of the reserve for files other than connections of the data plane.
const RESERVE: (u64, u64) = (16, 1024);

/// Shares of the limit on open files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesPlan {
    /// Client connections at most.
    pub clients_max: usize,
    /// Upstream connections that can always be opened, whatever clients have.
    pub upstreams_min: usize,
    /// Connections of clients that only get a 503.
    pub refusals_max: usize,
    /// Connections of each listener of the admin API.
    pub admin_max: usize,
    /// Pipes of each worker, through which large bodies go.
    pub pipes_max: usize,
}

impl FilesPlan {
    /// The shares of a process that may have `limit` files open, has `threads` workers and
    /// acceptors, and splices or does not. A limit far too low leaves one of each.
    pub fn of(limit: u64, threads: usize, splice: bool) -> Self {
        let fixed = FILES_OF_PROCESS + FILES_PER_THREAD * threads as u64;
        let reserve = (limit / 8).clamp(RESERVE.0, RESERVE.1);
        let pipes_max = if splice { PIPES_PER_THREAD } else { 0 };
        let pipes = (limit / 64).checked_div(threads as u64).unwrap_or(0).min(pipes_max);
        let fixed = fixed + reserve + 2 * pipes * threads as u64;
        let free = limit.saturating_sub(fixed);
        // A count that no memory suffices for is as good as none.
        let free = usize::try_from(free).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let upstreams_min = (free / 4).max(1);
        let reserve = reserve as usize;
        Self {
            clients_max: free.saturating_sub(upstreams_min).max(1),
            upstreams_min,
            refusals_max: reserve / 4,
            admin_max: reserve / 4,
            pipes_max: pipes as usize,
        }
    }
}

/// Open files of the data plane: each one in use is held by an [`Admission`] or an
/// [`UpstreamFile`].
#[derive(Debug)]
pub(crate) struct Files {
    /// Files shared by clients and upstreams.
    all: Semaphore,
    /// The part of it that clients may have.
    clients: Semaphore,
    refusals: Semaphore,
    /// Listeners with a waiting client but no file for it.
    crowded: AtomicUsize,
    /// Listeners with a queue that does not end.
    queues: AtomicUsize,
    /// Requests that need an upstream connection for which there is no file.
    starved: AtomicUsize,
    waits: AtomicU64,
    /// Pipes of each worker at most.
    pub(crate) pipes_max: usize,
}

/// The file of a client's connection; dropped after the connection is closed.
#[derive(Debug)]
pub(crate) struct Admission {
    /// The client only gets a 503.
    pub(crate) refused: bool,
    files: Arc<Files>,
}

impl Drop for Admission {
    fn drop(&mut self) {
        match self.refused {
            true => self.files.refusals.add_permits(1),
            false => {
                self.files.all.add_permits(1);
                self.files.clients.add_permits(1);
            }
        }
    }
}

impl Files {
    pub(crate) fn new(plan: &FilesPlan) -> Arc<Self> {
        let all = plan.clients_max.saturating_add(plan.upstreams_min);
        Arc::new(Self {
            all: Semaphore::new(all.min(Semaphore::MAX_PERMITS)),
            clients: Semaphore::new(plan.clients_max),
            refusals: Semaphore::new(plan.refusals_max),
            crowded: AtomicUsize::new(0),
            queues: AtomicUsize::new(0),
            starved: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
            pipes_max: plan.pipes_max,
        })
    }

    /// A file for a client, if there is one at once.
    pub(crate) fn try_client(self: &Arc<Self>) -> Option<Admission> {
        let one = self.clients.try_acquire().ok()?;
        self.all.try_acquire().ok()?.forget();
        one.forget();
        Some(Admission { refused: false, files: Arc::clone(self) })
    }

    /// Waits for a file for a client in the queue. Unless `patient`, one that is reserved for a 503
    /// answer will do.
    pub(crate) async fn admission(
        self: &Arc<Self>,
        deadlines: &Rc<Deadlines>,
        patient: bool,
    ) -> Admission {
        let _crowded = Counted::on(&self.crowded);
        self.waits.fetch_add(1, Ordering::Relaxed);
        if patient {
            tokio::select! {
                biased;
                file = self.client() => return file,
                () = deadlines.sleep(WAIT) => {}
            }
        }
        tokio::select! {
            biased;
            file = self.client() => file,
            file = self.refusal() => file,
        }
    }

    async fn client(self: &Arc<Self>) -> Admission {
        // Never closed, so both are always given in the end.
        let one = self.clients.acquire().await;
        let other = self.all.acquire().await;
        one.into_iter().chain(other).for_each(tokio::sync::SemaphorePermit::forget);
        Admission { refused: false, files: Arc::clone(self) }
    }

    async fn refusal(self: &Arc<Self>) -> Admission {
        self.refusals.acquire().await.into_iter().for_each(tokio::sync::SemaphorePermit::forget);
        Admission { refused: true, files: Arc::clone(self) }
    }

    /// A file for a connection to an upstream, if there is one at once.
    pub(crate) fn try_upstream(self: &Arc<Self>) -> Option<UpstreamFile> {
        self.all.try_acquire().ok()?.forget();
        Some(UpstreamFile(Arc::clone(self)))
    }

    /// Waits for a file for a connection to an upstream.
    pub(crate) async fn upstream(self: &Arc<Self>) -> UpstreamFile {
        let _starved = Counted::on(&self.starved);
        self.all.acquire().await.into_iter().for_each(tokio::sync::SemaphorePermit::forget);
        UpstreamFile(Arc::clone(self))
    }

    /// Whether a client waits for a file.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded.load(Ordering::Relaxed) > 0
    }

    /// Counts one more listener with a persistent queue, for the lifetime of the result.
    pub(crate) fn queue(&self) -> Counted<'_> {
        Counted::on(&self.queues)
    }

    /// Whether clients wait and connections end too slowly to make room for them.
    pub(crate) fn is_overrun(&self) -> bool {
        self.queues.load(Ordering::Relaxed) > 0
    }

    /// Whether a client or a request waits for a file that an idle upstream connection holds.
    pub(crate) fn is_short(&self) -> bool {
        let any = self.crowded.load(Ordering::Relaxed) + self.starved.load(Ordering::Relaxed) > 0;
        any && self.all.available_permits() == 0
    }

    /// Number of times that accepting had to wait.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }
}

/// Adds one to a counter while it lives, however a wait ends.
#[derive(Debug)]
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn on(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The file of a connection to an upstream; dropped after the connection is closed.
#[derive(Debug)]
pub(crate) struct UpstreamFile(Arc<Files>);

impl Drop for UpstreamFile {
    fn drop(&mut self) {
        self.0.all.add_permits(1);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};
    use std::time::Instant;

    use super::{Files, FilesPlan};
    use crate::deadline::Deadlines;

    #[test]
    fn shares_by_limit() {
        let check = |limit, threads, expected| {
            let plan = FilesPlan::of(limit, threads, true);
            let connections = (plan.clients_max, plan.upstreams_min);
            assert_eq!((connections, plan.admin_max, plan.pipes_max), expected, "{limit}");
        };
        check(0, 1, ((1, 1), 4, 0));
        check(64, 2, ((1, 1), 4, 0));
        check(256, 2, ((126, 42), 8, 2));
        check(1024, 2, ((612, 204), 32, 8));
        check(20_000, 2, ((14_004, 4_668), 256, 64));
        check(20_000, 64, ((13_440, 4_480), 256, 4));
        let plan = FilesPlan::of(u64::MAX, 2, true);
        assert!(plan.clients_max > plan.upstreams_min);
        // Without pipes, connections have their files.
        let plan = FilesPlan::of(1024, 2, false);
        assert_eq!((plan.clients_max, plan.upstreams_min, plan.pipes_max), (636, 212, 0));
    }

    fn poll<T>(future: impl Future<Output = T>) -> Poll<T> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn upstreams_have_files_when_clients_have_none_left() {
        let files = Files::new(&FilesPlan {
            clients_max: 3,
            upstreams_min: 1,
            refusals_max: 1,
            admin_max: 1,
            pipes_max: 0,
        });
        let clients: Vec<_> = (0..3).map_while(|_| files.try_client()).collect();
        assert_eq!(clients.len(), 3);
        assert!(files.try_client().is_none() && !files.is_crowded());
        let upstream = files.try_upstream().expect("one is kept for upstreams");
        assert!(files.try_upstream().is_none());
        assert!(poll(files.upstream()).is_pending());
        drop(upstream);
        assert!(poll(files.upstream()).is_ready());
    }

    #[test]
    fn who_waits_is_let_in_by_whoever_leaves_or_told_that_there_is_no_room() {
        let plan = FilesPlan {
            clients_max: 1,
            upstreams_min: 1,
            refusals_max: 1,
            admin_max: 1,
            pipes_max: 0,
        };
        let files = Files::new(&plan);
        let deadlines = Deadlines::new(Instant::now());
        let first = files.try_client().expect("there is room");
        let Poll::Ready(told) = poll(files.admission(&deadlines, false)) else {
            panic!("nobody is told")
        };
        assert!(told.refused);
        {
            let mut second = pin!(files.admission(&deadlines, false));
            let mut look = || second.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(look().is_pending(), "two at a time are told");
            assert!(files.is_crowded() && !files.is_short());
            drop(first);
            let Poll::Ready(second) = look() else { panic!("a place is not given on") };
            assert!(!second.refused);
        }
        assert!(!files.is_crowded());
        drop(told);
        let whole = (files.clients.available_permits(), files.all.available_permits());
        assert_eq!((whole, files.refusals.available_permits()), ((1, 2), 1));
        assert_eq!(files.waits(), 2);
        assert_eq!(Arc::strong_count(&files), 1);
    }
}
