//! The path down the decision tree, as far as a route's demands depend on it.

use super::dim::{Demand, Dim};
use super::hash::Hash;
use crate::route::Route;

/// Maximum number of buckets in which all branches above together file a route.
const FILINGS_MAX: usize = 1024;

/// State of a descent: the hash function and the branches passed.
pub(crate) struct Way<'a> {
    pub(crate) hash: &'a Hash,
    dims: Vec<Dim>,
}

impl<'a> Way<'a> {
    pub(crate) fn new(hash: &'a Hash) -> Self {
        Self { hash, dims: Vec::new() }
    }

    /// Enters a branch.
    pub(crate) fn enter(&mut self, dim: &Dim) {
        self.dims.push(dim.clone());
    }

    /// Whether a branch above is on `dim`, so that another would separate nothing.
    pub(crate) fn passed(&self, dim: &Dim) -> bool {
        self.dims.contains(dim)
    }

    /// Leaves the branch entered last.
    pub(crate) fn leave(&mut self) {
        self.dims.pop();
    }

    /// Number of branches passed.
    pub(crate) fn depth(&self) -> usize {
        self.dims.len()
    }

    /// Fills `keys` with the demands of `route` in `dim`; `false` if it has none, or is filed in so
    /// many buckets already that it goes under `any`.
    ///
    /// The result depends only on the branches passed and the route, so a removal finds all filings
    /// of the insertion.
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
