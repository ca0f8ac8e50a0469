//! The decision tree of the index, and its updates.
//!
//! A bucket of few routes is a list. A crowded one branches on the dimension that splits its routes
//! best ([`crate::index::choice`]): each route is filed under the hashes of the values that it
//! demands there, or under `any` if it has no demand. A request's keys lead to the routes that
//! demand them, and to `any`; no other route can match.

use std::sync::Arc;

use super::choice;
use super::dim::Dim;
use super::keymap::KeyMap;
use super::methods::Methods;
use super::ranked::{Op, Rank, Ranked};
use super::way::Way;
use crate::request::Request;
use crate::route::Route;

/// A list longer than this becomes a branch if that helps.
pub(crate) const LIST_MAX: usize = 4;
/// A branch with at most this number of filings becomes a list again.
const BRANCH_MIN: usize = 2;
/// Maximum number of branches above a bucket; below, it stays a list.
const DEPTH_MAX: usize = 128;

/// A bucket: the routes left after some attributes of the request are known.
#[derive(Debug)]
pub(crate) enum Bucket<T> {
    One(Arc<Route<T>>),
    List(Arc<List<T>>),
    Branch(Arc<Branch<T>>),
}

/// Routes that are tried in order: up to [`LIST_MAX`] inside the list itself, in one block of
/// memory, otherwise [`Many`].
#[derive(Debug)]
pub(crate) struct List<T> {
    pub(crate) few: [Option<Arc<Route<T>>>; LIST_MAX],
    /// The methods with which each route can match; other routes are not even read.
    pub(crate) methods: [Methods; LIST_MAX],
    pub(crate) many: Option<Box<Many<T>>>,
}

/// Routes of a list that is too long to store them inline.
#[derive(Debug)]
pub(crate) struct Many<T> {
    pub(crate) routes: Ranked<T>,
    /// Number of routes at the last attempt to branch, which found no useful dimension.
    hopeless: usize,
}

/// Routes filed by the keys that they demand in one dimension.
#[derive(Debug)]
pub(crate) struct Branch<T> {
    pub(crate) dim: Dim,
    /// A lower bound of the ranks below (the route of this rank may have been removed).
    pub(crate) least: Rank,
    pub(crate) values: KeyMap<Bucket<T>>,
    pub(crate) any: Option<Bucket<T>>,
    /// Distinct lengths of text or address covered by the keys below; empty if keys cover all of
    /// it.
    pub(crate) sizes: Box<[u16]>,
    pub(crate) filed: Filed,
}

/// A route on its way to the bucket of one value. It clones the route's `Arc`, so that building a
/// table increments reference counts in the order of routes in memory, not of hashes: each
/// increment would be a cache miss then.
struct Filing<T> {
    route: Arc<Route<T>>,
    put: bool,
}

impl<T> Filing<T> {
    fn op(&self) -> Op<'_, T> {
        Op { route: &self.route, put: self.put }
    }
}

/// Number of filings below a branch; a route counts once per filing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filed {
    pub(crate) values: usize,
    pub(crate) any: usize,
}

impl<T> Clone for Bucket<T> {
    fn clone(&self) -> Self {
        match self {
            Bucket::One(route) => Bucket::One(Arc::clone(route)),
            Bucket::List(list) => Bucket::List(Arc::clone(list)),
            Bucket::Branch(branch) => Bucket::Branch(Arc::clone(branch)),
        }
    }
}

impl<T> Bucket<T> {
    /// A lower bound of the ranks in this bucket.
    #[inline]
    pub(crate) fn least(&self) -> Rank {
        match self {
            Bucket::One(route) => Rank::of(route),
            Bucket::List(list) => list.first().map_or(Rank::LAST, |r| Rank::of(r)),
            Bucket::Branch(branch) => branch.least,
        }
    }

    /// Calls `visit` with every route below, once per filing.
    pub(crate) fn for_each<'a>(&'a self, visit: &mut impl FnMut(&'a Arc<Route<T>>)) {
        match self {
            Bucket::One(route) => visit(route),
            Bucket::List(list) => list.iter().for_each(visit),
            Bucket::Branch(branch) => {
                let mut stack = Vec::new();
                branch.values.for_each(&mut |bucket| stack.push(bucket));
                stack.extend(&branch.any);
                while let Some(bucket) = stack.pop() {
                    bucket.for_each(visit);
                }
            }
        }
    }
}

impl<T> List<T> {
    fn new(routes: Ranked<T>, hopeless: usize) -> Self {
        let (mut few, mut methods) = ([const { None }; LIST_MAX], [Methods::NONE; LIST_MAX]);
        if routes.len() > LIST_MAX {
            return Self { few, methods, many: Some(Box::new(Many { routes, hopeless })) };
        }
        for ((few, methods), route) in few.iter_mut().zip(&mut methods).zip(routes.iter()) {
            (*few, *methods) = (Some(Arc::clone(route)), Methods::of_route(route));
        }
        Self { few, methods, many: None }
    }

    /// All routes in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Route<T>>> {
        self.few.iter().flatten().chain(self.many.iter().flat_map(|many| many.routes.iter()))
    }

    /// The inline routes that can match the method of `request`.
    #[inline]
    pub(crate) fn can_match(&self, request: &Request<'_>) -> impl Iterator<Item = &Arc<Route<T>>> {
        let method = Methods::of(request.head.method());
        let routes = self.few.iter().flatten().zip(&self.methods);
        routes.filter(move |(_, methods)| methods.meets(method)).map(|(route, _)| route)
    }

    /// The first route.
    pub(crate) fn first(&self) -> Option<&Arc<Route<T>>> {
        let first = || self.many.as_ref().and_then(|many| many.routes.first());
        self.few[0].as_ref().or_else(first)
    }

    /// Number of routes.
    pub(crate) fn len(&self) -> usize {
        self.many.as_ref().map_or(self.few.iter().flatten().count(), |many| many.routes.len())
    }

    /// Bytes of the list, without its routes.
    pub(crate) fn bytes(&self) -> usize {
        let many = self.many.as_ref().map(|many| size_of::<Many<T>>() + many.routes.bytes());
        size_of::<Self>() + many.unwrap_or_default()
    }
}

impl Way<'_> {
    /// The bucket after `ops`, which are sorted by [`Op::sort_key`]; `None` if it becomes empty.
    pub(crate) fn update<T>(
        &mut self,
        bucket: Option<&Bucket<T>>,
        ops: &[Op<'_, T>],
    ) -> Option<Bucket<T>> {
        match bucket {
            None => match ops {
                [] => None,
                [op] => op.put.then(|| Bucket::One(Arc::clone(op.route))),
                _ => self.bucket_of(Ranked::default().update(ops), 0),
            },
            Some(bucket) if ops.is_empty() => Some(bucket.clone()),
            Some(Bucket::One(route)) => {
                let one = Ranked::default().update(&[Op { route, put: true }]);
                self.bucket_of(one.update(ops), 0)
            }
            Some(Bucket::List(list)) => match &list.many {
                Some(many) => self.bucket_of(many.routes.update(ops), many.hopeless),
                None => {
                    let put = |route| Op { route, put: true };
                    let few: Vec<_> = list.few.iter().flatten().map(put).collect();
                    self.bucket_of(Ranked::default().update(&few).update(ops), 0)
                }
            },
            Some(Bucket::Branch(branch)) => self.update_branch(branch, ops),
        }
    }

    /// The best bucket for `routes`; `hopeless` is the size at the last failed attempt to branch.
    fn bucket_of<T>(&mut self, routes: Ranked<T>, mut hopeless: usize) -> Option<Bucket<T>> {
        let len = routes.len();
        if len <= 1 {
            return routes.first().map(|route| Bucket::One(Arc::clone(route)));
        }
        if len > LIST_MAX.max(2 * hopeless) && self.depth() < DEPTH_MAX {
            if let Some(dim) = choice::best(&routes, self) {
                let ops: Vec<_> = routes.iter().map(|route| Op { route, put: true }).collect();
                let empty = Branch {
                    dim,
                    least: Rank::LAST,
                    values: KeyMap::default(),
                    any: None,
                    sizes: Box::new([]),
                    filed: Filed::default(),
                };
                return self.update_branch(&empty, &ops);
            }
            hopeless = len;
        }
        Some(Bucket::List(Arc::new(List::new(routes, hopeless))))
    }

    fn update_branch<T>(&mut self, branch: &Branch<T>, ops: &[Op<'_, T>]) -> Option<Bucket<T>> {
        let mut under = Vec::with_capacity(ops.len());
        let mut any = Vec::new();
        let mut least = branch.least;
        let mut filed = branch.filed;
        let mut sizes = branch.sizes.to_vec();
        let mut keys = Vec::new();
        for op in ops {
            let demands = self.keys(op.route, &branch.dim, &mut keys);
            let (filed, count) = match demands {
                true => (&mut filed.values, keys.len()),
                false => (&mut filed.any, 1),
            };
            if op.put {
                least = least.min(Rank::of(op.route));
                *filed += count;
                sizes.extend(keys.iter().map(|demand| demand.size).filter(|size| *size > 0));
                sizes.sort_unstable();
                sizes.dedup();
            } else {
                *filed = filed.saturating_sub(count);
            }
            if demands {
                under.extend(keys.iter().map(|demand| {
                    let filing = Filing { route: Arc::clone(op.route), put: op.put };
                    (demand.key, Some(filing))
                }));
            } else {
                any.push(*op);
            }
        }
        under.sort_by_key(|(key, _)| *key);
        self.enter(&branch.dim);
        let any = self.update(branch.any.as_ref(), &any);
        let values = branch.values.update(&mut under, &mut |bucket, filings| {
            if let (None, [(_, only)]) = (bucket, &mut *filings) {
                return only.take().filter(|only| only.put).map(|only| Bucket::One(only.route));
            }
            if let [(_, Some(only))] = &*filings {
                return self.update(bucket, &[only.op()]);
            }
            let filings = filings.iter().filter_map(|(_, filing)| filing.as_ref());
            self.update(bucket, &filings.map(Filing::op).collect::<Vec<_>>())
        });
        self.leave();
        if filed.values == 0 {
            return any;
        }
        let sizes = sizes.into();
        let branch = Branch { dim: branch.dim.clone(), least, values, any, sizes, filed };
        let bucket = Bucket::Branch(Arc::new(branch));
        if filed.values + filed.any > BRANCH_MIN {
            return Some(bucket);
        }
        let mut left = Vec::new();
        bucket.for_each(&mut |route| left.push(Op { route, put: true }));
        left.sort_by_key(Op::sort_key);
        left.dedup_by_key(|op| Rank::of(op.route));
        self.bucket_of(Ranked::default().update(&left), 0)
    }
}
