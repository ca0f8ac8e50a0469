//! Behaviour of predicates, implemented in the file of each.

use std::fmt;

use super::error::PredicateError;
use super::key::Key;
use super::weight_groups::WeightGroups;
use crate::request::Request;
use crate::vars::Vars;

/// A condition on a request; `Display` prints as SCG's actuator. The defaults do nothing.
pub(super) trait Condition: fmt::Display {
    /// Whether `request` satisfies it.
    ///
    /// # Errors
    /// See [`PredicateError`].
    fn matches(&self, request: &Request<'_>, groups: &WeightGroups)
    -> Result<bool, PredicateError>;

    /// The request's value, as the rest of a sentence: "the path is …".
    fn subject(&self, request: &Request<'_>, groups: &WeightGroups) -> String;

    /// Publishes the URI variables of a request that matched.
    fn publish(&self, request: &Request<'_>, vars: &mut Vars) {
        let _ = (request, vars);
    }

    /// The key by which the index can look it up.
    fn key(&self) -> Option<Key<'_>> {
        None
    }

    /// A warning about a predicate that SCG accepts but that cannot be intended.
    fn caution(&self) -> Option<String> {
        None
    }

    /// Estimated heap memory in bytes: stored texts are assumed to be as long as the displayed
    /// text.
    fn heap_bytes(&self) -> usize {
        self.to_string().len()
    }

    /// Whether the result depends on the body of a request.
    fn reads_body(&self) -> bool {
        false
    }
}
