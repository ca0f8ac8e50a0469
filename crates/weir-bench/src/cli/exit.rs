//! Exit codes of `weir bench`.

use crate::outcome::Outcome;

/// Every threshold met, or none given.
pub const OK: u8 = 0;
/// Wrong usage, or the server could not be reached at all.
pub const FAILED: u8 = 1;
/// A threshold was not met.
pub const THRESHOLD: u8 = 3;
/// A threshold could not be judged: the generator or its host was the limit.
pub const INCONCLUSIVE: u8 = 4;
/// Ended by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// The exit code of one run.
pub(crate) fn exit_code(outcome: &Outcome) -> u8 {
    let judged = |wanted: Option<bool>| outcome.thresholds.iter().any(|t| t.met == wanted);
    if outcome.interrupted {
        INTERRUPTED
    } else if judged(None) {
        INCONCLUSIVE
    } else if judged(Some(false)) {
        THRESHOLD
    } else if outcome.ok == 0 {
        FAILED
    } else {
        OK
    }
}
