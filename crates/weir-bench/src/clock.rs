//! Time within a run: nanoseconds since its start, from the monotonic clock.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Nanoseconds since the start of a run.
pub type Nanos = u64;

/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;

/// The clock that all workers of a run share. It is read for each answer, so it calls the system
/// directly: `Instant` splits seconds and nanoseconds and checks them at every step.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Nanos,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start() -> Self {
        Self { origin: monotonic() }
    }

    /// A clock that reads 0 after `delay`; until then it reads 0 too.
    pub fn start_after(delay: Duration) -> Self {
        Self { origin: monotonic() + delay.as_nanos() as Nanos }
    }

    /// Nanoseconds since the origin.
    pub fn now(&self) -> Nanos {
        monotonic().saturating_sub(self.origin)
    }

    /// The time until the origin; zero once it has passed.
    pub fn until_start(&self) -> Duration {
        Duration::from_nanos(self.origin.saturating_sub(monotonic()))
    }
}

/// `CLOCK_MONOTONIC`, which counts from the start of the machine and is never negative.
fn monotonic() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos
}

/// Seconds as a float to nanoseconds; negative and NaN become 0, too large saturates.
pub fn nanos(seconds: f64) -> Nanos {
    (seconds * SECOND as f64) as Nanos
}

/// Nanoseconds to seconds.
pub fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::{Clock, SECOND};
    use std::time::{Duration, Instant};

    #[test]
    fn it_is_the_clock_of_the_standard_library() {
        let before = Instant::now();
        let clock = Clock::start();
        std::thread::sleep(Duration::from_millis(2));
        let read = clock.now();
        assert!(read >= 2_000_000 && u128::from(read) <= before.elapsed().as_nanos());
    }

    #[test]
    fn it_stands_still_before_its_origin() {
        let clock = Clock::start_after(Duration::from_secs(3600));
        assert_eq!(clock.now(), 0);
        let left = clock.until_start();
        assert!(left > Duration::from_secs(3500) && left.as_nanos() <= u128::from(3600 * SECOND));
    }
}
