//! How often a server with configuration is asked.

use std::time::Duration;

/// How often a start asks a server that is away (`RetryProperties`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Tries in all.
    pub attempts_max: u32,
    /// Wait after the first one.
    pub interval: Duration,
    /// Each wait is so many times the one before, in hundredths.
    pub multiplier_percent: u32,
    /// Longest wait.
    pub interval_max: Duration,
}

impl Retry {
    /// One try.
    pub const NONE: Self = Self {
        attempts_max: 1,
        interval: Duration::from_secs(1),
        multiplier_percent: 110,
        interval_max: Duration::from_secs(2),
    };
}
