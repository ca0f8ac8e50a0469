//! The weight groups of a table, kept up as it changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ranked::Op;
use crate::predicate::{Predicate, WeightGroups};
use crate::route::Route;

/// Routes that take part in a group, and the groups they make.
#[derive(Debug)]
pub(crate) struct Weights<T> {
    /// By position: definition order.
    routes: Arc<BTreeMap<u64, Arc<Route<T>>>>,
    groups: Arc<WeightGroups>,
}

impl<T> Default for Weights<T> {
    fn default() -> Self {
        Self { routes: Arc::default(), groups: Arc::default() }
    }
}

impl<T> Weights<T> {
    pub(crate) fn groups(&self) -> &WeightGroups {
        &self.groups
    }

    /// The groups after `ops`, in which a route leaves before another takes its position.
    pub(crate) fn update(&self, ops: &[Op<'_, T>]) -> Self {
        let weighted = |op: &&Op<'_, T>| op.route.predicates.iter().any(|p| p.weight().is_some());
        let mut touched = ops.iter().filter(weighted).peekable();
        if touched.peek().is_none() {
            return Self { routes: Arc::clone(&self.routes), groups: Arc::clone(&self.groups) };
        }
        let mut routes = BTreeMap::clone(&self.routes);
        let (come, leave): (Vec<&Op<'_, T>>, Vec<_>) = touched.partition(|op| op.put);
        for op in leave {
            routes.remove(&op.route.position);
        }
        for op in come {
            routes.insert(op.route.position, Arc::clone(op.route));
        }
        let weights = routes.values().flat_map(|route| &route.predicates);
        let groups = WeightGroups::new(weights.filter_map(Predicate::weight));
        Self { routes: Arc::new(routes), groups: Arc::new(groups) }
    }
}
