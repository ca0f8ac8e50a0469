//! Routes in order of trial, as a persistent sorted sequence: a change copies one run of it.
//!
//! The whole table is such a sequence, and so is every long list of the index.

use std::sync::Arc;

use crate::route::Route;

/// Maximum number of entries of a run; a change copies one run and the levels above it.
const RUN_MAX: usize = 64;
/// Minimum number of entries of a run; a shorter one is merged with its neighbour.
const RUN_MIN: usize = 16;

/// The highest valid position of a route.
pub const POSITION_MAX: u64 = (1 << 40) - 1;

/// Position of a route in the order of trial; the least rank is first.
///
/// 128 bits, highest first: order of the group or route, place of the group (or
/// [`Rank::NO_GROUP`]), order within the group, position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u64, u64);

impl Rank {
    pub(crate) const LAST: Rank = Rank(u64::MAX, u64::MAX);
    const POSITION_BITS: u32 = POSITION_MAX.count_ones();
    const PLACE_BITS: u32 = 24;
    /// Place of routes without a group: after all groups.
    const NO_GROUP: u32 = (1 << Self::PLACE_BITS) - 1;

    #[inline]
    pub(crate) fn of<T>(route: &Route<T>) -> Self {
        match &route.group {
            None => Self::alone(route.order, route.position),
            Some(group) => Self::new(group.order, group.place, route.order, route.position),
        }
    }

    /// Rank of a route without a group.
    #[inline]
    pub(crate) fn alone(order: i32, position: u64) -> Self {
        Self::new(order, Self::NO_GROUP, 0, position)
    }

    #[inline]
    fn new(order: i32, place: u32, inner: i32, position: u64) -> Self {
        let unsigned = |order: i32| u64::from(order.cast_unsigned() ^ 1 << 31);
        let inner = unsigned(inner);
        let place = u64::from(place.min(Self::NO_GROUP));
        let position = position.min(POSITION_MAX);
        Self(
            unsigned(order) << 32 | place << 8 | inner >> 24,
            inner << Self::POSITION_BITS | position,
        )
    }
}

/// Routes sorted by rank.
#[derive(Debug)]
pub(crate) struct Ranked<T> {
    run: Run<T>,
    len: usize,
}

#[derive(Debug)]
enum Run<T> {
    Leaf(Arc<[Arc<Route<T>>]>),
    Inner(Arc<[Span<T>]>),
}

/// A run with its first rank, as stored in its parent.
#[derive(Debug)]
struct Span<T> {
    first: Rank,
    len: usize,
    run: Run<T>,
}

/// Insertion or removal of a route. If a route replaces another of the same rank, the removal is
/// first.
#[derive(Debug)]
pub(crate) struct Op<'a, T> {
    pub(crate) route: &'a Arc<Route<T>>,
    pub(crate) put: bool,
}

impl<T> Clone for Op<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Op<'_, T> {}

impl<T> Op<'_, T> {
    /// By rank, removals before insertions: the order that [`Ranked::update`] requires.
    pub(crate) fn sort_key(&self) -> (Rank, bool) {
        (Rank::of(self.route), self.put)
    }
}

impl<T> Clone for Run<T> {
    fn clone(&self) -> Self {
        match self {
            Run::Leaf(routes) => Run::Leaf(Arc::clone(routes)),
            Run::Inner(spans) => Run::Inner(Arc::clone(spans)),
        }
    }
}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        Self { first: self.first, len: self.len, run: self.run.clone() }
    }
}

impl<T> Clone for Ranked<T> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), len: self.len }
    }
}

impl<T> Default for Ranked<T> {
    fn default() -> Self {
        Self { run: Run::Leaf(Arc::new([])), len: 0 }
    }
}

impl<T> Ranked<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn first(&self) -> Option<&Arc<Route<T>>> {
        let mut run = &self.run;
        loop {
            match run {
                Run::Leaf(routes) => return routes.first(),
                Run::Inner(spans) => run = &spans.first()?.run,
            }
        }
    }

    /// The route at `rank`.
    pub(crate) fn get(&self, rank: Rank) -> Option<&Arc<Route<T>>> {
        let mut run = &self.run;
        loop {
            match run {
                Run::Leaf(routes) => {
                    let at = routes.binary_search_by_key(&rank, |route| Rank::of(route)).ok()?;
                    return routes.get(at);
                }
                Run::Inner(spans) => {
                    let after = spans.partition_point(|span| span.first <= rank);
                    run = &spans.get(after.checked_sub(1)?)?.run;
                }
            }
        }
    }

    /// The route at index `index` of the sequence.
    pub(crate) fn at(&self, mut index: usize) -> Option<&Arc<Route<T>>> {
        let mut run = &self.run;
        loop {
            match run {
                Run::Leaf(routes) => return routes.get(index),
                Run::Inner(spans) => {
                    let mut spans = spans.iter();
                    let span = spans.find(|span| {
                        let here = index < span.len;
                        index -= if here { 0 } else { span.len };
                        here
                    })?;
                    run = &span.run;
                }
            }
        }
    }

    /// The first route for which `wanted` returns `true`. Does not allocate.
    #[inline]
    pub(crate) fn find<'a>(
        &'a self,
        wanted: &mut impl FnMut(&'a Arc<Route<T>>) -> bool,
    ) -> Option<&'a Arc<Route<T>>> {
        match &self.run {
            Run::Leaf(routes) => routes.iter().find(|route| wanted(route)),
            run @ Run::Inner(_) => run.find(wanted),
        }
    }

    /// All routes in order.
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        let mut iter = Iter { routes: [].iter(), above: Vec::new() };
        iter.descend(&self.run);
        iter
    }

    /// The sequence after `ops`, which are sorted by [`Op::sort_key`].
    pub(crate) fn update(&self, ops: &[Op<'_, T>]) -> Self {
        if ops.is_empty() {
            return self.clone();
        }
        let mut spans = self.run.update(ops);
        while spans.len() > 1 {
            spans = group(spans);
        }
        let Some(mut top) = spans.pop() else { return Self::default() };
        while let Run::Inner(below) = &top.run {
            let [only] = &**below else { break };
            top = only.clone();
        }
        Self { run: top.run, len: top.len }
    }

    /// Bytes of the runs, without the routes.
    pub(crate) fn bytes(&self) -> usize {
        self.run.bytes()
    }
}

impl<T> Run<T> {
    fn find<'a>(
        &'a self,
        wanted: &mut impl FnMut(&'a Arc<Route<T>>) -> bool,
    ) -> Option<&'a Arc<Route<T>>> {
        match self {
            Run::Leaf(routes) => routes.iter().find(|route| wanted(route)),
            Run::Inner(spans) => spans.iter().find_map(|span| span.run.find(wanted)),
        }
    }

    fn update(&self, ops: &[Op<'_, T>]) -> Vec<Span<T>> {
        match self {
            Run::Leaf(routes) => chop(&merge(routes, ops)),
            Run::Inner(spans) => {
                let mut updated: Vec<Span<T>> = Vec::with_capacity(spans.len() + 1);
                let mut rest = ops;
                for (at, span) in spans.iter().enumerate() {
                    let until = spans.get(at + 1).map(|next| next.first);
                    let here = rest
                        .partition_point(|op| until.is_none_or(|next| Rank::of(op.route) < next));
                    let (mine, others) = rest.split_at(here);
                    rest = others;
                    if mine.is_empty() {
                        updated.push(span.clone());
                    } else {
                        join(&mut updated, span.run.update(mine));
                    }
                }
                group(updated)
            }
        }
    }

    fn bytes(&self) -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        match self {
            Run::Leaf(routes) => COUNTS + size_of_val(&**routes),
            Run::Inner(spans) => {
                let below: usize = spans.iter().map(|span| span.run.bytes()).sum();
                COUNTS + size_of_val(&**spans) + below
            }
        }
    }
}

fn merge<T>(routes: &[Arc<Route<T>>], ops: &[Op<'_, T>]) -> Vec<Arc<Route<T>>> {
    let mut merged = Vec::with_capacity(routes.len() + ops.len());
    let mut old = routes.iter().peekable();
    for op in ops {
        let rank = Rank::of(op.route);
        while let Some(route) = old.next_if(|route| Rank::of(route) < rank) {
            merged.push(Arc::clone(route));
        }
        let _left = old.next_if(|route| Rank::of(route) == rank);
        if op.put {
            merged.push(Arc::clone(op.route));
        }
    }
    merged.extend(old.map(Arc::clone));
    merged
}

/// Splits routes into runs of about equal length; none if there are no routes.
fn chop<T>(routes: &[Arc<Route<T>>]) -> Vec<Span<T>> {
    let pieces = routes.len().div_ceil(RUN_MAX);
    let size = routes.len().div_ceil(pieces.max(1)).max(1);
    routes.chunks(size).filter_map(leaf).collect()
}

fn leaf<T>(routes: &[Arc<Route<T>>]) -> Option<Span<T>> {
    let first = Rank::of(routes.first()?);
    Some(Span { first, len: routes.len(), run: Run::Leaf(routes.into()) })
}

/// Appends `more`, merging a short leaf with the one before it.
fn join<T>(spans: &mut Vec<Span<T>>, more: Vec<Span<T>>) {
    for span in more {
        if let Some(last) = spans.last_mut()
            && last.len.min(span.len) < RUN_MIN
            && last.len + span.len <= RUN_MAX
            && let (Run::Leaf(a), Run::Leaf(b)) = (&last.run, &span.run)
        {
            let both: Arc<[_]> = a.iter().chain(b.iter()).map(Arc::clone).collect();
            *last = Span { first: last.first, len: both.len(), run: Run::Leaf(both) };
        } else {
            spans.push(span);
        }
    }
}

/// Groups spans into inner runs.
fn group<T>(spans: Vec<Span<T>>) -> Vec<Span<T>> {
    let pieces = spans.len().div_ceil(RUN_MAX);
    let size = spans.len().div_ceil(pieces.max(1)).max(1);
    let inner = |spans: &[Span<T>]| {
        let first = spans.first()?.first;
        let len = spans.iter().map(|span| span.len).sum();
        Some(Span { first, len, run: Run::Inner(spans.into()) })
    };
    spans.chunks(size).filter_map(inner).collect()
}

/// Iterator over a [`Ranked`].
#[derive(Debug)]
pub(crate) struct Iter<'a, T> {
    routes: std::slice::Iter<'a, Arc<Route<T>>>,
    above: Vec<std::slice::Iter<'a, Span<T>>>,
}

impl<'a, T> Iter<'a, T> {
    fn descend(&mut self, run: &'a Run<T>) {
        match run {
            Run::Leaf(routes) => self.routes = routes.iter(),
            Run::Inner(spans) => self.above.push(spans.iter()),
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a Arc<Route<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(route) = self.routes.next() {
                return Some(route);
            }
            match self.above.last_mut()?.next() {
                Some(span) => self.descend(&span.run),
                None => {
                    self.above.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::{any, proptest};

    use super::{Op, Rank, Ranked};
    use crate::index::tables::random::cases;
    use crate::route::{Predicates, Route, RouteGroup};

    fn route(order: i32, position: u64, group: Option<(i32, u32)>) -> Arc<Route<()>> {
        let group = group.map(|(order, place)| {
            let predicates = Predicates::default();
            Arc::new(RouteGroup { id: "g".into(), order, place, predicates })
        });
        let predicates = Predicates::default();
        Arc::new(Route { id: "r".into(), order, position, predicates, group, target: () })
    }

    fn check(batches: &[Vec<(i32, u64, bool)>]) {
        let mut list = Ranked::default();
        let mut model: BTreeMap<Rank, Arc<Route<()>>> = BTreeMap::new();
        for batch in batches {
            let batch: BTreeMap<(i32, u64), bool> =
                batch.iter().map(|&(order, position, put)| ((order, position), put)).collect();
            let routes: Vec<_> =
                batch.iter().map(|(at, put)| (route(at.0, at.1, None), *put)).collect();
            let old = list.clone();
            let before = model.clone();
            let ops: Vec<_> = routes.iter().map(|(route, put)| Op { route, put: *put }).collect();
            list = list.update(&ops);
            for (route, put) in &routes {
                match put {
                    true => model.insert(Rank::of(route), Arc::clone(route)),
                    false => model.remove(&Rank::of(route)),
                };
            }
            equal(&old, &before);
            equal(&list, &model);
            for (order, position) in batch.into_keys() {
                let rank = Rank::alone(order, position);
                let same = list.get(rank).map(Arc::as_ptr) == model.get(&rank).map(Arc::as_ptr);
                assert!(same);
            }
        }
    }

    fn equal(list: &Ranked<()>, model: &BTreeMap<Rank, Arc<Route<()>>>) {
        assert_eq!(list.len(), model.len());
        assert!(list.iter().map(Arc::as_ptr).eq(model.values().map(Arc::as_ptr)));
        let last = model.values().next_back().map(Arc::as_ptr);
        let mut seen = 0;
        let found = list.find(&mut |route| {
            seen += 1;
            Some(Arc::as_ptr(route)) == last
        });
        assert_eq!((found.map(Arc::as_ptr), seen), (last, model.len()));
        let places = (0..=model.len()).map(|at| list.at(at).map(Arc::as_ptr));
        assert!(places.eq(model.values().map(|r| Some(Arc::as_ptr(r))).chain([None])));
        assert_eq!(list.first().map(Arc::as_ptr), model.values().next().map(Arc::as_ptr));
    }

    proptest! {
        #![proptest_config(cases(32))]
        #[test]
        fn behaves_as_a_sorted_map(
            batches in proptest::collection::vec(
                proptest::collection::vec((-1..2i32, 0..3000u64, any::<bool>()), 0..2000), 1..8),
        ) {
            check(&batches);
        }
    }

    #[test]
    fn ranks_are_as_tuples_compare() {
        let orders = [i32::MIN, -1, 0, 1, i32::MAX];
        let groups = [None, Some(0), Some(1), Some((1 << 24) - 2)];
        let positions = [0, 1, (1 << 32) + 7, (1 << 40) - 1];
        let mut ranks = Vec::new();
        for outer in orders {
            for inner in orders {
                for place in groups {
                    for position in positions {
                        let route = match place {
                            Some(place) => route(inner, position, Some((outer, place))),
                            None => route(outer, position, None),
                        };
                        let inner = place.map_or(0, |_| inner);
                        let place = place.unwrap_or(u32::MAX);
                        ranks.push(((outer, place, inner, position), Rank::of(&route)));
                    }
                }
            }
        }
        for (a, rank) in &ranks {
            assert!(*rank < Rank::LAST);
            for (b, other) in &ranks {
                assert_eq!(rank.cmp(other), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn grows_and_shrinks_one_by_one() {
        let mut batches: Vec<_> = (0..700).map(|n| vec![(0, n * 7 % 701, true)]).collect();
        batches.extend((0..700).map(|n| vec![(0, n * 11 % 701, false)]));
        check(&batches);
        check(&[(0..30_000).map(|n| (0, n, true)).collect()]);
    }
}
