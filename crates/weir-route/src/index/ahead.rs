//! Fetching what a lookup will read before it does: of a large table, nothing is in the processor's
//! caches (`docs/decisions/0015-huge-pages.md`).

use super::Index;
use super::node::Bucket;
use crate::request::Request;

/// A table with fewer routes is in the processor's caches as it is.
const ROUTES_MIN: usize = 2_000;

/// Has the processor bring memory into its caches while the caller goes on.
pub trait Fetch {
    /// Fetches the first lines of `values`, and waits for none.
    fn fetch<V>(&self, values: &[V]);
}

impl<T> Index<T> {
    /// Whether [`Index::look_ahead`] is worth its while.
    pub fn is_large(&self) -> bool {
        self.len() >= ROUTES_MIN
    }

    /// Follows a lookup of `request` through as many places as `fetched` that have been fetched,
    /// and fetches the next one. A guess: of several ways it follows one, and what is not known of
    /// the request yet may be wrong.
    // Called twice for a request: the second time, its code is near.
    #[inline(never)]
    pub fn look_ahead(&self, request: &Request<'_>, fetched: usize, fetch: &impl Fetch) {
        let (mut next, mut fetched) = (self.root.as_ref(), fetched);
        while let Some(bucket) = next {
            let branch = match bucket {
                Bucket::One(route) => return fetch.fetch(std::slice::from_ref(&**route)),
                Bucket::List(list) => return fetch.fetch(std::slice::from_ref(&**list)),
                Bucket::Branch(branch) => branch,
            };
            next = branch.any.as_ref();
            if !branch.dim.is_quick() {
                continue;
            }
            let mut first = None;
            branch.dim.show(request, &self.hash, &branch.sizes, |key| {
                first = first.or(Some(key));
            });
            let Some(key) = first else { continue };
            let near = branch.values.near(key);
            // A few values at the top are always in the caches.
            if !branch.values.is_leaf() {
                let Some(left) = fetched.checked_sub(1) else { return near.fetch(fetch) };
                fetched = left;
            }
            next = near.get(key).or(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Fetch, ROUTES_MIN};
    use crate::Route;
    use crate::index::tables::route;
    use crate::index::tables::shapes::{FLAT, Shape};
    use crate::index::{Index, Scratch};
    use crate::predicate::PredicateOptions;

    /// The places that were fetched, with their sizes.
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
                (0..4).for_each(|places| index.look_ahead(&ask.request(), places, &fetched));
                fetched.0.into_inner().last() == Some(&route)
            };
            let asked: Vec<_> = (0..2 * ROUTES_MIN).step_by(7).collect();
            let right = asked.iter().filter(|n| foreseen(n)).count();
            // Of mixed routes, some are found on several ways, of which one is followed.
            let least = if shape == Shape::Mixed { asked.len() / 2 } else { asked.len() };
            assert!(right >= least, "{shape:?}: {right} of {}", asked.len());
        }
    }

    #[test]
    fn where_a_route_is_looked_for_is_fetched_before_it() {
        let index = table(Shape::Exact, 2 * ROUTES_MIN);
        let (ask, fetched) = (Shape::Exact.ask(17), Fetched::default());
        (0..2).for_each(|places| index.look_ahead(&ask.request(), places, &fetched));
        let fetched = fetched.0.into_inner();
        assert!(matches!(*fetched, [(_, 1..=96), (_, size)] if size == size_of::<Route<()>>()));
    }
}
