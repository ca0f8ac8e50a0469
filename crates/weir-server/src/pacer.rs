//! The thread that releases requests when their turn has come: one for all limits, so that a limit
//! is exact for any number of workers. It is started by the first request that has to wait.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use weir_filter::filter::Setting;
use weir_limit::Valve;

/// The time that limits go by: nanoseconds since the first one was asked.
pub fn now_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    // Not from 0: a limit that has just been made has rested, for 100 years.
    const START_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;
    let since = ORIGIN.get_or_init(Instant::now).elapsed().as_nanos();
    START_NS + u64::try_from(since).unwrap_or(u64::MAX / 2)
}

/// Schedules `valve` to release its waiting requests at `due_ns`.
pub(crate) fn arm(valve: &Arc<Valve>, due_ns: u64) {
    let pacer = pacer();
    let mut turns = pacer.lock();
    if turns.add(valve, due_ns) {
        pacer.sooner.notify_one();
    }
}

/// Applies a published configuration to existing limits and breakers.
pub fn set_limits(limits: Vec<Setting>) {
    for limit in limits {
        match limit {
            Setting::Limit(valve, settings) => {
                arm_if(&valve, valve.change(settings.clone(), now_ns()));
                for one in valve.of_keys() {
                    arm_if(&one, one.change(settings.clone(), now_ns()));
                }
            }
            Setting::Breaker(breaker, settings) => breaker.set(settings),
        }
    }
}

/// Schedules a valve's next release, if it asked for one.
pub fn arm_if(valve: &Arc<Valve>, due_ns: Option<u64>) {
    if let Some(due_ns) = due_ns {
        arm(valve, due_ns);
    }
}

#[derive(Debug, Default)]
struct Pacer {
    turns: Mutex<Turns>,
    sooner: Condvar,
}

/// The release times of valves; each valve has one at most.
#[derive(Debug, Default)]
struct Turns {
    by_time: BTreeMap<(u64, usize), Arc<Valve>>,
    /// By the valve's address.
    times: HashMap<usize, u64>,
}

fn pacer() -> &'static Pacer {
    static PACER: OnceLock<Pacer> = OnceLock::new();
    static STARTED: OnceLock<()> = OnceLock::new();
    let pacer = PACER.get_or_init(Pacer::default);
    STARTED.get_or_init(|| {
        let thread = std::thread::Builder::new().name("weir-pacer".into());
        if let Err(error) = thread.spawn(|| pacer.run()) {
            // Waiting requests then wait until their clients give up: better than to admit all of
            // them.
            tracing::error!(%error, "the system gives no thread for limits");
        }
    });
    pacer
}

impl Pacer {
    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut turns = self.lock();
        loop {
            let now = now_ns();
            match turns.first() {
                Some(due) if due <= now => {
                    let Some(valve) = turns.take() else { continue };
                    // Dropped first: waking takes other locks.
                    drop(turns);
                    let next = valve.release(now);
                    turns = self.lock();
                    if let Some(due) = next {
                        turns.add(&valve, due);
                    }
                }
                Some(due) => {
                    let pause = Duration::from_nanos(due - now);
                    let waited = self.sooner.wait_timeout(turns, pause);
                    turns = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    turns = self.sooner.wait(turns).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl Turns {
    fn first(&self) -> Option<u64> {
        self.by_time.first_key_value().map(|((due, _), _)| *due)
    }

    fn take(&mut self) -> Option<Arc<Valve>> {
        let ((_, at), valve) = self.by_time.pop_first()?;
        self.times.remove(&at);
        Some(valve)
    }

    /// Whether the pacer has to wake earlier than planned.
    fn add(&mut self, valve: &Arc<Valve>, due: u64) -> bool {
        let at = Arc::as_ptr(valve) as usize;
        match self.times.get(&at) {
            Some(known) if *known <= due => return false,
            Some(known) => drop(self.by_time.remove(&(*known, at))),
            None => {}
        }
        let first = self.first().is_none_or(|first| due < first);
        self.times.insert(at, due);
        self.by_time.insert((due, at), Arc::clone(valve));
        first
    }
}
