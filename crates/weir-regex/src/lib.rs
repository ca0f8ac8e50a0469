//! Java regular expressions (`java.util.regex`), the notation of SCG's predicates and filters.
//!
//! An expression is parsed as in Java, then matched in linear time if possible, and otherwise by
//! backtracking with a step limit (look-around, back-references, possessive quantifiers).
//! Differences to Java: `\b` uses ASCII words only (as JDK 19 and later), `.` and `?` match
//! characters, not UTF-16 units, and `\X`, `\N{…}` and rarer Unicode blocks are rejected.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod ast;
mod bracket;
mod budget;
mod cache;
mod class;
mod emit;
mod engine;
mod error;
mod escape;
mod groups;
mod java_regex;
mod limits;
mod parse;
mod property;
mod replacement;
mod required;
mod small;
mod token;

pub use cache::RegexCache;
pub use error::{PatternError, RegexError};
pub use groups::Groups;
pub use java_regex::{JavaRegex, check_syntax, quote};
pub use limits::{REPLACE_STEPS_MAX, SOURCE_BYTES_MAX, STATES_MAX, STEPS_MAX};
pub use parse::Flags;
pub use replacement::Replacement;
pub use required::Required;
