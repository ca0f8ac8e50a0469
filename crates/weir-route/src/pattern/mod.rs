//! Patterns over paths, hosts and text. One file per kind.
//!
//! A pattern is compiled once and never fails later, but for a backtracking regular expression that
//! runs out of steps ([`RegexError`]).

mod glob;
pub mod host;
pub mod path;
pub mod regex;

pub use host::{HostLabels, HostPattern, Label};
pub use path::{PathPattern, PathSegments, Segment};
pub use regex::{JavaRegex, RegexCache, RegexError, Replacement, Required};

/// Why a pattern is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Byte offset in the pattern as written.
    pub column: usize,
    /// What is wrong, for the operator: lower case, no full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl PatternError {
    /// An error at byte `column` of the pattern.
    pub fn new(column: usize, message: impl Into<String>) -> Self {
        Self { column, message: message.into(), help: None }
    }

    /// The same with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same for a pattern that starts `by` bytes into a longer one.
    pub fn shift(mut self, by: usize) -> Self {
        self.column += by;
        self
    }

    /// The same at another place, for a pattern whose own columns mean nothing to the operator.
    fn at(mut self, column: usize) -> Self {
        self.column = column;
        self
    }

    /// The error of argument `arg`, whose text is `text`.
    pub fn of_arg(self, arg: &str, text: &str) -> crate::ArgError {
        let at = text.get(..self.column).unwrap_or(text).chars().count() + 1;
        let message = format!("`{text}`: {} (character {at})", self.message);
        crate::ArgError { arg: arg.to_owned(), message, help: self.help }
    }
}
