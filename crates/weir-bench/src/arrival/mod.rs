//! The arrival of requests.
//!
//! Three models: a closed loop sends when the previous answer is in, an open loop sends when its
//! schedule says so whatever the server does, virtual users think between requests. The worker
//! loop in
//! `driver` asks; nothing here knows sockets.

mod profile;
mod schedule;
mod users;

pub use profile::{Profile, Shape, Stage};
pub use schedule::{Cursor, Schedule, Spacing};
pub use users::{Think, Users};

/// The arrival model.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// Each connection sends again as soon as its answer is complete.
    Closed,
    /// One schedule for the whole run; a free connection takes the next due slot.
    Open(Schedule),
    /// Users that arrive over a ramp, repeat a journey and think in between.
    Users(Users),
}
