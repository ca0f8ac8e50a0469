//! Memory of a route table, by purpose.

use std::sync::Arc;

use weir_route::Route;

use crate::snapshot::{RouteTarget, Snapshot, Upstream};

/// Memory of a route table in bytes, as requested from the allocator, by purpose. Estimates: texts
/// inside predicates and filters count with the length of their displayed form, and compiled
/// expressions are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Compiled routes: ids, predicates, patterns.
    pub routes: usize,
    /// Filter chains and targets; a shared one counts once.
    pub targets: usize,
    /// The route index.
    pub index: usize,
}

impl Memory {
    /// The total.
    pub fn total(&self) -> usize {
        self.routes + self.targets + self.index
    }
}

impl Snapshot {
    /// Memory of the route table. Visits every route.
    pub fn memory(&self) -> Memory {
        let routes = self.index.iter().map(|route| route.bytes()).sum();
        let targets: f64 = self.index.iter().map(|route| share(route)).sum();
        Memory { routes, targets: targets as usize, index: self.index.stats().bytes }
    }
}

/// Bytes that the target of `route` points to, each allocation divided by the number of routes that
/// share it.
fn share(route: &Route<RouteTarget>) -> f64 {
    /// Size of the strong and weak counts in an `Arc` allocation.
    const COUNTS: usize = 2 * size_of::<usize>();
    fn each<T: ?Sized>(shared: &Arc<T>, bytes: usize) -> f64 {
        (COUNTS + bytes) as f64 / Arc::strong_count(shared) as f64
    }
    let target = &route.target;
    let upstream = match &target.upstream {
        Upstream::Http(to) => each(to, size_of_val(&**to) + to.host.len()),
        Upstream::Forward(to) => (size_of_val(&**to) + to.path.len()) as f64,
        Upstream::Balanced(_) | Upstream::Clustered(_) | Upstream::Mock(_) | Upstream::None => 0.0,
    };
    let policy = target.policy.as_ref().map_or(0.0, |policy| each(policy, size_of_val(&**policy)));
    let bytes = target.chain.bytes();
    let chain = target.chain.shared().map_or(bytes as f64, |entries| each(entries, bytes));
    chain + upstream + policy
}

#[cfg(test)]
mod tests {
    use weir_route::Route;

    use super::RouteTarget;

    #[test]
    fn a_route_is_five_lines_of_the_cache() {
        // Including the strong and weak counts of the `Arc`.
        let bytes = size_of::<Route<RouteTarget>>() + 2 * size_of::<usize>();
        assert!(bytes <= 320, "{bytes}");
    }
}
