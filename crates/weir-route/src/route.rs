//! A compiled route: what the index keeps.

use std::sync::Arc;

use crate::one_or_more::OneOrMore;
use crate::predicate::Predicate;

/// A compiled route. `T` is what a match leads to (upstream, filters, policy); the index never
/// looks into it.
#[derive(Debug)]
pub struct Route<T> {
    /// Identifier as defined.
    pub id: Arc<str>,
    /// Lower is tried first; ties go by position.
    pub order: i32,
    /// Place in definition order over all sources; unique in a table.
    pub position: u64,
    /// All must hold, tried left to right.
    pub predicates: OneOrMore<Predicate>,
    /// What a match leads to.
    pub target: T,
}
