//! Retries of queries to configuration servers.

use std::time::Duration;

/// Retries at start if a server is unavailable (`RetryProperties`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Maximum number of attempts.
    pub attempts_max: u32,
    /// Delay after the first attempt.
    pub interval: Duration,
    /// Growth of the delay per attempt, in percent.
    pub multiplier_percent: u32,
    /// Maximum delay.
    pub interval_max: Duration,
}

impl Retry {
    /// A single attempt.
    pub const NONE: Self = Self {
        attempts_max: 1,
        interval: Duration::from_secs(1),
        multiplier_percent: 110,
        interval_max: Duration::from_secs(2),
    };
}
