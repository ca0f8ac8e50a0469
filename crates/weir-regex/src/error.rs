//! Why an expression is refused, and why a match could not be decided.

#[cfg(doc)]
use crate::limits::{REPLACE_STEPS_MAX, STEPS_MAX};

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
    pub fn at(mut self, column: usize) -> Self {
        self.column = column;
        self
    }
}

/// A match could not be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexError {
    /// More than [`STEPS_MAX`] steps of backtracking, or [`REPLACE_STEPS_MAX`] for all matches.
    Steps,
    /// A `{name:regex}` whose expression has capturing groups, at which SCG fails too.
    Groups,
}
