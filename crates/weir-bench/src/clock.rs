//! Time within a run: nanoseconds since its start, from the monotonic clock.

use std::time::{Duration, Instant};

/// Nanoseconds since the start of a run.
pub type Nanos = u64;

/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;

/// The clock all workers of a run share; `Instant` is `CLOCK_MONOTONIC` on Linux.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// A clock that reads 0 after `delay`; until then it reads 0 too.
    pub fn start_after(delay: Duration) -> Self {
        Self { origin: Instant::now() + delay }
    }

    /// Nanoseconds since the origin.
    pub fn now(&self) -> Nanos {
        Instant::now().saturating_duration_since(self.origin).as_nanos() as Nanos
    }

    /// How long until the origin; zero once it has passed.
    pub fn until_start(&self) -> Duration {
        self.origin.saturating_duration_since(Instant::now())
    }
}

/// Seconds as a float to nanoseconds; negative and NaN become 0, too large saturates.
pub fn nanos(seconds: f64) -> Nanos {
    (seconds * SECOND as f64) as Nanos
}

/// Nanoseconds to seconds.
pub fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / SECOND as f64
}
