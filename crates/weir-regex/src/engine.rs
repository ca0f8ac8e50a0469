//! The engines that match expressions.

use super::ast::Node;
use super::emit::{Dialect, Target, emit};
use crate::error::{PatternError, RegexError};
use crate::limits::STEPS_MAX;

/// Maximum size of a compiled program, in bytes.
const PROGRAM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A compiled expression for one [`Target`].
#[derive(Debug)]
pub(super) enum Engine {
    /// Linear time in the length of the text.
    Linear(Box<regex::Regex>),
    /// Backtracking, with a step limit.
    Backtracking(Box<fancy_regex::Regex>),
    /// Compilation failed for this target, although it succeeded for another.
    Unusable,
}

/// Positions of the groups of a match; group 0 is the whole match.
pub(super) type Spans = Vec<Option<(usize, usize)>>;

impl Engine {
    /// Compiles `node`.
    pub(super) fn new(node: &Node, target: Target) -> Result<Self, PatternError> {
        let needs_backtracking =
            node.needs_backtracking() || (target.line_ends && node.has_final_end());
        if needs_backtracking {
            let text = emit(node, target, Dialect::Backtracking);
            let mut builder = fancy_regex::RegexBuilder::new(&text);
            builder.backtrack_limit(STEPS_MAX).delegate_size_limit(PROGRAM_BYTES_MAX);
            let regex = builder.build().map_err(|error| refuse(&error.to_string()))?;
            return Ok(Self::Backtracking(Box::new(regex)));
        }
        let text = emit(node, target, Dialect::Linear);
        let mut builder = regex::RegexBuilder::new(&text);
        let regex = builder.size_limit(PROGRAM_BYTES_MAX).build();
        Ok(Self::Linear(Box::new(regex.map_err(|error| refuse(&error.to_string()))?)))
    }

    /// Whether `text` contains a match.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, RegexError> {
        match self {
            Self::Linear(regex) => Ok(regex.is_match(text)),
            Self::Backtracking(regex) => regex.is_match(text).map_err(|_| RegexError::Steps),
            Self::Unusable => Err(RegexError::Steps),
        }
    }

    /// Estimated steps of a search in `bytes` bytes; the engines do not report the real number.
    pub(super) fn steps(&self, bytes: usize) -> usize {
        match self {
            // One pass over the text, much faster than counted steps.
            Self::Linear(_) => 1 + bytes / 64,
            Self::Backtracking(_) => STEPS_MAX / 100,
            Self::Unusable => 0,
        }
    }

    /// The groups of the first match at or after byte `start`.
    pub(super) fn captures_at(
        &self,
        text: &str,
        start: usize,
    ) -> Result<Option<Spans>, RegexError> {
        match self {
            Self::Linear(regex) => {
                let spans = |captures: regex::Captures<'_>| {
                    captures.iter().map(|group| group.map(|g| (g.start(), g.end()))).collect()
                };
                Ok(regex.captures_at(text, start).map(spans))
            }
            Self::Backtracking(regex) => {
                let spans = |captures: fancy_regex::Captures<'_, str>| {
                    captures.iter().map(|group| group.map(|g| (g.start(), g.end()))).collect()
                };
                let found = regex.captures_from_pos(text, start);
                found.map(|found| found.map(spans)).map_err(|_| RegexError::Steps)
            }
            Self::Unusable => Err(RegexError::Steps),
        }
    }
}

/// Positions in the engine's message refer to the emitted notation, so only its last line is useful
/// to the operator.
fn refuse(message: &str) -> PatternError {
    let reason = message.lines().last().unwrap_or_default().trim_start_matches("error: ");
    PatternError::new(0, format!("this expression cannot be used: {reason}"))
        .help("simplify it; weir matches most of Java's syntax, but not all of it")
}
