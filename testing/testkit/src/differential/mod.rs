//! The same bytes through a gateway and through the judge, and what the gateway sent on through
//! real servers: nobody may understand another number of requests, or another body.

mod comparison;
mod requests;
mod rig;
mod servers;

pub use comparison::{Difference, Outcome, compare, compare_upstream};
pub use requests::{SENTINEL, generate};
pub use rig::{Rig, Seen};
pub use servers::{Echo, Server, Understanding};
