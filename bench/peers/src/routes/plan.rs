//! What the measurements of tables need.

use std::time::Duration;

use crate::bench::Bench;

/// What the measurements of a run have in common.
pub(super) struct Plan<'a> {
    pub(super) bench: &'a Bench,
    pub(super) rounds: usize,
    pub(super) seconds: u64,
    pub(super) patience: Duration,
    /// The longest that a change may take.
    pub(super) patience_change: Duration,
    /// The longest that Spring Cloud Gateway is loaded before it is measured.
    pub(super) warm_up: Duration,
}
