//! Values in the notations that Spring accepts: durations, data sizes, statuses, moments.
//!
//! Used for arguments of predicates and filters, and for configuration keys.

mod duration;
mod moment;
mod size;
mod status;

pub use duration::parse_duration;
pub use moment::{Moment, iso_time};
pub use size::parse_data_size;
pub use status::parse_status;

/// Reason for which a value is rejected (lower case, no full stop), and the correct syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// The reason.
    pub message: String,
    /// The correct syntax.
    pub help: &'static str,
}
