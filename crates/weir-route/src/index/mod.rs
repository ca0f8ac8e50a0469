//! The route table: `lookup` through a decision index, `scan` as its oracle.
//!
//! The two give the same answer for every table and every request. An [`Index`] is immutable; a
//! change gives a new one that shares what did not change.

mod keymap;
mod ranked;

use std::sync::Arc;

use crate::predicate::{PredicateError, WeightGroups};
use crate::request::Request;
use crate::route::Route;

/// Memory a lookup reuses: one per worker.
#[derive(Debug, Default)]
pub struct Scratch {}

/// One change of a table. A route is known by its `position`.
#[derive(Debug)]
pub enum Change<T> {
    /// Adds a route, or replaces the one at its position.
    Put(Arc<Route<T>>),
    /// Removes the route at this position, if there is one.
    Remove(u64),
}

/// An immutable table of routes.
#[derive(Debug)]
pub struct Index<T> {
    /// Sorted by (order, position): SCG's order of trial.
    routes: Vec<Arc<Route<T>>>,
    groups: WeightGroups,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self { routes: Vec::new(), groups: WeightGroups::default() }
    }
}

impl<T> Index<T> {
    /// A table of `routes`, in any order.
    pub fn build(mut routes: Vec<Arc<Route<T>>>) -> Self {
        routes.sort_by_key(|route| (route.order, route.position));
        Self { routes, groups: WeightGroups::default() }
    }

    /// A table with `changes` applied in order.
    pub fn apply(&self, changes: Vec<Change<T>>) -> Self {
        let mut routes = self.routes.clone();
        for change in changes {
            let position = match &change {
                Change::Put(route) => route.position,
                Change::Remove(position) => *position,
            };
            routes.retain(|route| route.position != position);
            if let Change::Put(route) = change {
                routes.push(route);
            }
        }
        Self::build(routes)
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there is no route.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// All routes in order of trial.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Route<T>>> {
        self.routes.iter()
    }

    /// The first route whose predicates all hold; a failing predicate skips its route.
    pub fn lookup(&self, request: &Request<'_>, scratch: &mut Scratch) -> Option<&Arc<Route<T>>> {
        let _ = scratch;
        self.scan(request)
    }

    /// What [`Index::lookup`] must answer: every route tried in order (SCG class
    /// `RoutePredicateHandlerMapping`).
    pub fn scan(&self, request: &Request<'_>) -> Option<&Arc<Route<T>>> {
        self.routes.iter().find(|route| route.matches(request, &self.groups) == Ok(true))
    }
}

impl<T> Route<T> {
    /// Whether all predicates hold, left to right.
    ///
    /// # Errors
    /// The first predicate that cannot decide.
    pub fn matches(
        &self,
        request: &Request<'_>,
        groups: &WeightGroups,
    ) -> Result<bool, PredicateError> {
        for predicate in &self.predicates {
            if !predicate.matches(request, groups)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
