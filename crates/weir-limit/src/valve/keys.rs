//! The keys of a valve: those that it holds back most, and a valve for each of them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::{Counts, Keyed, Valve};
use crate::adaptive::Adaptive;
use crate::top_keys::KeyCounts;

impl Valve {
    /// The valve that a request of the key with this hash meets: this one or, where each key has
    /// the limit for itself, that of its key.
    pub fn of_key(self: &Arc<Self>, hash: u64, now_ns: impl FnOnce() -> u64) -> Arc<Self> {
        if !self.is_per_key.load(Ordering::Relaxed) {
            return Arc::clone(self);
        }
        let now_ns = now_ns();
        let mut keyed = self.keyed();
        let Keyed { by_key, gone } = &mut *keyed;
        let load = |valve: &Self| valve.lock().queue.len() as u64;
        let is_used = |valve: &Self| {
            let is_used = !valve.is_rested(now_ns);
            if !is_used {
                gone.add(&valve.own_counts());
            }
            is_used
        };
        let make = || {
            let valve = Self::with_top(&self.name, self.settings(), Arc::clone(&self.top));
            if self.is_paused() {
                valve.pause();
            }
            valve
        };
        by_key.get(hash, |hash| hash, now_ns, load, is_used, make)
    }

    /// The valves of its keys. Whoever changes or pauses a limit does that to these, too, but to
    /// the limit itself first: a valve that is made meanwhile does as the limit does.
    pub fn of_keys(&self) -> Vec<Arc<Self>> {
        self.keyed().by_key.values().map(Arc::clone).collect()
    }

    /// Its counters and state, with those of all keys.
    pub fn counts(&self) -> Counts {
        let keyed = self.keyed();
        let mut counts = self.own_counts();
        counts.add(&keyed.gone);
        keyed.by_key.values().for_each(|valve| counts.add(&valve.own_counts()));
        counts.keys = keyed.by_key.len();
        counts
    }

    /// Names of the keys that are held back most, with what they met, in descending order.
    pub fn top_keys(&self) -> Vec<KeyCounts> {
        self.top.told()
    }

    /// Tells the name of the key with this hash, if it is wanted: a limit learns only the names of
    /// the keys that it holds back most. `name` is called only then.
    pub fn name_key<T: AsRef<[u8]>>(&self, hash: u64, name: impl FnOnce() -> T) {
        if self.top.wants(hash) {
            self.top.name(hash, name().as_ref());
        }
    }

    fn own_counts(&self) -> Counts {
        let core = self.lock();
        let baseline_ns = core.adaptive.as_ref().and_then(Adaptive::baseline_ns);
        Counts {
            depth: core.queue.len(),
            held_bytes: core.held_bytes,
            in_service: core.in_service,
            concurrency: core.most(),
            baseline_ns,
            moved_bytes: self.bandwidth.moved(),
            bandwidth_waits: self.bandwidth.waited(),
            admitted: core.counts.admitted + self.express.admitted(),
            ..core.counts.clone()
        }
    }

    /// Whether a new valve in its place would do the same.
    fn is_rested(&self, now_ns: u64) -> bool {
        let bandwidth = Arc::strong_count(&self.bandwidth) == 1;
        bandwidth
            && self.bandwidth.is_rested(now_ns)
            && self.with(|core| {
                let is_empty = core.queue.len() == 0 && core.in_service == 0;
                let rested = |schedule: &crate::schedule::Schedule| schedule.is_rested(now_ns);
                is_empty && core.schedule.as_ref().is_none_or(rested)
            })
    }

    fn keyed(&self) -> MutexGuard<'_, Keyed> {
        self.keyed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
