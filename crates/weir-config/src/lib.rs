//! Spring configuration files to a checked, compiled [`Snapshot`].
//!
//! Pure: text goes in, a snapshot or every problem at once (with its place) comes out. Reading files
//! and the environment is done by the caller.

mod diagnostic;
mod settings;
mod snapshot;
mod source;
mod spring;

pub use diagnostic::{Category, Code, Diagnostic, Severity, Style, render, to_json};
pub use settings::{AccessLog, AccessLogFormat, PoolSettings, Settings};
pub use snapshot::{RouteTarget, RouteTimeouts, Service, Snapshot, Upstream};
pub use source::{Format, Place, SOURCE_BYTES_MAX, Source, Sources, Span};
