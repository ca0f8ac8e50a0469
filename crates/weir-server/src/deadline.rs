//! Coarse deadlines: one sweep per worker instead of a timer per read.
//!
//! Setting a deadline is a store. A sweep every [`TICK_MS`] milliseconds (sooner when a nearer
//! deadline was set) wakes the tasks whose deadline has passed; they notice by polling it.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use crate::timer::Timer;

/// Longest time between two sweeps, which is also how late a long deadline may be.
const TICK_MS: u64 = 100;
const NEVER: u64 = u64::MAX;
/// Slots that are kept, used or not.
const SLOTS_MIN: usize = 256;

/// All deadlines of one worker, and its clock in milliseconds since the worker started.
#[derive(Debug)]
pub(crate) struct Deadlines {
    origin: Instant,
    now_ms: Cell<u64>,
    next_sweep_ms: Cell<u64>,
    /// Wall clock, in milliseconds since 1970, when the worker's clock was 0.
    wall_origin_ms: Cell<i64>,
    slots: RefCell<Slots>,
    sooner: Notify,
}

#[derive(Debug, Default)]
struct Slots {
    list: Vec<Slot>,
    free: Vec<usize>,
}

/// The deadline that a task last polled.
#[derive(Debug)]
struct Slot {
    at_ms: u64,
    waker: Option<Waker>,
}

impl Deadlines {
    /// None yet, by a clock that was 0 at `origin`.
    pub(crate) fn new(origin: Instant) -> Rc<Self> {
        Rc::new(Self {
            origin,
            now_ms: Cell::new(0),
            next_sweep_ms: Cell::new(0),
            wall_origin_ms: Cell::new(wall_clock_ms()),
            slots: RefCell::default(),
            sooner: Notify::new(),
        })
    }

    /// Milliseconds since the worker started, read from the system's clock.
    pub(crate) fn refresh(&self) -> u64 {
        self.now_ns();
        self.now_ms()
    }

    /// Nanoseconds since the worker started, read from the system's clock.
    pub(crate) fn now_ns(&self) -> u64 {
        let now_ns = self.origin.elapsed().as_nanos() as u64;
        self.now_ms.set(now_ns / 1_000_000);
        now_ns
    }

    /// Milliseconds since the worker started, as of the last look at the clock.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    /// Wall clock in milliseconds since 1970, as of the last reading of the worker's clock. A
    /// change of the system time takes effect at the next sweep.
    pub(crate) fn wall_ms(&self) -> i64 {
        self.wall_origin_ms.get().saturating_add_unsigned(self.now_ms())
    }

    /// Sweeps for ever.
    ///
    /// # Errors
    /// The system has no timer for it.
    pub(crate) async fn run(self: Rc<Self>) -> io::Result<Infallible> {
        let timer = Timer::new()?;
        loop {
            let nearest = self.sweep();
            let now = self.now_ms();
            let wait = nearest.saturating_sub(now).clamp(1, TICK_MS);
            self.next_sweep_ms.set(now + wait);
            tokio::select! {
                slept = timer.sleep(Duration::from_millis(wait)) => slept?,
                () = self.sooner.notified() => {}
            }
        }
    }

    /// Waits for `time`, as exactly as a deadline is kept.
    pub(crate) async fn sleep(self: &Rc<Self>, time: Duration) {
        self.refresh();
        let deadline = Deadline::new(self);
        deadline.set(time);
        poll_fn(|cx| if deadline.poll(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Wakes every task that has a slot, whatever its deadline.
    pub(crate) fn wake_all(&self) {
        for slot in &mut self.slots.borrow_mut().list {
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }

    /// Frees slots at the end of the list if most are free, so that a past peak of connections
    /// neither takes memory nor is swept.
    pub(crate) fn tidy(&self) {
        let Slots { list, free } = &mut *self.slots.borrow_mut();
        if list.len() <= SLOTS_MIN || free.len() <= list.len() / 2 {
            return;
        }
        // From the highest down, so that the lowest are the next to be taken and the end empties.
        free.sort_unstable_by(|a, b| b.cmp(a));
        let last = (0..list.len()).rev();
        let unused = free.iter().zip(last).take_while(|(free, last)| **free == *last).count();
        free.drain(..unused);
        list.truncate(list.len() - unused);
        free.shrink_to_fit();
        list.shrink_to_fit();
    }

    /// Wakes tasks whose deadline has passed and returns the nearest deadline still ahead.
    fn sweep(&self) -> u64 {
        let now = self.refresh();
        self.wall_origin_ms.set(wall_clock_ms().saturating_sub_unsigned(now));
        let mut nearest = NEVER;
        for slot in &mut self.slots.borrow_mut().list {
            if slot.at_ms > now {
                nearest = nearest.min(slot.at_ms);
            }
            if slot.at_ms <= now
                && let Some(waker) = slot.waker.take()
            {
                waker.wake();
            }
        }
        nearest
    }
}

/// The deadline of one task. Most are taken away before the task waits: its slot is written when it
/// does.
#[derive(Debug)]
pub(crate) struct Deadline {
    all: Rc<Deadlines>,
    slot: usize,
    at_ms: Cell<u64>,
}

impl Deadline {
    pub(crate) fn new(all: &Rc<Deadlines>) -> Self {
        let mut slots = all.slots.borrow_mut();
        let empty = Slot { at_ms: NEVER, waker: None };
        let slot = match slots.free.pop() {
            Some(slot) => slot,
            None => {
                slots.list.push(empty);
                slots.list.len() - 1
            }
        };
        drop(slots);
        Self { all: Rc::clone(all), slot, at_ms: Cell::new(NEVER) }
    }

    /// Sets the deadline to `after` from now (as of the last look at the clock), for a task that
    /// polls it before it waits.
    pub(crate) fn set(&self, after: Duration) {
        let now = self.all.now_ms();
        let at_ms = now.saturating_add((after.as_millis() as u64).max(1));
        self.at_ms.set(at_ms);
        if at_ms < self.all.next_sweep_ms.get() {
            self.all.sooner.notify_one();
        }
    }

    /// Clears the deadline.
    pub(crate) fn clear(&self) {
        self.at_ms.set(NEVER);
    }

    /// Whether the deadline has passed; if not, the task is woken when it does.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> bool {
        if self.at_ms.get() <= self.all.now_ms() {
            return true;
        }
        let mut slots = self.all.slots.borrow_mut();
        let Some(slot) = slots.list.get_mut(self.slot) else { return false };
        slot.at_ms = self.at_ms.get();
        match &slot.waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => slot.waker = Some(cx.waker().clone()),
        }
        false
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let mut slots = self.all.slots.borrow_mut();
        if let Some(slot) = slots.list.get_mut(self.slot) {
            *slot = Slot { at_ms: NEVER, waker: None };
        }
        slots.free.push(self.slot);
    }
}

fn wall_clock_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Deadline, Deadlines, SLOTS_MIN};

    #[test]
    fn slots_of_a_crowd_that_has_left_are_let_go() {
        let all = Deadlines::new(Instant::now());
        let count = || (all.slots.borrow().list.len(), all.slots.borrow().free.len());
        let mut crowd: Vec<_> = (0..1_000).map(|_| Deadline::new(&all)).collect();
        all.tidy();
        assert_eq!(count(), (1_000, 0), "all are used");
        // A deadline in the middle stays, and keeps its slot.
        let one = crowd.swap_remove(600);
        crowd.clear();
        all.tidy();
        assert_eq!((count(), one.slot), ((601, 600), 600));
        let next: Vec<_> = (0..3).map(|_| Deadline::new(&all)).collect();
        assert_eq!(next.iter().map(|next| next.slot).collect::<Vec<_>>(), [0, 1, 2]);
        drop(one);
        all.tidy();
        assert_eq!(count(), (3, 0));
        drop(next);
        all.tidy();
        assert_eq!(count(), (3, 3), "{SLOTS_MIN} are worth keeping");
    }
}
