//! The inputs of the measurements of route tables.

use std::time::Duration;

use crate::bench::Bench;

/// The inputs that all measurements of a run share.
pub(super) struct Plan<'a> {
    pub(super) bench: &'a Bench,
    pub(super) rounds: usize,
    pub(super) seconds: u64,
    pub(super) patience: Duration,
    /// The time limit for a change.
    pub(super) patience_change: Duration,
    /// The longest that Spring Cloud Gateway is loaded before it is measured.
    pub(super) warm_up: Duration,
}
