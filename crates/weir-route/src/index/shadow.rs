//! Shadowed routes: they can never match, because an earlier route matches all their requests.
//!
//! Every report is certain, but not every shadowed route is found: expressions are compared as
//! text, not by the language they match, and in a crowded bucket only the first routes are
//! compared.

use std::collections::HashMap;
use std::sync::Arc;

use super::Index;
use super::cover;
use super::node::Bucket;
use super::ranked::Rank;
use super::way::Way;
use crate::predicate::joined;
use crate::route::Route;

/// Maximum number of routes of a bucket that a later route is compared with.
const COMPARED_MAX: usize = 64;

/// A route that can never match.
#[derive(Clone, Copy, Debug)]
pub struct Shadowed<'i, T> {
    /// The route.
    pub route: &'i Arc<Route<T>>,
    /// The first route found that matches all its requests.
    pub by: &'i Arc<Route<T>>,
    /// Whether both have the same predicates: one is a duplicate.
    pub duplicate: bool,
}

impl<T> Index<T> {
    /// The routes that can never match, in order of trial. Walks the whole table.
    pub fn shadowed(&self) -> Vec<Shadowed<'_, T>> {
        let mut seen: HashMap<u64, &Arc<Route<T>>> = HashMap::new();
        let mut shadowed = Vec::new();
        for route in self.iter().filter(|route| !weighted(route)) {
            let text = joined(route.all_predicates());
            let twin = *seen.entry(self.hash.text(text.as_bytes())).or_insert(route);
            let found = if twin.position != route.position && joined(twin.all_predicates()) == text
            {
                Some(twin)
            } else {
                let root = self.root.as_ref();
                root.and_then(|root| covering(root, route, &mut Way::new(&self.hash)))
            };
            if let Some(by) = found {
                let duplicate = joined(by.all_predicates()) == text;
                shadowed.push(Shadowed { route, by, duplicate });
            }
        }
        shadowed
    }
}

/// Routes that share traffic by weight look like duplicates but are not.
fn weighted<T>(route: &Route<T>) -> bool {
    route.all_predicates().any(|predicate| predicate.weight().is_some())
}

/// The first route found below `bucket` that matches every request of `route`. Its demands are a
/// subset of those of `route`, so it is filed where `route` is, or under `any`.
fn covering<'i, T>(
    bucket: &'i Bucket<T>,
    route: &Arc<Route<T>>,
    way: &mut Way<'_>,
) -> Option<&'i Arc<Route<T>>> {
    let rank = Rank::of(route);
    let covers =
        |earlier: &Arc<Route<T>>| Rank::of(earlier) < rank && cover::covers(earlier, route);
    match bucket {
        Bucket::One(earlier) => Some(earlier).filter(|earlier| covers(earlier)),
        Bucket::List(list) => list.iter().take(COMPARED_MAX).find(|route| covers(route)),
        Bucket::Branch(branch) if branch.least < rank => {
            let mut keys = Vec::new();
            let demands = way.keys(route, &branch.dim, &mut keys);
            let values = keys.first().filter(|_| demands);
            let values = values.and_then(|demand| branch.values.get(demand.key));
            way.enter(&branch.dim);
            let found = values
                .and_then(|bucket| covering(bucket, route, way))
                .or_else(|| branch.any.as_ref().and_then(|any| covering(any, route, way)));
            way.leave();
            found
        }
        Bucket::Branch(_) => None,
    }
}
