//! What the routes of a group share, compiled once (`docs/decisions/0007-route-groups.md`).

use std::collections::HashMap;
use std::sync::Arc;

use weir_route::{RouteDefinition, RouteGroup};

use super::problem::Problem;

/// A group of `weir.groups`, ready for routes.
#[derive(Debug)]
pub(crate) struct Group {
    /// What it says.
    pub definition: RouteDefinition,
    /// What its routes point to.
    pub shared: Arc<RouteGroup>,
    /// The same place in the order of trial without predicates: cross-origin rules ask for none.
    pub place: Arc<RouteGroup>,
    /// What is wrong with it; none of its routes compiles then.
    pub problems: Vec<Problem>,
}

/// Groups by id.
pub(super) type Groups = HashMap<String, Group>;

impl Group {
    /// `route` with everything that the group shares: its conditions and filters before the route's
    /// own, its uri if the route has none, its metadata where the route has none of that name.
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
