//! A limit with its queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod core;
mod counts;
mod keys;

use self::core::Core;
pub use self::counts::{Counts, WAIT_BOUNDS_MS};
use crate::adaptive::Ended;
use crate::arrival::{Admission, Arrival, Slot};
use crate::bandwidth::{Bandwidth, Stream, Way};
use crate::express::Express;
use crate::queue::Key;
use crate::settings::LimitSettings;
use crate::shards::Table;
use crate::top_keys::Top;

/// A limit, shared by all workers and kept over reloads.
#[derive(Debug)]
pub struct Valve {
    name: String,
    /// Whether concurrency is limited.
    holds: AtomicBool,
    bandwidth: Arc<Bandwidth>,
    express: Express,
    top: Arc<Top>,
    core: Mutex<Core>,
    /// Whether each key has a valve of its own.
    is_per_key: AtomicBool,
    keyed: Mutex<Keyed>,
}

/// The valves of a limit that each key has for itself.
#[derive(Debug, Default)]
struct Keyed {
    by_key: Table<u64, Valve>,
    /// What those counted that are no longer there.
    gone: Counts,
}

impl Valve {
    /// A valve.
    pub fn new(name: &str, settings: LimitSettings) -> Self {
        Self::with_top(name, settings, Arc::default())
    }

    fn with_top(name: &str, settings: LimitSettings, top: Arc<Top>) -> Self {
        let valve = Self {
            name: name.to_owned(),
            holds: AtomicBool::new(settings.concurrency.is_some()),
            bandwidth: Arc::new(Bandwidth::new(&settings)),
            express: Express::new(),
            top,
            is_per_key: AtomicBool::new(settings.per_key),
            keyed: Mutex::default(),
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
            false => {
                let (admission, held) = self.with(|core| core.arrive_counted(arrival, now_ns));
                if let Some(is_refused) = held {
                    self.top.add(arrival.key.hash, is_refused);
                }
                admission
            }
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
        self.with(|core| core.retry_waited_ns(now_ns))
    }

    /// Applies new settings: waiting requests stay, at the new rate. Returns the time of the next
    /// release.
    pub fn change(&self, settings: LimitSettings, now_ns: u64) -> Option<u64> {
        let is_other = self.with(|core| {
            let is_other = core.settings != settings;
            if is_other {
                self.bandwidth.set(&settings);
                self.is_per_key.store(settings.per_key, Ordering::Relaxed);
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

#[cfg(test)]
mod tests;
#[cfg(test)]
mod waiting_tests;
