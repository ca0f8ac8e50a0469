//! Patterns for paths, hosts and text; one file per kind.
//!
//! A pattern is compiled once. Matching cannot fail, except that a backtracking regular expression
//! may exceed its step limit ([`RegexError`]).

mod glob;
pub mod host;
pub mod path;

pub use host::{HostLabels, HostPattern, Label};
pub use path::{PathPattern, PathSegments, Segment};
pub use weir_regex::{
    Flags, JavaRegex, PatternError, RegexCache, RegexError, Replacement, Required,
};
