//! The way down the decision tree, as far as what a route demands depends on it.

use super::dim::{Demand, Dim};
use super::hash::Hash;
use crate::route::Route;

/// A route is filed under at most this many buckets by all branches above it together.
const FILINGS_MAX: usize = 1024;

/// What stays the same on the way down: the hash function and the branches passed.
pub(crate) struct Way<'a> {
    pub(crate) hash: &'a Hash,
    dims: Vec<Dim>,
}

impl<'a> Way<'a> {
    pub(crate) fn new(hash: &'a Hash) -> Self {
        Self { hash, dims: Vec::new() }
    }

    /// Passes a branch.
    pub(crate) fn enter(&mut self, dim: &Dim) {
        self.dims.push(dim.clone());
    }

    /// Whether a branch above is on `dim`: what it could tell, it has told.
    pub(crate) fn passed(&self, dim: &Dim) -> bool {
        self.dims.contains(dim)
    }

    /// Goes back before the branch passed last.
    pub(crate) fn leave(&mut self) {
        self.dims.pop();
    }

    /// Number of branches passed.
    pub(crate) fn depth(&self) -> usize {
        self.dims.len()
    }

    /// Fills `keys` with what `route` demands of `dim`; `false` if it demands nothing,
    /// or is filed in so many buckets by now that it goes under `any`.
    ///
    /// The answer depends on the branches passed and on the route alone, so that a route leaves
    /// by the way it came.
    pub(crate) fn keys<T>(&self, route: &Route<T>, dim: &Dim, keys: &mut Vec<Demand>) -> bool {
        if !dim.demands(route, self.hash, keys) {
            return false;
        }
        if keys.len() <= 1 {
            return true;
        }
        let mut spent = 1;
        let mut others = Vec::new();
        for dim in &self.dims {
            if dim.demands(route, self.hash, &mut others) && spent * others.len() <= FILINGS_MAX {
                spent *= others.len().max(1);
            }
        }
        spent * keys.len() <= FILINGS_MAX
    }
}
