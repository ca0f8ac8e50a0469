//! Tickets: requests of admission to a limit.

use std::sync::Arc;

use weir_limit::{Arrival, Valve};

/// Request of admission to a limit.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The limit.
    pub valve: Arc<Valve>,
    /// Key and cost of the request.
    pub arrival: Arrival,
    /// Whether the limit counts by key (429) or all requests together (503).
    pub keyed: bool,
    /// Responses that get RateLimit fields.
    pub fields: RateFields,
}

/// Responses that get `RateLimit` and `RateLimit-Policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateFields {
    /// Those to refused requests.
    #[default]
    Refused,
    /// Those to admitted requests, too.
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
