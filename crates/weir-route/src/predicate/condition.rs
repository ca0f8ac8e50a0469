//! What every predicate can do; one implementation in each predicate's file.

use std::fmt;

use super::error::PredicateError;
use super::key::Key;
use super::weight_groups::WeightGroups;
use crate::request::Request;
use crate::vars::Vars;

/// A condition on a request; its text is that of SCG's actuator. A part that a predicate does not
/// have does nothing.
pub(super) trait Condition: fmt::Display {
    /// Whether `request` satisfies it.
    ///
    /// # Errors
    /// See [`PredicateError`].
    fn matches(&self, request: &Request<'_>, groups: &WeightGroups)
    -> Result<bool, PredicateError>;

    /// What the request showed, as the rest of a sentence: "the path is …".
    fn subject(&self, request: &Request<'_>, groups: &WeightGroups) -> String;

    /// Publishes the URI variables of a request that it matched.
    fn publish(&self, request: &Request<'_>, vars: &mut Vars) {
        let _ = (request, vars);
    }

    /// The part of it that the index can look up.
    fn key(&self) -> Option<Key<'_>> {
        None
    }

    /// Something accepted, as SCG accepts it, that cannot be meant.
    fn caution(&self) -> Option<String> {
        None
    }

    /// About how much memory lies behind it, in bytes: what it keeps of texts is taken to be as
    /// long as its own text.
    fn heap_bytes(&self) -> usize {
        self.to_string().len()
    }

    /// Whether what it says depends on the body of a request.
    fn reads_body(&self) -> bool {
        false
    }
}
