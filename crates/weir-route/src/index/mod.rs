//! The route table: `lookup` with a decision tree, `scan` as its test oracle.
//!
//! Both give the same result for every table and every request. An [`Index`] is immutable; a change
//! makes a new one that shares unchanged parts. Design: `docs/decisions/0002-route-index.md`.

mod ahead;
mod choice;
mod cover;
mod demand;
mod dim;
mod fetch;
mod hash;
pub(crate) mod keymap;
mod lookup;
mod methods;
mod node;
mod piece;
mod ranked;
mod shadow;
mod shown;
mod stats;
mod way;

#[cfg(test)]
#[path = "../../benches/tables/mod.rs"]
mod tables;

use std::sync::Arc;

use crate::beside::{Beside, alone};
use crate::predicate::{Predicate, WeightChange, WeightGroups};
use crate::request::Request;
use crate::route::Route;

pub use ahead::Ahead;
pub use fetch::Fetch;
pub use hash::DEFAULT_SEED;
pub use ranked::POSITION_MAX;
pub use shadow::Shadowed;
pub use stats::{BranchStats, Crowded, Stats};

use hash::Hash;
use keymap::KeyMap;
use lookup::Search;
use node::Bucket;
use ranked::{Op, Rank, Ranked};
use way::Way;

/// Reusable memory of lookups: one per worker.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Number of lookups; debug builds compare some of them with [`Index::scan`].
    lookups: u32,
    tried: u32,
    probed: u32,
    seen: lookup::Seen,
}

impl Scratch {
    /// Number of routes whose predicates the last lookup evaluated.
    pub fn tried(&self) -> u32 {
        self.tried
    }

    /// Number of keys that the last lookup looked up.
    pub fn probed(&self) -> u32 {
        self.probed
    }
}

/// In debug builds, one of this many lookups is compared with a scan, ...
const CHECK_EVERY: u32 = 64;
/// ... unless the table has more routes than this.
const CHECK_ROUTES_MAX: usize = 10_000;

/// Minimum number of changes for a second thread.
const OPS_FOR_THREAD_MIN: usize = 20_000;

/// A change of a table. A route is identified by its `position`.
#[derive(Debug)]
pub enum Change<T> {
    /// Adds a route, or replaces the one at its position.
    Put(Arc<Route<T>>),
    /// Removes the route at this position, if any.
    Remove(u64),
}

/// An immutable table of routes.
#[derive(Debug)]
pub struct Index<T> {
    hash: Hash,
    /// All routes in order of trial.
    routes: Ranked<T>,
    /// Ranks of the routes with a group or an order other than 0, by [`scatter`]ed position.
    ranks: KeyMap<Rank>,
    groups: WeightGroups,
    root: Option<Bucket<T>>,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self::with_seed(DEFAULT_SEED)
    }
}

impl<T> Index<T> {
    /// A table of `routes`, in any order. If several have one position, the last is used.
    pub fn build(routes: Vec<Arc<Route<T>>>) -> Self
    where
        T: Send + Sync,
    {
        Self::default().apply(routes.into_iter().map(Change::Put).collect())
    }

    /// An empty table whose hash function depends on the secret `seed`. Tables made from it by
    /// [`Index::apply`] keep the seed.
    pub fn with_seed(seed: u64) -> Self {
        Self {
            hash: Hash::new(seed),
            routes: Ranked::default(),
            ranks: KeyMap::default(),
            groups: WeightGroups::default(),
            root: None,
        }
    }

    /// A table with `changes` applied in order; all become visible at once. The cost depends on the
    /// number of changes, not on the size of the table.
    pub fn apply(&self, changes: Vec<Change<T>>) -> Self
    where
        T: Send + Sync,
    {
        self.apply_with(changes, alone)
    }

    /// [`Index::apply`] that divides large sets of changes between this thread and a second one.
    pub fn apply_with(&self, changes: Vec<Change<T>>, beside: Beside) -> Self
    where
        T: Send + Sync,
    {
        let mut wanted: Vec<(u64, Option<Arc<Route<T>>>)> = changes
            .into_iter()
            .map(|change| match change {
                Change::Put(route) => (route.position, Some(route)),
                Change::Remove(position) => (position, None),
            })
            .collect();
        wanted.sort_by_key(|(position, _)| *position);
        wanted.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        let leaving: Vec<_> = wanted.iter().filter_map(|(at, _)| self.at_position(*at)).collect();
        let coming = wanted.iter().filter_map(|(_, route)| route.as_ref());
        let leave = leaving.into_iter().map(|route| Op { route, put: false });
        let come = coming.map(|route| Op { route, put: true });
        let mut ops: Vec<_> = leave.chain(come).collect();
        ops.sort_by_key(Op::sort_key);
        let ops = ops.as_slice();
        let lists = || (self.routes.update(ops), self.update_ranks(ops), self.update_groups(ops));
        let tree = || Way::new(&self.hash).update(self.root.as_ref(), ops);
        let (mut made_lists, mut made_tree) = (None, None);
        if ops.len() >= OPS_FOR_THREAD_MIN {
            beside(&mut || made_lists = Some(lists()), &mut || made_tree = Some(tree()));
        }
        let (routes, ranks, groups) = made_lists.unwrap_or_else(lists);
        let root = made_tree.unwrap_or_else(tree);
        Self { hash: self.hash.clone(), routes, ranks, groups, root }
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there is no route.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All routes in order of trial.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Route<T>>> {
        self.routes.iter()
    }

    /// The route at this position.
    pub fn at_position(&self, position: u64) -> Option<&Arc<Route<T>>> {
        let rank = self.ranks.get(scatter(position)).copied();
        self.routes.get(rank.unwrap_or(Rank::alone(0, position)))
    }

    /// The weight groups of the table.
    pub fn groups(&self) -> &WeightGroups {
        &self.groups
    }

    /// The first route whose predicates all hold; a failing predicate skips its route. Does not
    /// allocate.
    pub fn lookup(&self, request: &Request<'_>, scratch: &mut Scratch) -> Option<&Arc<Route<T>>> {
        self.lookup_with(request, scratch, |_| {})
    }

    /// [`Index::lookup`] that calls `near` with the target of a route that is alone in its bucket,
    /// before its predicates are evaluated, so that the caller can prefetch it. For a list, `near`
    /// gets the target of the match.
    pub fn lookup_with<'i>(
        &'i self,
        request: &Request<'_>,
        scratch: &mut Scratch,
        near: impl FnMut(&'i T),
    ) -> Option<&'i Arc<Route<T>>> {
        let mut search = Search::new(request, &self.hash, self.groups(), &mut scratch.seen, near);
        if let Some(root) = &self.root {
            search.visit(root);
        }
        let found = search.best;
        (scratch.tried, scratch.probed) = (search.tried, search.probed);
        scratch.lookups = scratch.lookups.wrapping_add(1);
        if cfg!(debug_assertions)
            && scratch.lookups % CHECK_EVERY == 1
            && self.len() <= CHECK_ROUTES_MAX
        {
            let expected = self.scan(request).map(Arc::as_ptr);
            debug_assert_eq!(found.map(Arc::as_ptr), expected, "lookup and scan differ");
        }
        found
    }

    /// The specification of [`Index::lookup`]: every route tried in order (SCG class
    /// `RoutePredicateHandlerMapping`).
    pub fn scan(&self, request: &Request<'_>) -> Option<&Arc<Route<T>>> {
        self.routes.find(&mut |route| route.matches(request, self.groups()) == Ok(true))
    }

    /// The routes that a lookup of `request` considers, in order of trial; a superset of those that
    /// match. For `weir explain`.
    pub fn candidates(&self, request: &Request<'_>) -> Vec<&Arc<Route<T>>> {
        let mut found = Vec::new();
        if let Some(root) = &self.root {
            root.candidates(request, &self.hash, &mut lookup::Seen::default(), &mut found);
        }
        found.sort_by_key(|route| Rank::of(route));
        found.dedup_by_key(|route| route.position);
        found
    }

    fn update_groups(&self, ops: &[Op<'_, T>]) -> WeightGroups {
        let changes = ops.iter().flat_map(|op| {
            let weights = op.route.all_predicates().filter_map(Predicate::weight);
            let (position, put) = (op.route.position, op.put);
            weights.map(move |weight| WeightChange { position, weight, put })
        });
        self.groups.update(changes.collect())
    }

    fn update_ranks(&self, ops: &[Op<'_, T>]) -> KeyMap<Rank> {
        let mut ranks: Vec<_> = ops
            .iter()
            .filter(|op| op.route.order != 0 || op.route.group.is_some())
            .map(|op| (scatter(op.route.position), op.put.then(|| Rank::of(op.route))))
            .collect();
        ranks.sort_by_key(|(key, rank)| (*key, rank.is_some()));
        self.ranks.update(&mut ranks, &mut |_, ranks| ranks.last().and_then(|(_, rank)| *rank))
    }
}

/// A bijection that spreads positions over all 64 bits (the finaliser of SplitMix64).
fn scatter(position: u64) -> u64 {
    let x = position.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::tables::{Ask, route};
    use super::{Index, Scratch};
    use crate::predicate::PredicateOptions;

    /// A table whose tree lacks a route.
    fn damaged() -> Index<()> {
        let options = PredicateOptions::default();
        let build = |n: u64| route(&options, n, 0, &[format!("Path=/{n}")]).expect("a route");
        let whole = Index::build((0..20).map(build).collect());
        let part = Index::build((1..20).map(build).collect());
        Index { root: part.root, ..whole }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "lookup and scan differ")]
    fn a_wrong_tree_is_found_out_in_debug_builds() {
        let asks = ["/0", "/1"].map(|path| Ask::new("GET", "h", path, &[]));
        let (index, mut scratch) = (damaged(), Scratch::default());
        for ask in asks.iter().cycle().take(256) {
            index.lookup(&ask.request(), &mut scratch);
        }
    }

    #[test]
    fn the_oracle_needs_no_tree() {
        let ask = Ask::new("GET", "h", "/0", &[]);
        let index = damaged();
        let found = index.scan(&ask.request()).map(|route| Arc::clone(&route.id));
        assert_eq!(found.as_deref(), Some("r0"));
    }
}
