//! Patterns over paths, hosts and text. One file per kind.
//!
//! A pattern is compiled once and never fails later, but for a backtracking regular expression that
//! runs out of steps ([`RegexError`]).

mod glob;
pub mod host;
pub mod path;

pub use host::{HostLabels, HostPattern, Label};
pub use path::{PathPattern, PathSegments, Segment};
pub use weir_regex::{
    Flags, JavaRegex, PatternError, RegexCache, RegexError, Replacement, Required,
};
