//! A pool of blocking threads, as large as that of a servlet container.
//!
//! Like Tomcat's: a thread is started when a request comes and none is idle, up to a maximum;
//! beyond it requests queue, and when the queue is full they are refused.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::stats::Stats;

/// The maximum idle time of a thread.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// A stack is all a sleeping thread needs.
const STACK_BYTES: usize = 64 * 1024;

/// A bounded pool of threads with a bounded queue.
#[derive(Debug)]
pub(crate) struct Pool {
    threads_max: usize,
    queue_max: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Nap>,
    threads: usize,
    idle: usize,
    threads_most: usize,
    refused: u64,
    closed: bool,
}

/// The work of a thread: to sleep, then to signal the end.
#[derive(Debug)]
struct Nap {
    length: Duration,
    done: oneshot::Sender<()>,
}

/// All threads are busy and the queue is full.
#[derive(Debug)]
pub(crate) struct Full;

impl Pool {
    pub(crate) fn new(threads_max: usize, queue_max: usize) -> Self {
        let state = Mutex::new(State::default());
        Self { threads_max: threads_max.max(1), queue_max, state, work: Condvar::new() }
    }

    /// Blocks a thread for `length`; the result is ready when that is over.
    pub(crate) fn sleep(self: &Arc<Self>, length: Duration) -> Result<oneshot::Receiver<()>, Full> {
        let (done, over) = oneshot::channel();
        let nap = Nap { length, done };
        let mut state = self.state();
        if state.idle > state.queue.len() {
            state.queue.push_back(nap);
            self.work.notify_one();
        } else if state.threads < self.threads_max {
            if self.start(&mut state, nap).is_err() {
                state.refused += 1;
                return Err(Full);
            }
        } else if state.waiting() < self.queue_max {
            state.queue.push_back(nap);
        } else {
            state.refused += 1;
            return Err(Full);
        }
        Ok(over)
    }

    /// Lets idle threads go, and busy ones when they are done.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.queue.clear();
        self.work.notify_all();
    }

    pub(crate) fn stats(&self) -> Stats {
        let state = self.state();
        Stats {
            threads: state.threads as u64,
            threads_busy: (state.threads - state.idle) as u64,
            threads_most: state.threads_most as u64,
            queued: state.waiting() as u64,
            refused: state.refused,
            ..Stats::default()
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>, state: &mut State, first: Nap) -> io::Result<()> {
        let pool = Arc::clone(self);
        let thread = std::thread::Builder::new().name("origin-block".to_owned());
        thread.stack_size(STACK_BYTES).spawn(move || pool.work(first))?;
        state.threads += 1;
        state.threads_most = state.threads_most.max(state.threads);
        Ok(())
    }

    /// The loop of a thread until it has been idle for too long.
    fn work(&self, first: Nap) {
        let mut next = Some(first);
        while let Some(nap) = next {
            std::thread::sleep(nap.length);
            // The receiver may be gone.
            let _ = nap.done.send(());
            next = self.next();
        }
    }

    /// The next one in the queue; `None` ends the thread.
    fn next(&self) -> Option<Nap> {
        let mut state = self.state();
        if state.queue.is_empty() {
            state.idle += 1;
            let without_work = |state: &mut State| state.queue.is_empty() && !state.closed;
            let waiting = self.work.wait_timeout_while(state, IDLE_MAX, without_work);
            (state, _) = waiting.unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        let nap = state.queue.pop_front();
        state.threads -= usize::from(nap.is_none());
        nap
    }
}

impl State {
    /// The naps in the queue beyond those that idle threads will take.
    fn waiting(&self) -> usize {
        self.queue.len().saturating_sub(self.idle)
    }
}
