//! Values in the notations that Spring accepts: durations, data sizes, statuses, moments.
//!
//! Used for arguments of predicates and filters, and by the configuration for its own keys.

mod duration;
mod moment;
mod size;
mod status;

pub use duration::parse_duration;
pub use moment::{Moment, iso_time};
pub use size::parse_data_size;
pub use status::parse_status;

/// Why a value is refused: lower case, no full stop; and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: &'static str,
}
