//! The shared part of a group's routes, compiled once (`docs/decisions/0007-route-groups.md`).

use std::collections::HashMap;
use std::sync::Arc;

use weir_route::{RouteDefinition, RouteGroup};

use super::problem::Problem;

/// A compiled group of `weir.groups`.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its definition.
    pub definition: RouteDefinition,
    /// The group as its routes reference it.
    pub shared: Arc<RouteGroup>,
    /// The group without predicates, for CORS rules, which ignore them.
    pub place: Arc<RouteGroup>,
    /// Its problems; if there are any, none of its routes compiles.
    pub problems: Vec<Problem>,
}

/// Groups by id.
pub(super) type Groups = HashMap<String, Group>;

impl Group {
    /// `route` merged with the group: the group's conditions and filters before the route's own,
    /// its uri if the route has none, and its metadata except names that the route sets itself.
    pub fn expand(&self, route: &RouteDefinition) -> RouteDefinition {
        let shared = self.definition.clone();
        let mut expanded = RouteDefinition { uri: shared.uri, ..route.clone() };
        if !route.uri.is_empty() {
            expanded.uri.clone_from(&route.uri);
        }
        expanded.predicates.splice(0..0, shared.predicates);
        expanded.filters.splice(0..0, shared.filters);
        expanded.metadata = shared.metadata;
        expanded.metadata.extend(route.metadata.clone());
        expanded
    }
}
