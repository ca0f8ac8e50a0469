//! An upstream and its state.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weir_filter::Target;

/// First rest of a member that could not be reached; each further one is twice as long.
pub(crate) const REST_MS: u64 = 5_000;
/// The longest such rest.
const REST_MS_MAX: u64 = 60_000;
/// Decay of a past long response time: to 1/e in this many nanoseconds. If it were longer, a pause
/// of the whole machine would make all members look slow for as long.
const DECAY_NS: f64 = 1e9;
/// Age up to which a measurement counts in full.
const STILL_NS: u64 = 500_000_000;
/// An ejection lasts so long at most, unless its base time is longer.
const EJECTION_MS_MAX: u64 = 300_000;

/// An upstream and its state. Outlives a change of the configuration.
#[derive(Debug)]
pub struct Member {
    /// Its address.
    pub target: Arc<Target>,
    active: AtomicUsize,
    /// Connections or calls it has been given.
    taken: AtomicU64,
    failed: AtomicU64,
    /// Failures to connect in a row.
    in_row: AtomicU32,
    rests_until_ms: AtomicU64,
    /// Result of the active check.
    is_up: AtomicBool,
    up_since_ms: AtomicU64,
    connect_ns: AtomicU64,
    sampled_ns: AtomicU64,
    /// Set by an operator: it gets no further requests.
    is_drained: AtomicBool,
    /// Failed requests in a row.
    errors_in_row: AtomicU32,
    ejected_until_ms: AtomicU64,
    /// Ejections lately; each makes the next one longer.
    ejections: AtomicU32,
    /// Last failure of the active check.
    check_failure: Mutex<Option<String>>,
}

/// State of a member, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// `host:port`.
    pub address: String,
    /// Share.
    pub weight: u32,
    /// Under way.
    pub active: usize,
    /// Number of requests or connections given to it.
    pub taken: u64,
    /// Number of those that did not reach it.
    pub failed: u64,
    /// Whether the active check finds it up; `true` without a check.
    pub is_up: bool,
    /// Whether it is skipped because it could not be reached.
    pub rests: bool,
    /// Whether it is skipped because its requests failed.
    pub is_ejected: bool,
    /// Whether an operator has drained it.
    pub is_drained: bool,
    /// Last failure of its active check, while it is down.
    pub check_failure: Option<String>,
}

impl Member {
    /// A member that nothing is known of.
    pub fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            active: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            in_row: AtomicU32::new(0),
            rests_until_ms: AtomicU64::new(0),
            is_up: AtomicBool::new(true),
            up_since_ms: AtomicU64::new(0),
            connect_ns: AtomicU64::new(0),
            sampled_ns: AtomicU64::new(0),
            is_drained: AtomicBool::new(false),
            errors_in_row: AtomicU32::new(0),
            ejected_until_ms: AtomicU64::new(0),
            ejections: AtomicU32::new(0),
            check_failure: Mutex::new(None),
        }
    }

    /// Records that it could not be reached.
    pub fn unreached(&self, now_ms: u64) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let times = self.in_row.fetch_add(1, Ordering::Relaxed).min(8);
        let rest_ms = (REST_MS << times).min(REST_MS_MAX);
        self.rests_until_ms.store(now_ms.saturating_add(rest_ms), Ordering::Relaxed);
    }

    /// Rests a member that announced that it takes no more requests.
    pub fn rest(&self, now_ms: u64) {
        self.rests_until_ms.store(now_ms.saturating_add(REST_MS_MAX), Ordering::Relaxed);
    }

    /// Records that it was reached within `took_ns`. A longer time replaces the average at once, a
    /// shorter one lowers it gradually.
    pub fn reached(&self, took_ns: u64, now_ns: u64) {
        self.recovered(now_ns / 1_000_000);
        let before = self.connect_ns.load(Ordering::Relaxed);
        let since = now_ns.saturating_sub(self.sampled_ns.swap(now_ns, Ordering::Relaxed));
        let now = match took_ns >= before {
            true => took_ns,
            false => {
                let kept = kept(since);
                (before as f64 * kept + took_ns as f64 * (1.0 - kept)) as u64
            }
        };
        self.connect_ns.store(now.max(1), Ordering::Relaxed);
    }

    /// Ends its rest, if it had one: it serves.
    pub fn recovered(&self, now_ms: u64) {
        if self.in_row.load(Ordering::Relaxed) > 0 && self.in_row.swap(0, Ordering::Relaxed) > 0 {
            self.rests_until_ms.store(0, Ordering::Relaxed);
            self.up_since_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Records the result of an active check; returns whether it has changed.
    pub fn checked(&self, is_up: bool, now_ms: u64) -> bool {
        let was_up = self.is_up.swap(is_up, Ordering::Relaxed);
        if is_up && !was_up {
            self.up_since_ms.store(now_ms, Ordering::Relaxed);
            self.rests_until_ms.store(0, Ordering::Relaxed);
        }
        was_up != is_up
    }

    /// Records the failure of an active check; `None` after a success.
    pub fn note_check(&self, failure: Option<String>) {
        *self.check_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// Stops or resumes giving it requests.
    pub fn drain(&self, is_drained: bool) {
        self.is_drained.store(is_drained, Ordering::Relaxed);
    }

    /// Whether an operator has drained it.
    pub fn is_drained(&self) -> bool {
        self.is_drained.load(Ordering::Relaxed)
    }

    /// Records the result of a request; returns the number of consecutive failures.
    pub fn answered(&self, failed: bool) -> u32 {
        if failed {
            return self.errors_in_row.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        }
        if self.errors_in_row.load(Ordering::Relaxed) > 0 {
            self.errors_in_row.store(0, Ordering::Relaxed);
        }
        0
    }

    /// Ejects it for `base_ms`, multiplied by the number of recent ejections: each `interval_ms`
    /// since the last one cancels one of them.
    pub fn eject(&self, base_ms: u64, interval_ms: u64, now_ms: u64) {
        let since = now_ms.saturating_sub(self.ejected_until_ms.load(Ordering::Relaxed));
        let made_up = since.checked_div(interval_ms).unwrap_or(u64::MAX);
        let before = u64::from(self.ejections.load(Ordering::Relaxed)).saturating_sub(made_up);
        let times = before.saturating_add(1);
        let longest = base_ms.max(EJECTION_MS_MAX);
        let until = now_ms.saturating_add(base_ms.saturating_mul(times).min(longest));
        self.ejections.store(u32::try_from(times).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.errors_in_row.store(0, Ordering::Relaxed);
        self.ejected_until_ms.store(until, Ordering::Relaxed);
        // Slow start after the ejection.
        self.up_since_ms.store(until, Ordering::Relaxed);
    }

    /// Whether it is skipped because its requests failed.
    pub fn is_ejected(&self, now_ms: u64) -> bool {
        self.ejected_until_ms.load(Ordering::Relaxed) > now_ms
    }

    /// Whether it may be chosen.
    pub(crate) fn is_usable(&self, now_ms: u64) -> bool {
        self.is_up.load(Ordering::Relaxed)
            && self.rests_until_ms.load(Ordering::Relaxed) <= now_ms
            && !self.is_ejected(now_ms)
            && !self.is_drained()
    }

    /// Number of requests or connections in progress.
    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Recent time to answer or connect, in nanoseconds; 0 if unknown. Old measurements count less:
    /// a member that was slow once and has been given no requests since is tried again.
    pub(crate) fn recent_ns(&self, now_ns: u64) -> u64 {
        let recent = self.connect_ns.load(Ordering::Relaxed);
        match now_ns.saturating_sub(self.sampled_ns.load(Ordering::Relaxed)) {
            since if since < STILL_NS || recent == 0 => recent,
            since => ((recent as f64 * kept(since)) as u64).max(1),
        }
    }

    /// Time since which it is up, in milliseconds; 0 if always.
    pub(crate) fn up_since_ms(&self) -> u64 {
        self.up_since_ms.load(Ordering::Relaxed)
    }

    /// State for operators.
    pub fn state(&self, weight: u32, now_ms: u64) -> MemberState {
        let failure = self.check_failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_up = self.is_up.load(Ordering::Relaxed);
        MemberState {
            address: format!("{}:{}", self.target.host, self.target.port),
            weight,
            active: self.active(),
            taken: self.taken.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            is_up,
            rests: self.rests_until_ms.load(Ordering::Relaxed) > now_ms,
            is_ejected: self.is_ejected(now_ms),
            is_drained: self.is_drained(),
            check_failure: failure.filter(|_| !is_up),
        }
    }
}

/// Weight of a measurement of this age.
fn kept(since_ns: u64) -> f64 {
    (-(since_ns as f64) / DECAY_NS).exp()
}

/// A request or connection in progress at a member, until this is dropped.
#[derive(Debug)]
pub struct Taken(Arc<Member>);

impl Taken {
    /// Counts a request or connection to `member`.
    pub fn of(member: Arc<Member>) -> Self {
        member.active.fetch_add(1, Ordering::Relaxed);
        member.taken.fetch_add(1, Ordering::Relaxed);
        Self(member)
    }

    /// The member.
    pub fn member(&self) -> &Arc<Member> {
        &self.0
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}
