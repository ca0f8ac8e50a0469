//! A limit with its queue.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod counts;
mod keys;

pub use self::counts::{Counts, WAIT_BOUNDS_MS};
use crate::adaptive::{Adaptive, Ended};
use crate::arrival::{Admission, Arrival, CLASSES, Reason, Refusal, Slot};
use crate::bandwidth::{Bandwidth, Stream, Way};
use crate::express::Express;
use crate::queue::{Comer, Key, Queue};
use crate::schedule::{Gait, Schedule};
use crate::settings::{Concurrency, LimitSettings, Order};
use crate::top_keys::TopKeys;

/// A limit, shared by all workers and kept over reloads.
#[derive(Debug)]
pub struct Valve {
    name: String,
    /// Whether concurrency is limited.
    holds: AtomicBool,
    bandwidth: Arc<Bandwidth>,
    express: Express,
    /// Hash of the key whose name is to be told; 0 is none.
    nameless: AtomicU64,
    core: Mutex<Core>,
}

#[derive(Debug)]
struct Core {
    settings: LimitSettings,
    schedule: Option<Schedule>,
    adaptive: Option<Adaptive>,
    in_service: u64,
    paused: bool,
    queue: Queue<Entry>,
    expiries: Expiries,
    /// Bytes that the waiting requests hold.
    held_bytes: u64,
    counts: Counts,
    top: TopKeys,
}

#[derive(Debug)]
struct Entry {
    slot: Arc<Slot>,
    arrived_ns: u64,
    bytes: u64,
}

impl Valve {
    /// A valve.
    pub fn new(name: &str, settings: LimitSettings) -> Self {
        let valve = Self {
            name: name.to_owned(),
            holds: AtomicBool::new(settings.concurrency.is_some()),
            bandwidth: Arc::new(Bandwidth::new(&settings)),
            express: Express::new(),
            nameless: AtomicU64::new(0),
            core: Mutex::new(Core::new(settings)),
        };
        valve.with(|_| ());
        valve
    }

    /// Name in the configuration, in metrics and for operators.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its settings.
    pub fn settings(&self) -> LimitSettings {
        self.lock().settings.clone()
    }

    /// Its counters and state.
    pub fn counts(&self) -> Counts {
        let core = self.lock();
        let (depth, in_service) = (core.queue.len(), core.in_service);
        let concurrency = core.most();
        let baseline_ns = core.adaptive.as_ref().and_then(Adaptive::baseline_ns);
        Counts {
            depth,
            held_bytes: core.held_bytes,
            in_service,
            concurrency,
            baseline_ns,
            moved_bytes: self.bandwidth.moved(),
            bandwidth_waits: self.bandwidth.waited(),
            admitted: core.counts.admitted + self.express.admitted(),
            ..core.counts.clone()
        }
    }

    /// Number of requests that would pass at once now, and the time until one more would, in
    /// nanoseconds. `None` without a rate.
    pub fn left(&self, now_ns: u64) -> Option<(u64, u64)> {
        self.with(|core| {
            let schedule = core.schedule.as_ref()?;
            let is_held = core.queue.len() > 0 || core.paused;
            Some(if is_held { (0, schedule.wait_ns(now_ns)) } else { schedule.left(now_ns) })
        })
    }

    /// Whether an operator has paused it.
    pub fn is_paused(&self) -> bool {
        self.lock().paused
    }

    /// Handles an arriving request. If [`Valve::holds`] is true, the caller calls [`Valve::done`]
    /// at the end of an admitted one.
    pub fn arrive(&self, arrival: Arrival, now_ns: u64) -> Admission {
        match self.express.pass(arrival.cost.max(1), now_ns) {
            true => Admission::Pass,
            false => self.with(|core| {
                let admission = core.arrive(arrival, now_ns);
                self.nameless.store(core.top.nameless(), Ordering::Relaxed);
                admission
            }),
        }
    }

    /// Whether the end of an admitted request must be reported.
    pub fn holds(&self) -> bool {
        self.holds.load(Ordering::Relaxed)
    }

    /// Bandwidth limit for a body of an admitted request; `None` without a bandwidth.
    pub fn stream(&self, key: Key, way: Way, now_ns: impl Fn() -> u64) -> Option<Stream> {
        self.bandwidth.is_limited().then(|| Stream::new(&self.bandwidth, key.hash, way, now_ns()))
    }

    /// Releases the requests whose turn has come, and refuses those that have waited too long;
    /// returns the time at which to call it again, if requests wait.
    pub fn release(&self, now_ns: u64) -> Option<u64> {
        let (due, told) = self.with(|core| {
            let mut told = Vec::new();
            core.release(now_ns, &mut told);
            (core.due(), told)
        });
        told.iter().for_each(|slot| slot.wake());
        due
    }

    /// Ends an admitted request; releases the next one if that made room.
    pub fn done(&self, ended: Ended, now_ns: u64) -> Option<u64> {
        self.with(|core| {
            let in_service = core.in_service;
            if let Some(adaptive) = &mut core.adaptive {
                adaptive.ended(ended, in_service, now_ns);
            }
            core.in_service = core.in_service.saturating_sub(1);
        });
        self.release(now_ns)
    }

    /// Removes a request that stopped waiting. Returns whether it had already been admitted.
    pub fn leave(&self, slot: &Slot) -> bool {
        let waited = self.with(|core| {
            let waited = core.take_out(slot);
            core.counts.cancelled += u64::from(waited);
            waited
        });
        !waited && slot.has_passed()
    }

    /// Time after which a request that was refused while it waited would find a place with a wait
    /// within the maximum, in nanoseconds.
    pub fn retry_ns(&self, now_ns: u64) -> u64 {
        self.with(|core| {
            let comer = Comer { key: Key::default(), cost: 1, rank: u64::MAX };
            let ahead = core.queue.ahead(comer);
            let wait_ns = core.schedule.as_ref().map(|s| s.at(ahead).saturating_sub(now_ns));
            let first_ns = core.schedule.as_ref().map_or(0, |s| s.wait_ns(now_ns));
            let beyond_ns = wait_ns.unwrap_or(0).saturating_sub(core.settings.wait_max_ns);
            if core.queue.len() == 0 { first_ns } else { beyond_ns }
        })
    }

    /// Applies new settings: waiting requests stay, at the new rate. Returns the time of the next
    /// release.
    pub fn change(&self, settings: LimitSettings, now_ns: u64) -> Option<u64> {
        let is_other = self.with(|core| {
            let is_other = core.settings != settings;
            if is_other {
                self.bandwidth.set(&settings);
                self.holds.store(settings.concurrency.is_some(), Ordering::Relaxed);
                core.change(settings, now_ns);
            }
            is_other
        });
        match is_other {
            true => self.release(now_ns),
            false => self.with(|core| core.due()),
        }
    }

    /// Stops all releases until [`Valve::resume`]; arriving requests wait.
    pub fn pause(&self) {
        self.with(|core| core.paused = true);
    }

    /// Undoes [`Valve::pause`]; returns the time of the next turn.
    pub fn resume(&self, now_ns: u64) -> Option<u64> {
        self.with(|core| {
            core.paused = false;
            // A pause is not a rest: it earns no burst.
            if let Some(schedule) = &mut core.schedule {
                schedule.skip_to(now_ns);
            }
        });
        self.release(now_ns)
    }

    /// Refuses all waiting requests; returns their number.
    pub fn flush(&self) -> usize {
        let refused = self.with(|core| {
            let mut refused = Vec::new();
            while let Some((entry, _)) = core.queue.pop() {
                entry.slot.flush();
                refused.push(entry.slot);
            }
            core.expiries.clear();
            core.held_bytes = 0;
            core.counts.refused_flushed += refused.len() as u64;
            refused
        });
        refused.iter().for_each(|slot| slot.wake());
        refused.len()
    }

    /// Runs `work` on the core, with the lock-free path closed.
    fn with<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.lock();
        if let (Some(next_ns), Some(schedule)) = (self.express.close(), &mut core.schedule) {
            schedule.went_to(next_ns);
        }
        let result = work(&mut core);
        if let Some(gait) = core.gait() {
            self.express.open(gait);
        }
        result
    }

    /// The core, to be read.
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waiting requests, by the time at which they stop waiting and their address.
type Expiries = BTreeMap<(u64, usize), Arc<Slot>>;

fn expiry(slot: &Slot) -> (u64, usize) {
    (slot.until_ns(), std::ptr::from_ref(slot).addr())
}

fn adaptive(settings: &LimitSettings) -> Option<Adaptive> {
    let (min, max) = (settings.concurrency_min, settings.concurrency_max);
    (settings.concurrency == Some(Concurrency::Adaptive)).then(|| Adaptive::new(min, max))
}

impl Core {
    fn new(settings: LimitSettings) -> Self {
        Self {
            schedule: Schedule::new(&settings),
            adaptive: adaptive(&settings),
            settings,
            in_service: 0,
            paused: false,
            queue: Queue::default(),
            expiries: Expiries::new(),
            held_bytes: 0,
            counts: Counts::default(),
            top: TopKeys::default(),
        }
    }

    /// Schedule for passing without the lock; `None` if the lock is needed.
    fn gait(&self) -> Option<Gait> {
        let is_plain = self.queue.len() == 0 && !self.paused && self.settings.concurrency.is_none();
        match &self.schedule {
            Some(schedule) => schedule.gait().filter(|_| is_plain),
            None => is_plain.then(Gait::default),
        }
    }

    fn change(&mut self, settings: LimitSettings, now_ns: u64) {
        match (&mut self.schedule, settings.rate) {
            (Some(schedule), Some(_)) => schedule.change(&settings, now_ns),
            _ => {
                self.schedule = Schedule::new(&settings);
                // Requests that already wait have earned no burst from a rate that did not exist.
                if let Some(schedule) = &mut self.schedule {
                    schedule.skip_to(now_ns);
                }
            }
        }
        match (&mut self.adaptive, settings.concurrency) {
            (Some(adaptive), Some(Concurrency::Adaptive)) => {
                adaptive.bound(settings.concurrency_min, settings.concurrency_max);
            }
            _ => self.adaptive = adaptive(&settings),
        }
        self.settings = settings;
    }

    fn arrive(&mut self, arrival: Arrival, now_ns: u64) -> Admission {
        let is_empty = self.queue.len() == 0;
        if is_empty && let Some(schedule) = &mut self.schedule {
            schedule.rest(now_ns);
        }
        let cost = arrival.cost.max(1);
        if is_empty && self.may_pass(now_ns) {
            self.pass(cost);
            return Admission::Pass;
        }
        // A request of a lower class passes first once it has waited longer by the difference of
        // both.
        let class = u64::from(arrival.class.min(CLASSES - 1));
        let rank = now_ns.saturating_add(self.settings.ageing_ns.saturating_mul(class));
        let key = match self.settings.order {
            Order::Fifo => Key::default(),
            Order::Fair => arrival.key,
        };
        let comer = Comer { key, cost, rank };
        let ahead = self.queue.ahead(comer);
        let wait_ns = self.schedule.as_ref().map(|s| s.at(ahead).saturating_sub(now_ns));
        let reason = self.refusal(wait_ns, &arrival);
        self.top.add(arrival.key.hash, reason.is_some());
        if !self.settings.enforce {
            self.counts.shadowed += 1;
            // A request that would be refused takes no turn from those behind it.
            match reason {
                Some(_) => self.enter(),
                None => self.pass(cost),
            }
            return Admission::Pass;
        }
        if let Some(reason) = reason {
            match reason {
                Reason::Full => self.counts.refused_full += 1,
                Reason::Deadline => self.counts.refused_deadline += 1,
                Reason::TooLong | Reason::Flushed => self.counts.refused_wait += 1,
            }
            let retry_ns = self.retry_ns(reason, wait_ns, arrival.patience_ns, now_ns);
            return Admission::Refused(Refusal { reason, retry_ns, wait_ns });
        }
        let patience_ns = arrival.patience_ns.filter(|own| *own < self.settings.wait_max_ns);
        let longest_ns = patience_ns.unwrap_or(self.settings.wait_max_ns);
        let slot = Slot::new(now_ns.saturating_add(longest_ns), patience_ns.is_some());
        let entry = Entry { slot: Arc::clone(&slot), arrived_ns: now_ns, bytes: arrival.bytes };
        self.held_bytes = self.held_bytes.saturating_add(arrival.bytes);
        slot.put(self.queue.push(comer, entry));
        self.expiries.insert(expiry(&slot), Arc::clone(&slot));
        Admission::Wait(slot, self.due())
    }

    /// The reason to refuse a request that would wait for `wait_ns`, if any.
    fn refusal(&self, wait_ns: Option<u64>, arrival: &Arrival) -> Option<Reason> {
        // It does not pass now.
        let wait = wait_ns.unwrap_or_default().max(1);
        let bytes = self.held_bytes.saturating_add(arrival.bytes);
        if self.queue.len() >= self.settings.queue_max || bytes > self.settings.queue_bytes_max {
            return Some(Reason::Full);
        }
        if arrival.patience_ns.is_some_and(|patience| wait > patience) {
            return Some(Reason::Deadline);
        }
        (wait > self.settings.wait_max_ns).then_some(Reason::TooLong)
    }

    /// Time after which a refused request would find a place with a wait within the maximum.
    fn retry_ns(
        &self,
        reason: Reason,
        wait_ns: Option<u64>,
        patience_ns: Option<u64>,
        now_ns: u64,
    ) -> u64 {
        let first = self.schedule.as_ref().map_or(0, |s| s.at(0).saturating_sub(now_ns));
        let longest = patience_ns.unwrap_or(u64::MAX).min(self.settings.wait_max_ns);
        match (reason, wait_ns) {
            (Reason::TooLong | Reason::Deadline, Some(wait)) => wait.saturating_sub(longest),
            _ => first,
        }
    }

    /// Removes a waiting request; returns whether it was waiting.
    fn take_out(&mut self, slot: &Slot) -> bool {
        self.expiries.remove(&expiry(slot));
        let taken = slot.take_place().and_then(|place| self.queue.remove(place));
        self.held_bytes -= taken.as_ref().map_or(0, |entry| entry.bytes);
        taken.is_some()
    }

    fn may_pass(&self, now_ns: u64) -> bool {
        let room = self.most().is_none_or(|max| self.in_service < max);
        let due = self.schedule.as_ref().is_none_or(|schedule| schedule.at(0) <= now_ns);
        room && due && (!self.paused || !self.settings.enforce)
    }

    /// Current maximum of requests in service.
    fn most(&self) -> Option<u64> {
        match self.settings.concurrency? {
            Concurrency::Fixed(most) => Some(most),
            Concurrency::Adaptive => self.adaptive.as_ref().map(Adaptive::most),
        }
    }

    fn pass(&mut self, cost: u64) {
        if let Some(schedule) = &mut self.schedule {
            schedule.take(cost);
        }
        self.enter();
    }

    fn enter(&mut self) {
        if self.settings.concurrency.is_some() {
            self.in_service += 1;
        }
        self.counts.admitted += 1;
    }

    /// Admits the requests whose turn has come, and refuses those that have waited too long; all
    /// of them are to be woken.
    fn release(&mut self, now_ns: u64, told: &mut Vec<Arc<Slot>>) {
        while self.queue.len() > 0 && self.may_pass(now_ns) {
            let Some((entry, cost)) = self.queue.pop() else { break };
            self.expiries.remove(&expiry(&entry.slot));
            self.held_bytes -= entry.bytes;
            match entry.slot.until_ns() < self.turn_ns(now_ns) {
                true => self.expire(&entry.slot),
                false => self.admit(&entry, cost, now_ns),
            }
            told.push(entry.slot);
        }
        while let Some(late) = self.expiries.first_entry()
            && late.key().0 <= now_ns
        {
            let slot = late.remove();
            if self.take_out(&slot) {
                self.expire(&slot);
                told.push(slot);
            }
        }
    }

    /// Time of the turn that is taken now: a late release does not make a request late.
    fn turn_ns(&self, now_ns: u64) -> u64 {
        match &self.schedule {
            Some(schedule) if self.settings.concurrency.is_none() => schedule.at(0),
            _ => now_ns,
        }
    }

    fn expire(&mut self, slot: &Slot) {
        match slot.reason() {
            Reason::Deadline => self.counts.refused_deadline += 1,
            _ => self.counts.refused_wait += 1,
        }
        slot.expire();
    }

    fn admit(&mut self, entry: &Entry, cost: u64, now_ns: u64) {
        let late = self.schedule.as_ref().map_or(0, |s| now_ns.saturating_sub(s.at(0)));
        self.pass(cost);
        entry.slot.admit();
        let counts = &mut self.counts;
        counts.late_max_ns = counts.late_max_ns.max(late);
        counts.add_wait(now_ns.saturating_sub(entry.arrived_ns));
    }

    /// Time at which the first waiting request may pass, or has waited too long.
    fn due(&self) -> Option<u64> {
        let late_ns = self.expiries.first_key_value().map(|((until_ns, _), _)| *until_ns);
        let late_ns = late_ns.filter(|until_ns| *until_ns < u64::MAX);
        let full = self.most().is_some_and(|max| self.in_service >= max);
        if self.queue.len() == 0 || self.paused || full {
            return late_ns;
        }
        let turn_ns = self.schedule.as_ref().map_or(0, |schedule| schedule.at(0));
        Some(late_ns.map_or(turn_ns, |late_ns| late_ns.min(turn_ns)))
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod waiting_tests;
