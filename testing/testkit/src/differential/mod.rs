//! The same bytes through a gateway and through the judge, and the forwarded bytes through real
//! servers: all must find the same number of requests, with the same bodies.

mod comparison;
mod requests;
mod rig;
mod servers;

pub use comparison::{Difference, Outcome, compare, compare_upstream};
pub use requests::{SENTINEL, generate};
pub use rig::{Rig, Seen};
pub use servers::{Echo, Server, Understanding};
