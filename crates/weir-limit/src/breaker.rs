//! A circuit breaker with resilience4j's rules (class `CircuitBreakerStateMachine`): it counts the
//! results of calls, opens when too many fail or are slow, and later lets a few through as a probe.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SECOND_NS: u64 = 1_000_000_000;

/// The window over which the rates are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The last calls, by number.
    Calls(u32),
    /// The calls of the last seconds.
    Seconds(u32),
}

/// Settings of a breaker. Defaults are resilience4j's.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakerSettings {
    /// The window over which the rates are computed.
    pub window: Window,
    /// Calls in the window before a rate counts.
    pub calls_min: u32,
    /// Failed calls, in percent, from which on it opens.
    pub failure_rate: f64,
    /// Slow calls, in percent, from which on it opens.
    pub slow_rate: f64,
    /// Duration from which a call is slow, in nanoseconds.
    pub slow_ns: u64,
    /// Duration of the open state, in nanoseconds.
    pub open_ns: u64,
    /// Calls that are let through half open, and that are then judged together.
    pub half_open_calls: u32,
    /// Maximum duration of the half-open state, in nanoseconds, before the breaker opens again; 0
    /// is unlimited.
    pub half_open_ns: u64,
    /// The breaker becomes half open as soon as its time is over, not with the next call.
    pub automatic: bool,
    /// Time limit of a call until its response head arrives, in nanoseconds.
    pub time_limit_ns: Option<u64>,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            window: Window::Calls(100),
            calls_min: 100,
            failure_rate: 50.0,
            slow_rate: 100.0,
            slow_ns: 60 * SECOND_NS,
            open_ns: 60 * SECOND_NS,
            half_open_calls: 10,
            half_open_ns: 0,
            automatic: false,
            time_limit_ns: Some(SECOND_NS),
        }
    }
}

/// State of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// All calls.
    Closed,
    /// No call.
    Open,
    /// A few calls, to see whether the upstream is well again.
    HalfOpen,
}

impl BreakerState {
    /// resilience4j's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Open => "OPEN",
            Self::HalfOpen => "HALF_OPEN",
        }
    }
}

/// A call that was let through; returned with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a call that is not given back keeps a place of a breaker that is half open"]
pub struct Call {
    /// The period of the breaker in which the call began; results from an earlier period are
    /// ignored.
    period: u64,
    started_ns: u64,
    /// Time limit until the call's response head arrives, in nanoseconds.
    pub time_limit_ns: Option<u64>,
}

/// Observations of a breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerView {
    /// State of the breaker.
    pub state: BreakerState,
    /// Calls in the window.
    pub buffered: u32,
    /// Of those, failed.
    pub failed: u32,
    /// Of those, slow.
    pub slow: u32,
    /// Of those, slow and failed.
    pub slow_failed: u32,
    /// Failed calls in percent; -1 while there are too few.
    pub failure_rate: f64,
    /// Slow calls in percent; -1 while there are too few.
    pub slow_rate: f64,
    /// Calls refused.
    pub refused: u64,
    /// Calls that succeeded.
    pub succeeded_total: u64,
    /// Calls that failed.
    pub failed_total: u64,
}

/// A circuit breaker, shared by all workers.
#[derive(Debug)]
pub struct Breaker {
    name: String,
    inner: Mutex<Inner>,
    refused: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    settings: BreakerSettings,
    state: BreakerState,
    /// Grows with each change of state.
    period: u64,
    /// Time at which the state began.
    since_ns: u64,
    /// Calls that may still be let through half open.
    permits: u32,
    seen: Seen,
}

/// Calls of the window: one entry a call, or one a second.
#[derive(Debug, Default)]
struct Seen {
    entries: VecDeque<(u64, Tally)>,
    sum: Tally,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    calls: u32,
    failed: u32,
    slow: u32,
    slow_failed: u32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.slow += other.slow;
        self.slow_failed += other.slow_failed;
    }

    fn take(&mut self, other: Self) {
        self.calls -= other.calls;
        self.failed -= other.failed;
        self.slow -= other.slow;
        self.slow_failed -= other.slow_failed;
    }

    fn percent(self, of: u32) -> f64 {
        f64::from(of) * 100.0 / f64::from(self.calls.max(1))
    }
}

impl Seen {
    fn add(&mut self, window: Window, now_ns: u64, one: Tally) {
        self.sum.add(one);
        match window {
            Window::Calls(max) => {
                self.entries.push_back((now_ns, one));
                while self.entries.len() > max.max(1) as usize {
                    self.drop_first();
                }
            }
            Window::Seconds(_) => {
                let second = now_ns / SECOND_NS;
                match self.entries.back_mut() {
                    Some((own, tally)) if *own == second => tally.add(one),
                    _ => self.entries.push_back((second, one)),
                }
                self.age(window, now_ns);
            }
        }
    }

    /// Drops results that have left a window of seconds.
    fn age(&mut self, window: Window, now_ns: u64) {
        let Window::Seconds(seconds) = window else { return };
        let first = (now_ns / SECOND_NS + 1).saturating_sub(u64::from(seconds.max(1)));
        while self.entries.front().is_some_and(|(second, _)| *second < first) {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some((_, tally)) = self.entries.pop_front() {
            self.sum.take(tally);
        }
    }
}

impl Inner {
    fn go_to(&mut self, state: BreakerState, now_ns: u64) {
        self.state = state;
        self.period += 1;
        self.since_ns = now_ns;
        self.seen = Seen::default();
        self.permits = self.settings.half_open_calls.max(1);
    }

    /// Changes of state that are due by time.
    fn tick(&mut self, now_ns: u64, asked: bool) {
        let spent_ns = now_ns.saturating_sub(self.since_ns);
        let settings = &self.settings;
        match self.state {
            BreakerState::Open if spent_ns >= settings.open_ns && (asked || settings.automatic) => {
                self.go_to(BreakerState::HalfOpen, now_ns);
            }
            BreakerState::HalfOpen
                if settings.half_open_ns > 0 && spent_ns >= settings.half_open_ns =>
            {
                self.go_to(BreakerState::Open, now_ns);
            }
            _ => {}
        }
        let window = self.settings.window;
        if self.state == BreakerState::Closed {
            self.seen.age(window, now_ns);
        }
    }

    /// Calls that must have been seen before they are judged.
    fn calls_min(&self) -> u32 {
        match (self.state, self.settings.window) {
            (BreakerState::HalfOpen, _) => self.settings.half_open_calls,
            (_, Window::Calls(size)) => self.settings.calls_min.min(size),
            (_, Window::Seconds(_)) => self.settings.calls_min,
        }
        .max(1)
    }

    fn judge(&mut self, now_ns: u64) {
        let sum = self.seen.sum;
        if sum.calls < self.calls_min() {
            return;
        }
        let bad = sum.percent(sum.failed) >= self.settings.failure_rate
            || sum.percent(sum.slow) >= self.settings.slow_rate;
        match self.state {
            BreakerState::Closed | BreakerState::HalfOpen if bad => {
                self.go_to(BreakerState::Open, now_ns);
            }
            BreakerState::HalfOpen => self.go_to(BreakerState::Closed, now_ns),
            BreakerState::Closed | BreakerState::Open => {}
        }
    }
}

impl Breaker {
    /// A closed breaker.
    pub fn new(name: &str, settings: BreakerSettings) -> Self {
        let permits = settings.half_open_calls.max(1);
        let (state, seen) = (BreakerState::Closed, Seen::default());
        let inner = Inner { settings, state, period: 0, since_ns: 0, permits, seen };
        Self {
            name: name.to_owned(),
            inner: Mutex::new(inner),
            refused: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// Name, as CircuitBreaker's `name` has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its settings.
    pub fn settings(&self) -> BreakerSettings {
        self.lock().settings.clone()
    }

    /// Applies new settings; recorded results are kept if the window is the same.
    pub fn set(&self, settings: BreakerSettings) {
        let mut inner = self.lock();
        if inner.settings.window != settings.window {
            inner.seen = Seen::default();
        }
        inner.settings = settings;
    }

    /// Asks to make a call at `now_ns`; `None` if it must not be made.
    pub fn begin(&self, now_ns: u64) -> Option<Call> {
        let mut inner = self.lock();
        inner.tick(now_ns, true);
        let passes = match inner.state {
            BreakerState::Closed => true,
            BreakerState::Open => false,
            BreakerState::HalfOpen => {
                let passes = inner.permits > 0;
                inner.permits = inner.permits.saturating_sub(1);
                passes
            }
        };
        let (period, time_limit_ns) = (inner.period, inner.settings.time_limit_ns);
        drop(inner);
        if !passes {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(Call { period, started_ns: now_ns, time_limit_ns })
    }

    /// Records the result of a call.
    pub fn end(&self, call: Call, failed: bool, now_ns: u64) {
        let total = if failed { &self.failed } else { &self.succeeded };
        total.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.lock();
        if inner.period != call.period || inner.state == BreakerState::Open {
            return;
        }
        let slow = now_ns.saturating_sub(call.started_ns) >= inner.settings.slow_ns;
        let tally = Tally {
            calls: 1,
            failed: u32::from(failed),
            slow: u32::from(slow),
            slow_failed: u32::from(slow && failed),
        };
        let window = match inner.state {
            BreakerState::HalfOpen => Window::Calls(inner.settings.half_open_calls),
            _ => inner.settings.window,
        };
        inner.seen.add(window, now_ns, tally);
        inner.judge(now_ns);
    }

    /// Returns a call without a result: its client has left.
    pub fn cancel(&self, call: Call) {
        let mut inner = self.lock();
        if inner.period == call.period && inner.state == BreakerState::HalfOpen {
            inner.permits += 1;
        }
    }

    /// Its observations at `now_ns`.
    pub fn view(&self, now_ns: u64) -> BreakerView {
        let mut inner = self.lock();
        inner.tick(now_ns, false);
        let sum = inner.seen.sum;
        let enough = sum.calls >= inner.calls_min();
        let rate = |of: u32| if enough { sum.percent(of) } else { -1.0 };
        BreakerView {
            state: inner.state,
            buffered: sum.calls,
            failed: sum.failed,
            slow: sum.slow,
            slow_failed: sum.slow_failed,
            failure_rate: rate(sum.failed),
            slow_rate: rate(sum.slow),
            refused: self.refused.load(Ordering::Relaxed),
            succeeded_total: self.succeeded.load(Ordering::Relaxed),
            failed_total: self.failed.load(Ordering::Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
