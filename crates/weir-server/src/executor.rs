//! Runs the tasks of one thread.
//!
//! A task is woken by its index, without locks. Only a wake-up from another thread takes a lock
//! and signals the poller's eventfd (`docs/decisions/0028-own-executor.md`).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use slab::Slab;

use crate::places::{PLACES_MIN, TaskId, tidy};
use crate::poller::Poller;

/// Task polls between two polls of epoll: mostly enough for all tasks that are ready at once.
const TURNS_MAX: usize = 256;

/// Interval at which a worker frees caches and spare buffers.
pub(crate) const TIDY: Duration = Duration::from_secs(1);

/// The future given to [`Executor::run`].
const MAIN: TaskId = TaskId::MAX;

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// The tasks of one thread and the poller that wakes them.
pub(crate) struct Executor {
    tasks: RefCell<Slab<Task>>,
    /// Run queue.
    ready: RefCell<VecDeque<TaskId>>,
    is_main_ready: Cell<bool>,
    current: Cell<TaskId>,
    poller: Poller,
    remote: Arc<RemoteWakes>,
}

struct Task {
    /// `None` while it is polled.
    work: Option<(Work, Waker)>,
    is_ready: bool,
}

/// Cross-thread wake queue and its eventfd.
struct RemoteWakes {
    woken: Mutex<Vec<TaskId>>,
    eventfd: mio::Waker,
}

/// A waker that works from every thread.
struct Wakeup {
    task: TaskId,
    remote: Arc<RemoteWakes>,
}

thread_local! {
    /// The executor of this thread.
    static HERE: RefCell<Option<Rc<Executor>>> = const { RefCell::new(None) };
}

impl Executor {
    /// An executor without tasks.
    ///
    /// # Errors
    /// The system provides no file descriptors for it.
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        let (poller, eventfd) = Poller::new()?;
        Ok(Rc::new(Self {
            tasks: RefCell::default(),
            ready: RefCell::default(),
            is_main_ready: Cell::new(false),
            current: Cell::new(MAIN),
            poller,
            remote: Arc::new(RemoteWakes { woken: Mutex::default(), eventfd }),
        }))
    }

    /// Runs `work` to completion, together with the tasks spawned on this thread meanwhile. Tasks
    /// still pending then are dropped.
    ///
    /// # Errors
    /// Polling for events fails.
    pub(crate) fn run<T>(self: &Rc<Self>, work: impl Future<Output = T>) -> io::Result<T> {
        let outer = HERE.replace(Some(Rc::clone(self)));
        let result = self.run_here(pin!(work));
        // Taken out first: dropping a task may wake another, which is already gone.
        drop(self.tasks.take());
        HERE.set(outer);
        result
    }

    fn run_here<T>(&self, mut work: Pin<&mut impl Future<Output = T>>) -> io::Result<T> {
        let waker = self.waker(MAIN);
        self.wake(MAIN);
        loop {
            for _ in 0..TURNS_MAX {
                let next = self.ready.borrow_mut().pop_front();
                match next {
                    None => break,
                    Some(MAIN) => {
                        self.is_main_ready.set(false);
                        self.current.set(MAIN);
                        let mut cx = Context::from_waker(&waker);
                        if let Poll::Ready(done) = work.as_mut().poll(&mut cx) {
                            return Ok(done);
                        }
                    }
                    Some(task) => self.turn(task),
                }
            }
            let is_busy = !self.ready.borrow().is_empty();
            if self.poller.wait(is_busy, |task| self.wake(task))? {
                self.remote.take().into_iter().for_each(|task| self.wake(task));
            }
        }
    }

    /// Polls a task, and removes it if it has finished.
    fn turn(&self, task: TaskId) {
        let taken = self.tasks.borrow_mut().get_mut(task as usize).and_then(|task| {
            task.is_ready = false;
            task.work.take()
        });
        let Some((mut work, waker)) = taken else { return };
        self.current.set(task);
        let mut cx = Context::from_waker(&waker);
        let is_pending = caught("a task", || work.as_mut().poll(&mut cx).is_pending());
        if is_pending == Some(true) {
            if let Some(task) = self.tasks.borrow_mut().get_mut(task as usize) {
                task.work = Some((work, waker));
            }
            return;
        }
        // Dropped before its number is free: the drop may wake it.
        drop(work);
        self.tasks.borrow_mut().try_remove(task as usize);
    }

    /// Puts a task into the run queue.
    fn wake(&self, task: TaskId) {
        let was_ready = match task {
            MAIN => self.is_main_ready.replace(true),
            _ => match self.tasks.borrow_mut().get_mut(task as usize) {
                Some(task) => std::mem::replace(&mut task.is_ready, true),
                None => return,
            },
        };
        if !was_ready {
            self.ready.borrow_mut().push_back(task);
        }
    }

    fn spawn(&self, work: Work) {
        let mut tasks = self.tasks.borrow_mut();
        let entry = tasks.vacant_entry();
        let task = entry.key() as TaskId;
        entry.insert(Task { work: Some((work, self.waker(task))), is_ready: true });
        self.ready.borrow_mut().push_back(task);
    }

    fn waker(&self, task: TaskId) -> Waker {
        Waker::from(Arc::new(Wakeup { task, remote: Arc::clone(&self.remote) }))
    }

    fn tidy(&self) {
        tidy(&mut self.tasks.borrow_mut());
        self.poller.tidy();
        let mut ready = self.ready.borrow_mut();
        if ready.capacity() > PLACES_MIN && ready.len() <= ready.capacity() / 4 {
            ready.shrink_to(PLACES_MIN);
        }
    }

    /// The task that is being polled.
    pub(crate) fn current(&self) -> TaskId {
        self.current.get()
    }

    /// The poller of this thread.
    pub(crate) fn poller(&self) -> &Poller {
        &self.poller
    }
}

/// The executor of this thread.
///
/// # Errors
/// This thread has none.
pub(crate) fn here() -> io::Result<Rc<Executor>> {
    let nothing = || io::Error::other("nothing runs tasks on this thread");
    HERE.with_borrow(|here| here.as_ref().map(Rc::clone)).ok_or_else(nothing)
}

/// Starts a task on this thread; must be called from one of its tasks.
///
/// # Errors
/// This thread has no executor.
pub(crate) fn spawn(work: impl Future<Output = ()> + 'static) -> io::Result<()> {
    here()?.spawn(Box::pin(work));
    Ok(())
}

/// Frees memory that this thread keeps for tasks and files that are gone.
pub(crate) fn tidy_here() {
    if let Ok(here) = here() {
        here.tidy();
    }
}

/// Yields to the other ready tasks; epoll may be polled before the task resumes.
pub(crate) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Yields if another task is ready, so that all of them do their next step together, with its code
/// in the processor's caches (`docs/decisions/0028-own-executor.md`). Returns whether it yielded.
pub(crate) async fn others_first() -> bool {
    let mut has_waited = false;
    poll_fn(|_| {
        if has_waited {
            return Poll::Ready(true);
        }
        has_waited = goes_behind_others();
        if has_waited { Poll::Pending } else { Poll::Ready(false) }
    })
    .await
}

/// Puts the current task at the end of the run queue, for a caller that then returns `Pending`.
/// `false` if no other task is ready: the caller continues.
pub(crate) fn goes_behind_others() -> bool {
    HERE.with_borrow(|here| {
        let busy = here.as_ref().filter(|here| !here.ready.borrow().is_empty());
        busy.inspect(|here| here.wake(here.current())).is_some()
    })
}

/// The result of `call`; `None` if it panics, which is logged for `whom`.
pub(crate) fn caught<T>(whom: &str, call: impl FnOnce() -> T) -> Option<T> {
    let panic = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => return Some(value),
        Err(panic) => panic,
    };
    tracing::error!(panic = text(panic.as_ref()), "{whom} panicked");
    None
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

impl RemoteWakes {
    fn wake(&self, task: TaskId) {
        let is_first = {
            let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
            woken.push(task);
            woken.len() == 1
        };
        if is_first && let Err(error) = self.eventfd.wake() {
            tracing::error!(%error, "a thread cannot be woken");
        }
    }

    fn take(&self) -> Vec<TaskId> {
        std::mem::take(&mut *self.woken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // While the thread ends, even its thread-local executor is inaccessible.
        let is_here = HERE.try_with(|here| match &*here.borrow() {
            Some(here) if Arc::ptr_eq(&here.remote, &self.remote) => {
                here.wake(self.task);
                true
            }
            _ => false,
        });
        if is_here != Ok(true) {
            self.remote.wake(self.task);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::{pending, poll_fn};
    use std::rc::Rc;
    use std::task::Poll;
    use std::time::Duration;

    use tokio::sync::{Notify, oneshot};

    use super::{Executor, here, others_first, spawn, yield_now};

    fn run<T>(work: impl Future<Output = T>) -> T {
        Executor::new().and_then(|executor| executor.run(work)).expect("a run")
    }

    #[test]
    fn tasks_have_their_turns_in_the_order_in_which_they_are_woken() {
        let seen = Rc::new(RefCell::new(Vec::new()));
        run(async {
            for name in ["a", "b"] {
                let seen = Rc::clone(&seen);
                let work = async move {
                    for turn in 0..2 {
                        seen.borrow_mut().push((name, turn));
                        yield_now().await;
                    }
                };
                spawn(work).expect("a task");
            }
            yield_now().await;
            assert_eq!(*seen.borrow(), [("a", 0), ("b", 0)]);
            yield_now().await;
        });
        assert_eq!(*seen.borrow(), [("a", 0), ("b", 0), ("a", 1), ("b", 1)]);
    }

    #[test]
    fn others_go_first_if_any_are_ready() {
        run(async {
            assert!(!others_first().await, "nobody else is there");
            let seen = Rc::new(RefCell::new(false));
            let other = Rc::clone(&seen);
            spawn(async move { *other.borrow_mut() = true }).expect("a task");
            assert!(others_first().await, "somebody else is ready");
            assert!(*seen.borrow());
        });
    }

    #[test]
    fn a_task_that_is_woken_twice_has_one_turn() {
        let (mut turns, notify) = (0, Notify::new());
        run(async {
            let mut notified = std::pin::pin!(notify.notified());
            let count = poll_fn(|cx| {
                turns += 1;
                if notified.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                cx.waker().wake_by_ref();
                if turns == 3 {
                    notify.notify_one();
                }
                Poll::Pending
            });
            count.await;
        });
        assert_eq!(turns, 4);
    }

    #[test]
    fn another_thread_wakes_a_task_that_waits() {
        let (sender, receiver) = oneshot::channel();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            sender.send("from there")
        });
        assert_eq!(run(receiver), Ok("from there"));
        assert_eq!(other.join().expect("a thread"), Ok(()));
    }

    #[test]
    fn a_panic_ends_one_task() {
        let (sender, receiver) = oneshot::channel();
        let got = run(async {
            spawn(async { panic!("a fault in a task") }).expect("a task");
            let next = async move {
                let _ = sender.send("the next");
            };
            spawn(next).expect("a task");
            receiver.await
        });
        assert_eq!(got, Ok("the next"));
    }

    #[test]
    fn places_of_a_crowd_that_has_left_are_let_go() {
        run(async {
            let here = here().expect("what runs here");
            let places = || (here.tasks.borrow().len(), here.tasks.borrow().capacity() > 10_000);
            spawn(pending()).expect("a task");
            for _ in 0..10_000 {
                spawn(async {}).expect("a task");
            }
            assert_eq!(places(), (10_001, true));
            yield_now().await;
            assert_eq!(places(), (1, true));
            here.tidy();
            assert_eq!(places(), (1, false));
        });
    }

    #[test]
    fn tasks_that_are_left_are_dropped_with_the_run() {
        let shared = Rc::new(());
        let kept = Rc::clone(&shared);
        run(async move {
            let work = async move {
                let _kept = kept;
                pending::<()>().await;
            };
            spawn(work).expect("a task");
            yield_now().await;
        });
        assert_eq!(Rc::strong_count(&shared), 1);
        assert!(here().is_err() && spawn(async {}).is_err(), "nothing runs here any more");
    }
}
