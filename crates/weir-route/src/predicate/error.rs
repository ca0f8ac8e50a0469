//! Errors of predicates.

use crate::pattern::RegexError;

/// A predicate could not be evaluated; its route is skipped and the error logged (scg.md 1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateError(pub &'static str);

impl From<RegexError> for PredicateError {
    fn from(error: RegexError) -> Self {
        Self(match error {
            RegexError::Steps => "a regular expression took too many steps",
            RegexError::Groups => "a variable's expression has capturing groups",
        })
    }
}
