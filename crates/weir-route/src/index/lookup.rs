//! Route lookup: down the branches by the request's keys, in order of least rank.

use std::collections::HashSet;
use std::sync::Arc;

use super::hash::Hash;
use super::node::{Branch, Bucket, List};
use super::ranked::Rank;
use super::shown::Shown;
use crate::predicate::WeightGroups;
use crate::request::Request;
use crate::route::Route;

/// Visited buckets, by address of their branch and key.
pub(crate) type Seen = HashSet<(usize, u64)>;

/// Result of probing a branch for a request.
enum Probe<'i, T> {
    Found(Option<&'i Bucket<T>>),
    /// The request may show several keys.
    Several,
}

/// The state of a lookup: the request, and the best match so far.
pub(crate) struct Search<'i, 'q, T, N> {
    pub(crate) request: &'q Request<'q>,
    pub(crate) hash: &'i Hash,
    pub(crate) groups: &'i WeightGroups,
    pub(crate) best: Option<&'i Arc<Route<T>>>,
    /// Number of routes whose predicates were evaluated.
    pub(crate) tried: u32,
    /// Number of keys looked up.
    pub(crate) probed: u32,
    /// Buckets visited so far under branches that show several keys, by branch and key.
    seen: &'q mut Seen,
    /// Called with the target of a route that is likely to match.
    near: N,
    /// Rank of `best`: only routes before it are of interest.
    before: Rank,
}

impl<'i, 'q, T, N: FnMut(&'i T)> Search<'i, 'q, T, N> {
    pub(crate) fn new(
        request: &'q Request<'q>,
        hash: &'i Hash,
        groups: &'i WeightGroups,
        seen: &'q mut Seen,
        near: N,
    ) -> Self {
        if !seen.is_empty() {
            seen.clear();
        }
        Self {
            request,
            hash,
            groups,
            best: None,
            tried: 0,
            probed: 0,
            seen,
            near,
            before: Rank::LAST,
        }
    }

    /// Searches `bucket` for a better match. Of two branches, the one with the lower least rank is
    /// first: a match there excludes most of the other.
    pub(crate) fn visit(&mut self, bucket: &'i Bucket<T>) {
        self.visit_probed(bucket, None);
    }

    /// [`Self::visit`] of a bucket; if it is a branch, `probed` may hold the result of its probe.
    fn visit_probed(&mut self, mut bucket: &'i Bucket<T>, mut probed: Option<Probe<'i, T>>) {
        loop {
            let branch = match bucket {
                Bucket::One(route) => {
                    (self.near)(&route.target);
                    self.try_route(route);
                    return;
                }
                Bucket::List(list) => return self.try_list(list),
                Bucket::Branch(branch) if branch.least > self.before => return,
                Bucket::Branch(branch) => branch,
            };
            let probe = probed.take().unwrap_or_else(|| self.probe(branch));
            let Probe::Found(found) = probe else { return self.descend(branch) };
            // Probed before it is certain to be needed: both reads are cache misses, and the
            // processor overlaps them.
            let after = match &branch.any {
                Some(Bucket::Branch(any)) if any.least <= self.before => Some(self.probe(any)),
                _ => None,
            };
            bucket = match (found, &branch.any) {
                // Reading a single route's rank is a cache miss, half the cost of trying it.
                (Some(found @ (Bucket::List(_) | Bucket::Branch(_))), Some(any))
                    if any.least() < found.least() =>
                {
                    self.visit_probed(any, after);
                    found
                }
                (found, Some(any)) => {
                    found.into_iter().for_each(|found| self.visit(found));
                    probed = after;
                    any
                }
                (Some(only), None) => only,
                (None, None) => return,
            };
        }
    }

    /// The bucket in `branch` for the request's key, if it shows at most one.
    #[inline]
    fn probe(&mut self, branch: &'i Branch<T>) -> Probe<'i, T> {
        match branch.dim.only(self.request, self.hash) {
            Shown::Nothing => Probe::Found(None),
            Shown::Key(key) => {
                self.probed += 1;
                Probe::Found(branch.values.get(key))
            }
            Shown::Several => Probe::Several,
        }
    }

    fn try_list(&mut self, list: &'i List<T>) {
        let found = match &list.many {
            None => list.can_match(self.request).find(|route| self.try_route(route)),
            Some(many) => many.routes.find(&mut |route| self.try_route(route)),
        };
        // Most routes of a long list that is scanned do not match.
        if found.is_some()
            && let Some(best) = self.best
        {
            (self.near)(&best.target);
        }
    }

    /// Tries a route unless its rank is too high. Returns whether the later routes of its list can
    /// be skipped.
    #[inline]
    fn try_route(&mut self, route: &'i Arc<Route<T>>) -> bool {
        let rank = Rank::of(route);
        if rank > self.before {
            return true;
        }
        self.tried += 1;
        if route.matches(self.request, self.groups) != Ok(true) {
            return false;
        }
        self.best = Some(route);
        self.before = rank;
        true
    }

    /// [`Self::visit`] of a branch for which the request may show several keys.
    fn descend(&mut self, branch: &'i Branch<T>) {
        let mut any = branch.any.as_ref();
        let mut first = None;
        let (request, hash) = (self.request, self.hash);
        branch.dim.show_several(request, hash, &branch.sizes, &mut |key| {
            self.probed += 1;
            let Some(bucket) = branch.values.get(key) else { return };
            // A request may repeat one key a thousand times, or alternate between many.
            let again = match first {
                None => false,
                Some(first) => first == key || !self.seen.insert((address(branch), key)),
            };
            if again {
                return;
            }
            first = first.or(Some(key));
            if let Some(earlier) = any.take_if(|any| any.least() < bucket.least()) {
                self.visit(earlier);
            }
            self.visit(bucket);
        });
        if let Some(any) = any {
            self.visit(any);
        }
    }
}

fn address<T>(branch: &Branch<T>) -> usize {
    std::ptr::from_ref(branch) as usize
}

impl<T> Bucket<T> {
    /// Adds every route that a lookup of `request` may try, regardless of matches.
    pub(crate) fn candidates<'i>(
        &'i self,
        request: &Request<'_>,
        hash: &Hash,
        seen: &mut Seen,
        found: &mut Vec<&'i Arc<Route<T>>>,
    ) {
        match self {
            Bucket::One(route) => found.push(route),
            Bucket::List(list) => found.extend(list.iter()),
            Bucket::Branch(branch) => {
                branch.dim.show(request, hash, &branch.sizes, |key| {
                    if let Some(bucket) = branch.values.get(key)
                        && seen.insert((address(branch), key))
                    {
                        bucket.candidates(request, hash, seen, found);
                    }
                });
                if let Some(bucket) = &branch.any {
                    bucket.candidates(request, hash, seen, found);
                }
            }
        }
    }
}
