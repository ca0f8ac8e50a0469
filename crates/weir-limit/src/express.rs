//! Lock-free path through a limit whose queue is empty: one compare-and-swap.
//!
//! The atomic word is the time of the next slot. The path is closed while the limit's lock is held
//! or requests wait in its queue; then all take the lock. The requests that passed are reported
//! when it is closed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::schedule::Gait;

/// No time of a slot: the lock is to be taken.
const CLOSED: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Express {
    next_ns: AtomicU64,
    /// Distance between slots, rounded up. Changed only while the path is closed.
    interval_ns: AtomicU64,
    /// How far a rest moves slots back.
    rest_ns: AtomicU64,
    admitted: AtomicU64,
}

impl Express {
    /// A closed one.
    pub(crate) fn new() -> Self {
        Self {
            next_ns: AtomicU64::new(CLOSED),
            interval_ns: AtomicU64::default(),
            rest_ns: AtomicU64::default(),
            admitted: AtomicU64::default(),
        }
    }

    /// Admits a request that costs this many slots; `false` if it has to take the lock.
    pub(crate) fn pass(&self, cost: u64, now_ns: u64) -> bool {
        let mut next_ns = self.next_ns.load(Ordering::Acquire);
        loop {
            let rested_ns = now_ns.saturating_sub(self.rest_ns.load(Ordering::Relaxed));
            let slot_ns = next_ns.max(rested_ns);
            if next_ns == CLOSED || slot_ns > now_ns {
                return false;
            }
            let took_ns = self.interval_ns.load(Ordering::Relaxed).saturating_mul(cost);
            let later_ns = slot_ns.saturating_add(took_ns).min(CLOSED - 1);
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            match self.next_ns.compare_exchange_weak(next_ns, later_ns, success, failure) {
                Ok(_) => break,
                Err(other) => next_ns = other,
            }
        }
        self.admitted.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Closes it; the time of the next slot, if it was open.
    pub(crate) fn close(&self) -> Option<u64> {
        let next_ns = self.next_ns.swap(CLOSED, Ordering::AcqRel);
        (next_ns != CLOSED).then_some(next_ns)
    }

    /// Opens the path; the caller holds the lock.
    pub(crate) fn open(&self, gait: Gait) {
        self.interval_ns.store(gait.interval_ns, Ordering::Relaxed);
        self.rest_ns.store(gait.rest_ns, Ordering::Relaxed);
        self.next_ns.store(gait.next_ns.min(CLOSED - 1), Ordering::Release);
    }

    /// Number of requests that passed.
    pub(crate) fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use crate::arrival::{Admission, Arrival};
    use crate::rate::Rate;
    use crate::settings::LimitSettings;
    use crate::valve::Valve;

    const THREADS: u64 = 8;
    const NOW_NS: u64 = u64::MAX / 4;

    /// A limit that lets so many pass at once, and refuses the others.
    fn valve(burst: u64) -> Valve {
        let rate = Some(Rate::parse("1/h").expect("a rate"));
        Valve::new("a", LimitSettings { rate, burst, queue_max: 0, ..LimitSettings::default() })
    }

    /// Number of requests that pass if every thread sends `each` of them while `beside` runs.
    #[expect(clippy::disallowed_methods, reason = "the limit is pure, the test is not")]
    fn passed(valve: &Valve, each: u64, beside: impl FnOnce() + Send) -> u64 {
        std::thread::scope(|scope| {
            let come = |_| {
                scope.spawn(|| {
                    let arrive = |_: &u64| valve.arrive(Arrival::default(), NOW_NS);
                    (0..each).filter(|n| matches!(arrive(n), Admission::Pass)).count() as u64
                })
            };
            let threads: Vec<_> = (0..THREADS).map(come).collect();
            beside();
            threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
        })
    }

    #[test]
    fn as_many_pass_as_may_however_many_threads_come_at_once() {
        let valve = valve(12_345);
        assert_eq!(passed(&valve, 5_000, || {}), 12_345);
        let counts = valve.counts();
        assert_eq!((counts.admitted, counts.refused_full), (12_345, THREADS * 5_000 - 12_345));
    }

    #[test]
    fn who_takes_the_lock_meanwhile_takes_nothing_away_and_gives_nothing() {
        let valve = valve(20_000);
        let look = || {
            for _ in 0..2_000 {
                valve.left(NOW_NS);
                valve.release(NOW_NS);
            }
        };
        assert_eq!(passed(&valve, 5_000, look), 20_000);
        assert_eq!(valve.counts().admitted, 20_000);
    }
}
