//! The paths of all definitions together. Copies share their structure, so the cost of a change
//! hardly depends on the number of definitions.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::HashMap;
use foldhash::fast::FixedState;

use super::path::{Path, Shape, Sought};
use super::paths::{Paths, too_many};
use super::{Found, Rank, SHAPES_MAX};
use crate::sorted::Sorted;

/// Parts of the table, and their parts, of which a change copies those that it touches.
const SHARDS: usize = 64;
const SHARD_HASH: FixedState = FixedState::with_seed(0);

type Shard = HashMap<Arc<[u8]>, Arc<Bucket>>;

/// Paths by their keys, and whose they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// None or [`SHARDS`], of as many each.
    shards: Vec<Arc<Vec<Arc<Shard>>>>,
    /// The number of definitions with paths of a shape, counted once for each prefix.
    shapes: Arc<BTreeMap<Shape, usize>>,
}

/// Paths of one key: groups of the same path, those first that are tried first.
type Bucket = Vec<Group>;

/// The definitions that have the same path; the first one answers.
type Group = Sorted<Rank, Owner>;

/// One path of a definition.
#[derive(Clone, Debug)]
struct Owner {
    paths: Arc<Paths>,
    at: usize,
}

impl Owner {
    fn path(&self) -> Option<&Path> {
        self.paths.get(self.at)
    }
}

impl Index {
    /// Adds the paths of a definition, for requests that are looked for with one of `prefixes`.
    ///
    /// # Errors
    /// There would be too many shapes. Then nothing is added.
    pub(crate) fn add(
        &mut self,
        rank: &Rank,
        paths: &Arc<Paths>,
        prefixes: &[Vec<u8>],
    ) -> Result<(), String> {
        self.add_shapes(paths.shapes(), prefixes.len())?;
        if self.shards.is_empty() {
            self.shards.resize_with(SHARDS, || vec![Arc::default(); SHARDS].into());
        }
        for prefix in prefixes {
            for (at, path) in paths.iter().enumerate() {
                let key = key_of(prefix, path);
                let Some(shard) = self.shard_mut(&key) else { continue };
                let bucket = shard.entry(key).or_default();
                let owner = Owner { paths: Arc::clone(paths), at };
                put(Arc::make_mut(bucket), rank, path, owner);
            }
        }
        Ok(())
    }

    /// Removes the paths that were added with the same arguments.
    pub(crate) fn remove(&mut self, rank: &Rank, paths: &Paths, prefixes: &[Vec<u8>]) {
        for prefix in prefixes {
            for path in paths.iter() {
                let key = key_of(prefix, path);
                let Some(shard) = self.shard_mut(&key) else { continue };
                let Some(bucket) = shard.get_mut(&key) else { continue };
                let groups = Arc::make_mut(bucket);
                groups.iter_mut().for_each(|group| drop(group.remove(rank)));
                groups.retain(|group| !group.is_empty());
                sort(groups);
                if groups.is_empty() {
                    shard.remove(&key);
                }
            }
        }
        let shapes = Arc::make_mut(&mut self.shapes);
        for shape in paths.shapes() {
            let Some(count) = shapes.get_mut(shape) else { continue };
            *count = count.saturating_sub(prefixes.len());
            if *count == 0 {
                shapes.remove(shape);
            }
        }
    }

    /// The operation of a request, and the definition that has it.
    pub(crate) fn find(&self, prefix: &[u8], sought: &Sought<'_>) -> Found<'_, &Rank> {
        let mut methods = Vec::new();
        let mut key = Vec::new();
        let first = Shape { segments: sought.segments(), mask: 0 };
        let last = Shape { segments: sought.segments(), mask: u64::MAX };
        for (shape, _) in self.shapes.range(first..=last) {
            sought.key(prefix, shape.mask, &mut key);
            let bucket = self.shard(&key).and_then(|shard| shard.get(&*key));
            let groups = bucket.into_iter().flat_map(|bucket| bucket.iter());
            let firsts = groups.filter_map(|group| {
                let (rank, owner) = group.first()?;
                Some((owner.path()?, rank))
            });
            if let Some((path, of, values)) = sought.first_of(firsts, &mut methods) {
                return Found::Operation { of, operation: path.operation, values };
            }
        }
        if methods.is_empty() { Found::Nothing } else { Found::Methods(methods) }
    }

    fn shard(&self, key: &[u8]) -> Option<&Shard> {
        let (part, at) = shard_of(key);
        self.shards.get(part)?.get(at).map(|shard| &**shard)
    }

    /// The shard for `key`, copied first if it is shared.
    fn shard_mut(&mut self, key: &[u8]) -> Option<&mut Shard> {
        let (part, at) = shard_of(key);
        Arc::make_mut(self.shards.get_mut(part)?).get_mut(at).map(Arc::make_mut)
    }

    fn add_shapes(&mut self, more: &[Shape], times: usize) -> Result<(), String> {
        for own in more.chunk_by(|one, other| one.segments == other.segments) {
            let Some(segments) = own.first().map(|shape| shape.segments) else { continue };
            let all = Shape { segments, mask: 0 }..=Shape { segments, mask: u64::MAX };
            let new = own.iter().filter(|shape| !self.shapes.contains_key(shape)).count();
            if self.shapes.range(all).count() + new > SHAPES_MAX {
                return Err(too_many(segments));
            }
        }
        let shapes = Arc::make_mut(&mut self.shapes);
        more.iter().for_each(|shape| *shapes.entry(*shape).or_default() += times);
        Ok(())
    }
}

/// Adds an owner of `path` to a bucket.
fn put(groups: &mut Bucket, rank: &Rank, path: &Path, owner: Owner) {
    let is_same = |group: &Group| {
        let first = group.first().and_then(|(_, owner)| owner.path());
        first.is_some_and(|first| first.is_same(path))
    };
    match groups.iter_mut().find(|group| is_same(group)) {
        // A definition may have a path twice, below its own base path; the first one counts.
        Some(group) if group.contains_key(rank) => {}
        Some(group) => drop(group.insert(rank.clone(), owner)),
        None => {
            let mut group = Group::default();
            group.insert(rank.clone(), owner);
            groups.push(group);
        }
    }
    sort(groups);
}

fn sort(groups: &mut Bucket) {
    groups.sort_by(|one, other| order(one).cmp(&order(other)));
}

/// The path that fits best first, then that of the first definition.
fn order(group: &Group) -> Option<impl Ord + use<'_>> {
    let (rank, owner) = group.first()?;
    Some((owner.path()?.class(), rank, owner.at))
}

fn key_of(prefix: &[u8], path: &Path) -> Arc<[u8]> {
    match prefix {
        b"" => Arc::clone(&path.key),
        _ => [prefix, &path.key].concat().into(),
    }
}

/// The part that a key is in, and where in it.
fn shard_of(key: &[u8]) -> (usize, usize) {
    let hash = SHARD_HASH.hash_one(key);
    let (shards, rest) = (SHARDS as u64, hash / SHARDS as u64);
    // The remainders are smaller than `SHARDS`.
    ((hash % shards) as usize, (rest % shards) as usize)
}
