//! Statistics of an index, for `weir routes stats`: its shape, and which routes are scanned and
//! why.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Index;
use super::dim::{Dim, Subject};
use super::node::{Branch, Bucket, LIST_MAX, List};
use crate::route::Route;

/// Maximum number of crowded buckets that are described; the largest are first.
const CROWDED_SHOWN: usize = 20;
/// Maximum number of groups whose routes are counted; the largest are first.
const GROUPS_SHOWN: usize = 20;
/// Maximum number of routes of a crowded bucket that are named.
const ROUTES_SHOWN: usize = 3;

/// Statistics of an index. A route counts once for every bucket that it is filed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Routes in the table.
    pub routes: usize,
    /// Filings that are alone in their bucket.
    pub alone: usize,
    /// Filings in short lists, whose routes are tried one after the other.
    pub in_short_lists: usize,
    /// Filings in crowded buckets: each is tried for every request that reaches the bucket, unless
    /// an earlier route matches.
    pub scanned: usize,
    /// Branches by dimension, and the number of routes that they separate.
    pub branches: BTreeMap<String, BranchStats>,
    /// The most crowded buckets, largest first, with the reason.
    pub crowded: Vec<Crowded>,
    /// Maximum number of branches on the path to a bucket.
    pub depth_max: usize,
    /// Bytes that the index takes, without the routes.
    pub bytes: usize,
    /// Routes that are in a group.
    pub grouped: usize,
    /// The groups with most routes, by id, largest first.
    pub groups: Vec<(Arc<str>, usize)>,
}

/// All branches on one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchStats {
    /// Number of branches.
    pub branches: usize,
    /// Filings under a value.
    pub told_apart: usize,
    /// Filings of routes without a demand.
    pub any: usize,
}

/// A bucket whose routes cannot be separated by keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crowded {
    /// Number of routes.
    pub routes: usize,
    /// Position of its first route.
    pub first: u64,
    /// Ids of its first routes.
    pub ids: Vec<Arc<str>>,
    /// The path to the bucket: dimensions of the branches above; `any …` where its routes have no
    /// demand.
    pub way: Vec<String>,
    /// Kinds of predicates in which these routes differ: an example in the form of SCG's actuator,
    /// and the number of routes with that kind. Such predicates must be tried one by one.
    pub only_by: Vec<(String, usize)>,
}

impl<T> Index<T> {
    /// The shape of this index. Walks all of it.
    pub fn stats(&self) -> Stats {
        let mut walk = Walk { stats: Stats::default(), way: Vec::new() };
        walk.stats.routes = self.len();
        walk.stats.bytes = self.routes.bytes() + self.ranks.bytes();
        if let Some(root) = &self.root {
            walk.bucket(root);
        }
        walk.groups(self.iter());
        walk.stats.crowded.sort_by_key(|crowded| std::cmp::Reverse(crowded.routes));
        walk.stats.crowded.truncate(CROWDED_SHOWN);
        walk.stats
    }
}

struct Walk {
    stats: Stats,
    way: Vec<String>,
}

impl Walk {
    fn groups<'i, T: 'i>(&mut self, routes: impl Iterator<Item = &'i Arc<Route<T>>>) {
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for group in routes.filter_map(|route| route.group.as_ref()) {
            *counts.entry(Arc::clone(&group.id)).or_default() += 1;
        }
        self.stats.grouped = counts.values().sum();
        self.stats.groups = counts.into_iter().collect();
        self.stats.groups.sort_by_key(|(_, routes)| std::cmp::Reverse(*routes));
        self.stats.groups.truncate(GROUPS_SHOWN);
    }

    fn bucket<T>(&mut self, bucket: &Bucket<T>) {
        const COUNTS: usize = 2 * size_of::<usize>();
        self.stats.depth_max = self.stats.depth_max.max(self.way.len());
        match bucket {
            Bucket::One(_) => self.stats.alone += 1,
            Bucket::List(list) => {
                self.stats.bytes += COUNTS + list.bytes();
                let len = list.len();
                if len <= LIST_MAX {
                    self.stats.in_short_lists += len;
                } else {
                    self.stats.scanned += len;
                    self.crowded(list);
                }
            }
            Bucket::Branch(branch) => {
                self.stats.bytes += COUNTS + size_of::<Branch<T>>() + branch.values.bytes();
                let name = branch.dim.to_string();
                let stats = self.stats.branches.entry(name.clone()).or_default();
                stats.branches += 1;
                stats.told_apart += branch.filed.values;
                stats.any += branch.filed.any;
                self.way.push(name);
                branch.values.for_each(&mut |bucket| self.bucket(bucket));
                self.way.pop();
                if let Some(bucket) = &branch.any {
                    self.way.push(format!("any {}", branch.dim));
                    self.bucket(bucket);
                    self.way.pop();
                }
            }
        }
    }

    fn crowded<T>(&mut self, list: &List<T>) {
        // For each kind: the first predicate, their number, and whether their texts differ.
        let mut kinds: BTreeMap<String, (String, usize, bool)> = BTreeMap::new();
        for predicate in list.iter().flat_map(|route| route.all_predicates()) {
            let text = predicate.to_string();
            let kind = text.split(':').next().unwrap_or_default().to_owned();
            let (first, count, differ) = kinds.entry(kind).or_insert((text.clone(), 0, false));
            *count += 1;
            *differ |= *first != text;
        }
        let differ =
            kinds.into_values().filter(|(_, count, differ)| *differ || *count < list.len());
        let only_by = differ.map(|(text, count, _)| (text, count)).collect();
        self.stats.crowded.push(Crowded {
            routes: list.len(),
            first: list.first().map_or(0, |route| route.position),
            ids: list.iter().take(ROUTES_SHOWN).map(|route| route.id.clone()).collect(),
            way: self.way.clone(),
            only_by,
        });
        // Only the largest are kept, to bound memory.
        if self.stats.crowded.len() > 64 * CROWDED_SHOWN {
            self.stats.crowded.sort_by_key(|crowded| std::cmp::Reverse(crowded.routes));
            self.stats.crowded.truncate(CROWDED_SHOWN);
        }
    }
}

impl fmt::Display for Dim {
    /// Name of the dimension, for the operator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Path => write!(f, "path"),
            Dim::Length => write!(f, "number of path segments"),
            Dim::Segment { at, from_end } => write!(f, "path segment {}", nth(*at, *from_end)),
            Dim::Host { .. } => write!(f, "host"),
            Dim::Label { at, from_end, .. } => write!(f, "host label {}", nth(*at, *from_end)),
            Dim::Method => write!(f, "method"),
            Dim::Header { name, .. } => write!(f, "header {name}"),
            Dim::AnyHeader { .. } => write!(f, "all headers"),
            Dim::Query { name } => write!(f, "query parameter {name}"),
            Dim::AnyQuery => write!(f, "all query parameters"),
            Dim::Cookie { name } => write!(f, "cookie {name}"),
            Dim::AnyCookie => write!(f, "all cookies"),
            Dim::Piece { of, place } => write!(f, "{} of {of}", place.name()),
            Dim::Peer => write!(f, "address of the peer"),
            Dim::Client { .. } => write!(f, "address of the client"),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Segment { at, from_end } => write!(f, "path segment {}", nth(*at, *from_end)),
            Subject::Label { at, from_end, .. } => {
                write!(f, "host label {}", nth(*at, *from_end))
            }
            Subject::Header { name, .. } => write!(f, "header {name}"),
            Subject::Query { name } => write!(f, "query parameter {name}"),
            Subject::Cookie { name } => write!(f, "cookie {name}"),
        }
    }
}

fn nth(at: u16, from_end: bool) -> String {
    match from_end {
        true => format!("{} from the end", at + 1),
        false => format!("{}", at + 1),
    }
}
