//! Spring configuration files to a checked, compiled [`Snapshot`].
//!
//! Pure: text goes in, a snapshot or every problem at once (with its place) comes out. Reading files
//! and the environment is done by the caller.

mod settings;
mod snapshot;

pub use settings::Settings;
pub use snapshot::{RouteTarget, Snapshot, Upstream};
