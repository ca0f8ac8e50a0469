//! The pause before a server that did not answer is asked again.

use std::time::Duration;

/// Wait after the first failure; it doubles with each further one.
pub(crate) const BACKOFF_MIN: Duration = Duration::from_secs(1);
/// Longest wait between two tries.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(30);
