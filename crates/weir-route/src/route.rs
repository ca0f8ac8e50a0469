//! A compiled route: what the index keeps.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::predicate::{Predicate, PredicateError, WeightGroups};
use crate::request::Request;

/// The predicates of a route, two of which lie in the route itself: Path and one more is what most
/// have, and each place of memory that a lookup has to fetch costs as much as parsing a head
/// (`docs/decisions/0012-route-layout.md`).
pub type Predicates = SmallVec<[Predicate; 2]>;

/// A compiled route. `T` is what a match leads to (upstream, filters, policy); the index never
/// looks into it.
///
/// Its members lie in this order: a lookup reads what is on both sides of `target`, so that its
/// cache lines are fetched at once, not one after another.
#[derive(Debug)]
#[repr(C)]
pub struct Route<T> {
    /// The group it belongs to.
    pub group: Option<Arc<RouteGroup>>,
    /// Place in definition order over all sources; unique in a table, at most
    /// [`POSITION_MAX`](crate::index::POSITION_MAX).
    pub position: u64,
    /// Lower is tried first; ties go by position. Within a group it counts among its routes.
    pub order: i32,
    /// What a match leads to.
    pub target: T,
    /// All must hold, tried left to right, those of the group first.
    pub predicates: Predicates,
    /// Identifier as defined.
    pub id: Arc<str>,
}

/// What several routes share: conditions, and a place in the order of trial where all of them stand
/// together (`docs/decisions/0007-route-groups.md`).
#[derive(Debug)]
pub struct RouteGroup {
    /// Identifier; unique among groups.
    pub id: Arc<str>,
    /// Lower is tried first, among groups and routes without one.
    pub order: i32,
    /// Place among groups of the same order, all of which come before routes without a group;
    /// unique, below 2²⁴ − 1.
    pub place: u32,
    /// Conditions of all its routes, tried before their own.
    pub predicates: Predicates,
}

impl<T> Route<T> {
    /// Every predicate that must hold: the group's, then the route's own.
    pub fn all_predicates(&self) -> impl Iterator<Item = &Predicate> + Clone {
        let shared = self.group.as_ref().map_or(&[][..], |group| &*group.predicates);
        shared.iter().chain(self.predicates.iter())
    }

    /// Whether all predicates hold, left to right.
    ///
    /// # Errors
    /// The first predicate that cannot decide.
    pub fn matches(
        &self,
        request: &Request<'_>,
        groups: &WeightGroups,
    ) -> Result<bool, PredicateError> {
        if let Some(group) = &self.group {
            for predicate in &group.predicates {
                if !predicate.matches(request, groups)? {
                    return Ok(false);
                }
            }
        }
        for predicate in &self.predicates {
            if !predicate.matches(request, groups)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// About how much memory the route takes, in bytes, without what its target points to.
    pub fn bytes(&self) -> usize {
        /// The counts in front of what an `Arc` holds.
        const COUNTS: usize = 2 * size_of::<usize>();
        let predicates: usize = self.predicates.iter().map(Predicate::heap_bytes).sum();
        let id = COUNTS + self.id.len();
        let elsewhere = if self.predicates.spilled() { self.predicates.capacity() } else { 0 };
        let list = elsewhere * size_of::<Predicate>();
        COUNTS + size_of::<Self>() + id + list + predicates
    }
}

impl WeightGroups {
    /// The groups of `routes`, which come in definition order.
    pub fn of_routes<'a, T: 'a>(routes: impl IntoIterator<Item = &'a Arc<Route<T>>>) -> Self {
        let predicates = routes.into_iter().flat_map(|route| route.all_predicates());
        Self::new(predicates.filter_map(Predicate::weight))
    }
}
