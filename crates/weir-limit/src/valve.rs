//! One limit with its queue.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::queue::{Key, Place, Queue};
use crate::schedule::Schedule;
use crate::settings::{LimitSettings, Order};

/// Upper bounds of the buckets of waits, in milliseconds; the last bucket has none.
pub const WAIT_BOUNDS_MS: [u64; 6] = [1, 10, 100, 1_000, 10_000, 60_000];

/// One limit, shared by all workers and kept over reloads.
#[derive(Debug)]
pub struct Valve {
    name: String,
    /// Whether concurrency is limited.
    holds: AtomicBool,
    core: Mutex<Core>,
}

#[derive(Debug)]
struct Core {
    settings: LimitSettings,
    schedule: Option<Schedule>,
    in_service: u64,
    paused: bool,
    queue: Queue<Entry>,
    counts: Counts,
}

#[derive(Debug)]
struct Entry {
    slot: Arc<Slot>,
    arrived_ns: u64,
}

/// A place in a queue, seen from both sides.
#[derive(Debug)]
pub struct Slot {
    state: AtomicU8,
    waker: Mutex<Option<Waker>>,
    place: Mutex<Option<Place>>,
}

const WAITS: u8 = 0;
const PASSES: u8 = 1;
const REFUSED: u8 = 2;

/// What became of one that arrived.
#[derive(Debug)]
pub enum Admission {
    /// It passes now.
    Pass,
    /// It waits. If `due_ns` is there, somebody must call [`Valve::release`] then.
    Wait(Arc<Slot>, Option<u64>),
    /// It does not pass.
    Refused(Refusal),
}

/// Why one does not pass, and when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// After how many nanoseconds one that comes then passes, as far as is known.
    pub retry_ns: u64,
}

/// Why one does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The queue is full.
    Full,
    /// It would have to wait longer than anybody may.
    TooLong,
    /// An operator emptied the queue.
    Flushed,
}

/// What a valve has done so far, and how it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Passed, at once or after a wait.
    pub admitted: u64,
    /// Passed after a wait.
    pub waited: u64,
    /// Refused, as the queue was full.
    pub refused_full: u64,
    /// Refused, as the wait would have been too long.
    pub refused_wait: u64,
    /// Left while they waited.
    pub cancelled: u64,
    /// Would have waited or been refused, if the limit were enforced.
    pub shadowed: u64,
    /// Waits by [`WAIT_BOUNDS_MS`].
    pub waits: [u64; WAIT_BOUNDS_MS.len() + 1],
    /// Sum of all waits in nanoseconds.
    pub wait_sum_ns: u64,
    /// Longest time between a slot and the release that used it, in nanoseconds.
    pub late_max_ns: u64,
    /// Waiting now.
    pub depth: usize,
    /// In service now, where concurrency is limited.
    pub in_service: u64,
}

impl Valve {
    /// A valve.
    pub fn new(name: &str, settings: LimitSettings) -> Self {
        let schedule = schedule(&settings);
        let holds = AtomicBool::new(settings.concurrency.is_some());
        let core = Core {
            settings,
            schedule,
            in_service: 0,
            paused: false,
            queue: Queue::default(),
            counts: Counts::default(),
        };
        Self { name: name.to_owned(), holds, core: Mutex::new(core) }
    }

    /// Name in the configuration, in metrics and for operators.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is set to.
    pub fn settings(&self) -> LimitSettings {
        self.lock().settings.clone()
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        let core = self.lock();
        let (depth, in_service) = (core.queue.len(), core.in_service);
        Counts { depth, in_service, ..core.counts.clone() }
    }

    /// Whether an operator has paused it.
    pub fn is_paused(&self) -> bool {
        self.lock().paused
    }

    /// One arrives. Whoever passes calls [`Valve::done`] at its end if [`Valve::holds`] says so.
    pub fn arrive(&self, key: Key, now_ns: u64) -> Admission {
        let mut core = self.lock();
        let key = match core.settings.order {
            Order::Fifo => Key::default(),
            Order::Fair => key,
        };
        core.arrive(key, now_ns)
    }

    /// Whether who passes must say when it has ended.
    pub fn holds(&self) -> bool {
        self.holds.load(Ordering::Relaxed)
    }

    /// Lets pass whose turn has come; gives when the next turn is, if anybody waits for one.
    pub fn release(&self, now_ns: u64) -> Option<u64> {
        let (due, passed) = {
            let mut core = self.lock();
            let mut passed = Vec::new();
            while let Some(slot) = core.next(now_ns) {
                passed.push(slot);
            }
            (core.due(), passed)
        };
        passed.iter().for_each(|slot| slot.set(PASSES));
        due
    }

    /// One that passed has ended; lets the next one pass where that made room.
    pub fn done(&self, now_ns: u64) -> Option<u64> {
        {
            let mut core = self.lock();
            core.in_service = core.in_service.saturating_sub(1);
        }
        self.release(now_ns)
    }

    /// One that waited has left. Gives whether it had already been let pass.
    pub fn leave(&self, slot: &Slot) -> bool {
        let place = slot.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut core = self.lock();
        let waited = place.is_some_and(|place| core.queue.remove(place).is_some());
        core.counts.cancelled += u64::from(waited);
        !waited && slot.state.load(Ordering::Acquire) == PASSES
    }

    /// Goes over to other settings: who waits waits on, with the new distance. Gives when the next
    /// turn is.
    pub fn change(&self, settings: LimitSettings, now_ns: u64) -> Option<u64> {
        {
            let mut core = self.lock();
            if core.settings == settings {
                return core.due();
            }
            match (&mut core.schedule, settings.rate) {
                (Some(schedule), Some(rate)) => {
                    schedule.change(rate, settings.mode, settings.burst, now_ns);
                }
                _ => {
                    core.schedule = schedule(&settings);
                    // Who waits already has earned no burst by a rate that was not there.
                    if let Some(schedule) = &mut core.schedule {
                        schedule.skip_to(now_ns);
                    }
                }
            }
            self.holds.store(settings.concurrency.is_some(), Ordering::Relaxed);
            core.settings = settings;
        }
        self.release(now_ns)
    }

    /// Lets nobody pass until [`Valve::resume`]; who arrives waits.
    pub fn pause(&self) {
        self.lock().paused = true;
    }

    /// Undoes [`Valve::pause`]; gives when the next turn is.
    pub fn resume(&self, now_ns: u64) -> Option<u64> {
        {
            let mut core = self.lock();
            core.paused = false;
            // A pause is not a rest: it earns no burst.
            if let Some(schedule) = &mut core.schedule {
                schedule.skip_to(now_ns);
            }
        }
        self.release(now_ns)
    }

    /// Refuses all who wait; gives how many.
    pub fn flush(&self) -> usize {
        let mut refused = Vec::new();
        {
            let mut core = self.lock();
            while let Some(entry) = core.queue.pop() {
                refused.push(entry.slot);
            }
        }
        refused.iter().for_each(|slot| slot.set(REFUSED));
        refused.len()
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn schedule(settings: &LimitSettings) -> Option<Schedule> {
    settings.rate.map(|rate| Schedule::new(rate, settings.mode, settings.burst))
}

impl Core {
    fn arrive(&mut self, key: Key, now_ns: u64) -> Admission {
        let is_empty = self.queue.len() == 0;
        if is_empty && let Some(schedule) = &mut self.schedule {
            schedule.rest(now_ns);
        }
        if is_empty && self.may_pass(now_ns) {
            self.pass();
            return Admission::Pass;
        }
        let ahead = self.queue.ahead(key);
        let wait_ns = self.schedule.as_ref().map(|s| s.at(ahead).saturating_sub(now_ns));
        let settings = &self.settings;
        let reason = match wait_ns {
            _ if self.queue.len() >= settings.queue_max => Some(Reason::Full),
            Some(wait) if wait > settings.wait_max_ns => Some(Reason::TooLong),
            _ => None,
        };
        if !settings.enforce {
            self.counts.shadowed += 1;
            // Who would be refused takes no turn from those behind it.
            match reason {
                Some(_) => self.enter(),
                None => self.pass(),
            }
            return Admission::Pass;
        }
        if let Some(reason) = reason {
            match reason {
                Reason::Full => self.counts.refused_full += 1,
                Reason::TooLong | Reason::Flushed => self.counts.refused_wait += 1,
            }
            let retry_ns = self.retry_ns(reason, wait_ns, now_ns);
            return Admission::Refused(Refusal { reason, retry_ns });
        }
        let slot = Arc::new(Slot {
            state: AtomicU8::new(WAITS),
            waker: Mutex::new(None),
            place: Mutex::new(None),
        });
        let entry = Entry { slot: Arc::clone(&slot), arrived_ns: now_ns };
        let place = self.queue.push(key, entry);
        *slot.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        Admission::Wait(slot, self.due())
    }

    /// When one that comes back finds a place from which it passes within the longest wait.
    fn retry_ns(&self, reason: Reason, wait_ns: Option<u64>, now_ns: u64) -> u64 {
        let first = self.schedule.as_ref().map_or(0, |s| s.at(0).saturating_sub(now_ns));
        match (reason, wait_ns) {
            (Reason::TooLong, Some(wait)) => wait.saturating_sub(self.settings.wait_max_ns),
            _ => first,
        }
    }

    fn may_pass(&self, now_ns: u64) -> bool {
        let room = self.settings.concurrency.is_none_or(|max| self.in_service < max);
        let due = self.schedule.as_ref().is_none_or(|schedule| schedule.at(0) <= now_ns);
        room && due && (!self.paused || !self.settings.enforce)
    }

    fn pass(&mut self) {
        if let Some(schedule) = &mut self.schedule {
            schedule.take();
        }
        self.enter();
    }

    fn enter(&mut self) {
        if self.settings.concurrency.is_some() {
            self.in_service += 1;
        }
        self.counts.admitted += 1;
    }

    /// Lets the next one pass whose turn has come.
    fn next(&mut self, now_ns: u64) -> Option<Arc<Slot>> {
        if self.queue.len() == 0 || !self.may_pass(now_ns) {
            return None;
        }
        let late = self.schedule.as_ref().map_or(0, |s| now_ns.saturating_sub(s.at(0)));
        let entry = self.queue.pop()?;
        self.pass();
        let counts = &mut self.counts;
        counts.late_max_ns = counts.late_max_ns.max(late);
        counts.waited += 1;
        let wait_ns = now_ns.saturating_sub(entry.arrived_ns);
        counts.wait_sum_ns = counts.wait_sum_ns.saturating_add(wait_ns);
        let at = WAIT_BOUNDS_MS.iter().position(|bound| wait_ns <= bound * 1_000_000);
        if let Some(count) = counts.waits.get_mut(at.unwrap_or(WAIT_BOUNDS_MS.len())) {
            *count += 1;
        }
        Some(entry.slot)
    }

    /// When the first of those who wait may pass, if time alone decides.
    fn due(&self) -> Option<u64> {
        let full = self.settings.concurrency.is_some_and(|max| self.in_service >= max);
        if self.queue.len() == 0 || self.paused || full {
            return None;
        }
        Some(self.schedule.as_ref().map_or(0, |schedule| schedule.at(0)))
    }
}

impl Slot {
    /// Ready when its turn has come (`true`) or it was refused (`false`).
    pub fn poll(&self, cx: &Context<'_>) -> Poll<bool> {
        let told = || match self.state.load(Ordering::Acquire) {
            WAITS => Poll::Pending,
            state => Poll::Ready(state == PASSES),
        };
        if let Poll::Ready(passes) = told() {
            return Poll::Ready(passes);
        }
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        *waker = Some(cx.waker().clone());
        drop(waker);
        // Its turn may have come before the waker was there.
        told()
    }

    fn set(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests;
