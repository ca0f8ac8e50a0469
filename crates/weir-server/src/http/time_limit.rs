//! The time limit of a circuit breaker's call, over all of its attempts.

use std::time::Duration;

use crate::error::{ErrorKind, ProxyError};
use crate::pacer::now_ns;
use crate::worker::Worker;

/// A time limit; none by default. Times are those of [`now_ns`].
#[derive(Clone, Copy, Default)]
pub(super) struct TimeLimit(Option<Bounds>);

#[derive(Clone, Copy)]
struct Bounds {
    from_ns: u64,
    until_ns: u64,
}

impl TimeLimit {
    pub(super) fn new(from_ns: u64, limit_ns: u64) -> Self {
        Self(Some(Bounds { from_ns, until_ns: from_ns.saturating_add(limit_ns) }))
    }

    /// Whether it ends before `at_ns`.
    pub(super) fn is_over(self, at_ns: u64) -> bool {
        self.0.is_some_and(|bounds| at_ns >= bounds.until_ns)
    }

    /// The time for [`Self::left`]. The `first` attempt starts with the limit: the clock is read
    /// for further ones only.
    pub(super) fn now_ns(self, first: bool) -> u64 {
        match self.0 {
            None => 0,
            Some(bounds) if first => bounds.from_ns,
            Some(_) => now_ns(),
        }
    }

    /// `time`, or what is left of the limit at `now_ns` if that is less.
    pub(super) fn left(self, time: Duration, now_ns: u64) -> Result<Duration, ProxyError> {
        let Some(bounds) = self.0 else { return Ok(time) };
        match bounds.until_ns.saturating_sub(now_ns) {
            0 => Err(ProxyError::with(ErrorKind::ResponseTimeout, "the time limit is over")),
            left_ns => Ok(time.min(Duration::from_nanos(left_ns))),
        }
    }

    /// Response timeout of an attempt that starts at `now_ns`, where the route has `own`.
    pub(super) fn response_timeout(
        self,
        worker: &Worker,
        own: Option<Duration>,
        now_ns: u64,
    ) -> Result<Option<Duration>, ProxyError> {
        if self.0.is_none() {
            return Ok(own);
        }
        // With an outdated clock it would end early, and the rest of the time would allow a useless
        // further attempt.
        worker.deadlines.refresh();
        self.left(own.unwrap_or(Duration::MAX), now_ns).map(Some)
    }
}
