//! Errors of compiling an expression, and of matching it.

#[cfg(doc)]
use crate::limits::{REPLACE_STEPS_MAX, STEPS_MAX};

/// Reason for which a pattern is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Byte offset in the pattern as written.
    pub column: usize,
    /// Description for the operator: lower case, no full stop.
    pub message: String,
    /// A correct alternative.
    pub help: Option<String>,
}

impl PatternError {
    /// An error at byte `column` of the pattern.
    pub fn new(column: usize, message: impl Into<String>) -> Self {
        Self { column, message: message.into(), help: None }
    }

    /// The same error with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same error for a pattern that starts `by` bytes into a longer one.
    pub fn shift(mut self, by: usize) -> Self {
        self.column += by;
        self
    }

    /// The same error at another position, for a pattern whose own columns mean nothing to the
    /// operator.
    pub fn at(mut self, column: usize) -> Self {
        self.column = column;
        self
    }
}

/// A match that could not be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexError {
    /// More than [`STEPS_MAX`] backtracking steps, or [`REPLACE_STEPS_MAX`] for all matches of a
    /// text.
    Steps,
    /// A `{name:regex}` whose expression has capturing groups; SCG fails on it too.
    Groups,
}
