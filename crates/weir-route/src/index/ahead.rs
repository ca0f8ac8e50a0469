//! Prefetching for lookups: a large table does not fit in the processor's caches
//! (`docs/decisions/0015-prefetch.md`).

use std::slice;
use std::sync::Arc;

use super::Index;
use super::fetch::Fetch;
use super::node::{Branch, Bucket, List};
use super::shown::Shown;
use crate::pattern::PathSegments;
use crate::request::Request;
use crate::route::Route;

/// Minimum number of routes; a smaller table stays in the processor's caches.
const ROUTES_MIN: usize = 2_000;

/// Progress of the prefetching for one lookup.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead {
    /// Number of dependent memory locations fetched so far.
    places: usize,
    /// Everything that can be predicted has been fetched.
    whole: bool,
}

impl Ahead {
    /// Whether nothing is left to fetch.
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

impl<T> Index<T> {
    /// Whether the table is large enough for prefetching.
    pub fn is_large(&self) -> bool {
        self.len() >= ROUTES_MIN
    }

    /// [`Index::look_ahead`] for a request of which only the path is known yet.
    #[inline(never)]
    pub fn look_ahead_by_path(&self, path: &PathSegments, ahead: &mut Ahead, fetch: &impl Fetch) {
        let shown = |branch: &Branch<T>| branch.dim.only_path(path, &self.hash);
        self.fetch_next(shown, |_| None, ahead, fetch);
    }

    /// Follows a lookup of `request` through the memory fetched so far, and fetches the next
    /// location, if any. A guess: of several branches it follows one.
    // Called twice for a request: the second time, its code is in the cache.
    #[inline(never)]
    pub fn look_ahead(&self, request: &Request<'_>, ahead: &mut Ahead, fetch: &impl Fetch) {
        if ahead.whole {
            return;
        }
        let shown = |branch: &Branch<T>| {
            let mut shown = Shown::Nothing;
            branch.dim.show(request, &self.hash, &branch.sizes, |key| {
                if let Shown::Nothing = shown {
                    shown = Shown::Key(key);
                }
            });
            shown
        };
        self.fetch_next(shown, |list| list.can_match(request).next(), ahead, fetch);
    }

    /// `shown` returns the keys that the request shows to a branch, [`Shown::Several`] if they are
    /// not known yet; `likely` picks the probable route of a list.
    #[inline]
    fn fetch_next(
        &self,
        shown: impl Fn(&Branch<T>) -> Shown,
        likely: impl Fn(&List<T>) -> Option<&Arc<Route<T>>>,
        ahead: &mut Ahead,
        fetch: &impl Fetch,
    ) {
        let (mut next, mut left) = (self.root.as_ref(), ahead.places);
        // Branches near the root, with few values, are always in the caches.
        let mut is_top = true;
        while let Some(bucket) = next {
            let branch = match bucket {
                Bucket::One(route) => {
                    ahead.whole = true;
                    return fetch.fetch(slice::from_ref(&**route));
                }
                Bucket::List(list) if left == 0 => {
                    ahead.places += 1;
                    return fetch.fetch(slice::from_ref(&**list));
                }
                Bucket::List(list) => {
                    ahead.whole = true;
                    likely(list).into_iter().for_each(|r| fetch.fetch(slice::from_ref(&**r)));
                    return;
                }
                Bucket::Branch(branch) if is_top => branch,
                Bucket::Branch(branch) => {
                    let Some(fewer) = left.checked_sub(1) else {
                        ahead.places += 1;
                        return fetch.fetch(slice::from_ref(&**branch));
                    };
                    left = fewer;
                    branch
                }
            };
            next = branch.any.as_ref();
            if !branch.dim.is_quick() {
                continue;
            }
            let key = match shown(branch) {
                Shown::Key(key) => key,
                Shown::Nothing => continue,
                Shown::Several => return,
            };
            let near = branch.values.near(key);
            let is_near = is_top && branch.values.is_leaf();
            if !is_near {
                let Some(fewer) = left.checked_sub(1) else {
                    ahead.places += 1;
                    return near.fetch(fetch);
                };
                left = fewer;
            }
            if let Some(bucket) = near.get(key) {
                (next, is_top) = (Some(bucket), is_near);
            }
        }
        ahead.whole = true;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Ahead, Fetch, ROUTES_MIN};
    use crate::Route;
    use crate::index::tables::route;
    use crate::index::tables::shapes::{FLAT, Shape};
    use crate::index::{Index, Scratch};
    use crate::predicate::PredicateOptions;

    /// The fetched locations with their sizes.
    #[derive(Default)]
    struct Fetched(RefCell<Vec<(usize, usize)>>);

    impl Fetch for Fetched {
        fn fetch<V>(&self, values: &[V]) {
            let at = values.as_ptr() as usize;
            self.0.borrow_mut().push((at, size_of_val(values)));
        }
    }

    fn table(shape: Shape, routes: usize) -> Index<()> {
        let options = PredicateOptions::default();
        let build = |n| route(&options, n as u64, 0, &shape.predicates(n)).expect("a route");
        Index::build((0..routes).map(build).collect())
    }

    #[test]
    fn the_last_place_is_the_route_that_is_found() {
        assert!(!table(Shape::Exact, ROUTES_MIN - 1).is_large());
        for shape in FLAT {
            let (index, mut scratch) = (table(shape, 2 * ROUTES_MIN), Scratch::default());
            assert!(index.is_large());
            let mut foreseen = |n: &usize| {
                let (ask, fetched) = (shape.ask(*n), Fetched::default());
                let found = index.lookup(&ask.request(), &mut scratch).expect("a route");
                let route = (std::ptr::from_ref(&**found) as usize, size_of::<Route<()>>());
                let mut ahead = Ahead::default();
                index.look_ahead_by_path(&ask.request().parts.path, &mut ahead, &fetched);
                (0..5).for_each(|_| index.look_ahead(&ask.request(), &mut ahead, &fetched));
                fetched.0.into_inner().last() == Some(&route)
            };
            let asked: Vec<_> = (0..2 * ROUTES_MIN).step_by(7).collect();
            let right = asked.iter().filter(|n| foreseen(n)).count();
            // Some mixed routes are reached on several paths, of which one is followed.
            let least = if shape == Shape::Mixed { asked.len() / 2 } else { asked.len() };
            assert!(right >= least, "{shape:?}: {right} of {}", asked.len());
        }
    }

    #[test]
    fn where_a_route_is_looked_for_is_fetched_before_it() {
        let index = table(Shape::Exact, 2 * ROUTES_MIN);
        let (ask, fetched) = (Shape::Exact.ask(17), Fetched::default());
        let mut ahead = Ahead::default();
        index.look_ahead_by_path(&ask.request().parts.path, &mut ahead, &fetched);
        index.look_ahead(&ask.request(), &mut ahead, &fetched);
        index.look_ahead(&ask.request(), &mut ahead, &fetched);
        let fetched = fetched.0.into_inner();
        assert!(matches!(*fetched, [(_, 1..=96), (_, size)] if size == size_of::<Route<()>>()));
    }
}
