//! Failures provoked on a running gateway, and what must hold under them.
//!
//! Each scenario is one function: it starts the gateway as a process, plays a failure at a
//! [`Size`], and gives a [`Tally`]. The tests of `weir` play all of them short; `cargo xtask soak`
//! plays them long, again and again. Time is measured only to be reported, never judged.

mod abort;
mod change;
mod cut;
mod dice;
mod disk;
mod drain;
mod files;
mod instances;
mod kill;
mod nginx;
mod oversize;
mod scenario;
mod slow;
mod stale;
mod tally;
mod traffic;
mod transfer;
mod unreachable;
mod weir;

pub use scenario::{SCENARIOS, Scenario};
pub use tally::{Measure, Size, Tally};
pub use weir::Weir;
