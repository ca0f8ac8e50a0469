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

impl<T> Route<T> {
    /// About how much memory the route takes, in bytes, without what its target points to.
    pub fn bytes(&self) -> usize {
        /// The counts in front of what an `Arc` holds.
        const COUNTS: usize = 2 * size_of::<usize>();
        let predicates: usize = self.predicates.iter().map(Predicate::heap_bytes).sum();
        let id = COUNTS + self.id.len();
        COUNTS + size_of::<Self>() + id + self.predicates.heap_bytes() + predicates
    }
}
