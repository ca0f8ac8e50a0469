//! Compiled routes, as stored in the index.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::predicate::{Predicate, PredicateError, WeightGroups};
use crate::request::Request;

/// The predicates of a route, two of them inline: most routes have a Path and one more, and each
/// cache miss of a lookup costs as much as parsing a head (`docs/decisions/0012-route-layout.md`).
pub type Predicates = SmallVec<[Predicate; 2]>;

/// A compiled route. `T` is the target of a match (upstream, filters, policy); the index never
/// reads it.
///
/// The order of fields matters: a lookup reads the fields on both sides of `target`, so that their
/// cache lines are fetched in parallel.
#[derive(Debug)]
#[repr(C)]
pub struct Route<T> {
    /// The group it belongs to.
    pub group: Option<Arc<RouteGroup>>,
    /// Position in definition order over all sources; unique in a table, at most
    /// [`POSITION_MAX`](crate::index::POSITION_MAX).
    pub position: u64,
    /// Lower is tried first; ties are decided by position. Within a group it orders the group's
    /// routes.
    pub order: i32,
    /// Target of a match.
    pub target: T,
    /// Conditions, all of which must hold, evaluated left to right after those of the group.
    pub predicates: Predicates,
    /// Identifier as defined.
    pub id: Arc<str>,
}

/// A group of routes: shared conditions, and a common place in the order of trial
/// (`docs/decisions/0007-route-groups.md`).
#[derive(Debug)]
pub struct RouteGroup {
    /// Identifier; unique among groups.
    pub id: Arc<str>,
    /// Lower is tried first, among groups and routes without a group.
    pub order: i32,
    /// Position among groups of the same order, all of which precede routes without a group;
    /// unique, below 2²⁴ − 1.
    pub place: u32,
    /// Conditions of all its routes, evaluated before their own.
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
    /// The first predicate that cannot be evaluated.
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

    /// Estimated memory of the route in bytes, without memory that its target points to.
    pub fn bytes(&self) -> usize {
        /// Size of the strong and weak counts in an `Arc` allocation.
        const COUNTS: usize = 2 * size_of::<usize>();
        let predicates: usize = self.predicates.iter().map(Predicate::heap_bytes).sum();
        let id = COUNTS + self.id.len();
        let elsewhere = if self.predicates.spilled() { self.predicates.capacity() } else { 0 };
        let list = elsewhere * size_of::<Predicate>();
        COUNTS + size_of::<Self>() + id + list + predicates
    }
}

impl WeightGroups {
    /// The groups of `routes`, which are in definition order.
    pub fn of_routes<'a, T: 'a>(routes: impl IntoIterator<Item = &'a Arc<Route<T>>>) -> Self {
        let predicates = routes.into_iter().flat_map(|route| route.all_predicates());
        Self::new(predicates.filter_map(Predicate::weight))
    }
}
