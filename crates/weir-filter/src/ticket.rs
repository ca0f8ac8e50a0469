//! The ticket with which a request passes a limit.

use std::sync::Arc;

use weir_limit::{Arrival, Valve};

/// What a request needs to pass a limit.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The limit.
    pub valve: Arc<Valve>,
    /// Whom it counts for, and for how much.
    pub arrival: Arrival,
    /// Whether the limit is one of a key (429) or of all (503).
    pub keyed: bool,
    /// Which answers tell of the limit.
    pub fields: RateFields,
}

/// Which answers have `RateLimit` and `RateLimit-Policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateFields {
    /// Those of requests that were refused.
    #[default]
    Refused,
    /// Those of requests that passed, too.
    Always,
    /// None.
    Never,
}

impl PartialEq for Ticket {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.valve, &other.valve) && self.arrival == other.arrival
    }
}

impl Eq for Ticket {}
