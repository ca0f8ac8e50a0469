//! Spring configuration files to a checked, compiled [`Snapshot`].
//!
//! Pure: text goes in, a snapshot or every problem at once (with its place) comes out. Reading files
//! and the environment is done by the caller.

mod settings;
mod snapshot;

pub use settings::{AccessLog, AccessLogFormat, PoolSettings, Settings};
pub use snapshot::{RouteTarget, RouteTimeouts, Service, Snapshot, Upstream};
