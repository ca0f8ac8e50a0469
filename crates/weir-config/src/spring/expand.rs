//! Dotted and bracketed keys become levels of the tree; maps of `[0]`, `[1]`, … become lists.
//!
//! Runs once over a tree with such keys, and builds the trees of flat formats (properties,
//! environment, `--set`), which have no other keys. Linear: a level with insertions keeps an index
//! of its names.

use std::collections::HashMap;

use super::key::{self, Segment};
use super::tree::{Content, Kind, NONE, Text, Tree};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Maximum depth of a tree after expansion.
const DEPTH_MAX: usize = 96;

/// A map with insertions.
#[derive(Default)]
struct Level {
    ids: Vec<u32>,
    by_name: HashMap<String, u32>,
}

/// Levels by node number.
#[derive(Default)]
pub(super) struct Expansion {
    levels: HashMap<u32, Level>,
}

/// Expands every dotted key of `tree`, which is `depth` levels deep and has such keys in `maps`; an
/// outer map comes after its inner maps.
pub(super) fn expand(tree: &mut Tree, maps: &[u32], depth: usize, problems: &mut Vec<Diagnostic>) {
    let mut expansion = Expansion::default();
    let mut deeper = 0;
    for map in maps {
        deeper += expansion.map(tree, *map);
    }
    expansion.seal(tree, problems);
    if depth + deeper > DEPTH_MAX {
        bound_depth(tree, problems);
    }
}

/// Appends the maps at and below `id` that have dotted keys, in the order that [`expand`] requires.
pub(super) fn maps_with_paths(tree: &Tree, id: u32, maps: &mut Vec<u32>) {
    let Some(node) = tree.node(id) else { return };
    node.children().for_each(|child| maps_with_paths(tree, child.id(), maps));
    if node.kind() == Kind::Map && node.children().any(|child| key::is_path(child.key())) {
        maps.push(id);
    }
}

/// Truncates the tree below [`DEPTH_MAX`], so that later walks may recurse.
pub(super) fn bound_depth(tree: &mut Tree, problems: &mut Vec<Diagnostic>) {
    let mut open = vec![(tree.root, 0)];
    while let Some((id, depth)) = open.pop() {
        if depth <= DEPTH_MAX {
            let children = tree.node(id).into_iter().flat_map(|node| node.children());
            open.extend(children.map(|child| (child.id(), depth + 1)));
            continue;
        }
        let at = tree.node(id).map(|node| node.key_span()).unwrap_or_default();
        let message = format!("nested deeper than {DEPTH_MAX} levels");
        let help = "flatten the structure; no Spring property lies so deep";
        problems.push(Diagnostic::new(Code::TooDeep, message).at(at).help(help));
        if let Some(data) = tree.nodes.get_mut(id as usize) {
            data.content = Content::Null;
        }
    }
}

impl Expansion {
    /// Expands the keys of a map; returns the maximum number of added levels.
    fn map(&mut self, tree: &mut Tree, id: u32) -> usize {
        let Some(node) = tree.node(id) else { return 0 };
        let children: Vec<u32> = node.children().map(|child| child.id()).collect();
        let mut deeper = 0;
        tree.adopt(id, &[], false);
        for child in children {
            let Some(text) = tree.nodes.get(child as usize).map(|data| data.key) else { continue };
            let path = path_of(tree, text);
            deeper = deeper.max(path.len().saturating_sub(1));
            self.insert(tree, id, &path, child);
        }
        deeper
    }

    /// Sets a text under a dotted key below the root, as flat formats do. A later text replaces an
    /// earlier one.
    pub fn set(&mut self, tree: &mut Tree, key: Text, value: &str, at: Span) {
        let text = tree.keep(value);
        let content = Content::Scalar { text, plain: false };
        let id = tree.push(content, at.start as usize, at.end as usize);
        let path = path_of(tree, key);
        self.insert(tree, tree.root, &path, id);
    }

    /// The same with prepared segments.
    pub fn set_path(&mut self, tree: &mut Tree, path: &[Step], value: &str, at: Span) {
        let text = tree.keep(value);
        let content = Content::Scalar { text, plain: false };
        let id = tree.push(content, at.start as usize, at.end as usize);
        self.insert(tree, tree.root, path, id);
    }

    fn insert(&mut self, tree: &mut Tree, parent: u32, path: &[Step], value: u32) {
        let [step, rest @ ..] = path else { return };
        let level = self.levels.entry(parent).or_insert_with(|| Level::load(tree, parent));
        let existing = level.by_name.get(&step.name).copied();
        if rest.is_empty() {
            let Some(existing) = existing else {
                level.add(tree, step, value);
                return;
            };
            return self.replace(tree, existing, value);
        }
        let child = existing.unwrap_or_else(|| {
            let at = tree.nodes.get(value as usize).map_or((0, 0), |data| (data.start, data.end));
            let empty = Content::Map { first: NONE, count: 0 };
            let child = tree.push(empty, at.0 as usize, at.1 as usize);
            level.add(tree, step, child);
            child
        });
        self.insert(tree, child, rest, value);
    }

    /// Handles a second value under one name: maps are merged, otherwise the later value replaces
    /// the earlier.
    fn replace(&mut self, tree: &mut Tree, existing: u32, value: u32) {
        let content = |id: u32| tree.nodes.get(id as usize).map(|data| data.content);
        let is_map = |id: u32| {
            self.levels.contains_key(&id) || matches!(content(id), Some(Content::Map { .. }))
        };
        if is_map(existing) && is_map(value) {
            let children: Vec<u32> = match self.levels.remove(&value) {
                Some(level) => level.ids,
                None => tree
                    .node(value)
                    .map(|node| node.children().map(|child| child.id()).collect())
                    .unwrap_or_default(),
            };
            for child in children {
                let step = step_of(tree, child);
                self.insert(tree, existing, &[step], child);
            }
            return;
        }
        let level = self.levels.remove(&value);
        self.levels.remove(&existing);
        let Some(new) = tree.nodes.get(value as usize).copied() else { return };
        if let Some(old) = tree.nodes.get_mut(existing as usize) {
            (old.content, old.start, old.end) = (new.content, new.start, new.end);
        }
        if let Some(level) = level {
            self.levels.insert(existing, level);
        }
    }

    /// Writes every level back into the tree.
    pub fn seal(self, tree: &mut Tree, problems: &mut Vec<Diagnostic>) {
        let mut levels: Vec<(u32, Level)> = self.levels.into_iter().collect();
        levels.sort_unstable_by_key(|(id, _)| *id);
        for (id, level) in levels {
            let numbers: Option<Vec<u32>> = level.ids.iter().map(|id| number(tree, *id)).collect();
            let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
                tree.adopt(id, &level.ids, false);
                continue;
            };
            let mut elements: Vec<(u32, u32)> = numbers.into_iter().zip(level.ids).collect();
            elements.sort_unstable();
            gap(tree, &elements, problems);
            let ids: Vec<u32> = elements.iter().map(|(_, id)| *id).collect();
            tree.adopt(id, &ids, true);
        }
    }
}

impl Level {
    /// Loads the existing children of a node.
    fn load(tree: &mut Tree, id: u32) -> Self {
        let mut level = Self::default();
        let Some(node) = tree.node(id) else { return level };
        let list = matches!(node.kind(), Kind::List);
        let children: Vec<u32> = node.children().map(|child| child.id()).collect();
        for (at, child) in children.iter().enumerate() {
            let name = match list {
                true => at.to_string(),
                false => step_of(tree, *child).name,
            };
            if list {
                let key = tree.keep(&name);
                if let Some(data) = tree.nodes.get_mut(*child as usize) {
                    (data.key, data.bracketed) = (key, true);
                }
            }
            level.by_name.insert(name, *child);
        }
        level.ids = children;
        level
    }

    fn add(&mut self, tree: &mut Tree, step: &Step, id: u32) {
        if let Some(data) = tree.nodes.get_mut(id as usize) {
            (data.key, data.bracketed) = (step.text, step.bracketed);
        }
        self.by_name.insert(step.name.clone(), id);
        self.ids.push(id);
    }
}

/// A segment of a path, prepared for lookup.
pub(super) struct Step {
    pub name: String,
    pub text: Text,
    pub bracketed: bool,
}

fn path_of(tree: &Tree, text: Text) -> Vec<Step> {
    let whole = tree.str(text);
    let base = whole.as_ptr() as usize;
    key::segments(whole)
        .into_iter()
        .map(|segment| Step {
            name: key::canonical(segment),
            text: text.part(segment.text.as_ptr() as usize - base, segment.text.len()),
            bracketed: segment.bracketed,
        })
        .collect()
}

fn step_of(tree: &Tree, id: u32) -> Step {
    let (text, bracketed) = tree
        .nodes
        .get(id as usize)
        .map_or((Text::default(), false), |data| (data.key, data.bracketed));
    let name = key::canonical(Segment { text: tree.str(text), bracketed });
    Step { name, text, bracketed }
}

/// The element number of a bracketed key.
fn number(tree: &Tree, id: u32) -> Option<u32> {
    let node = tree.node(id)?;
    Segment { text: node.key(), bracketed: node.bracketed() }.index()
}

/// Reports the first missing number: Spring stops there and fails on the rest.
fn gap(tree: &Tree, elements: &[(u32, u32)], problems: &mut Vec<Diagnostic>) {
    let missing = (0_u32..).zip(elements).find(|(expected, (number, _))| expected != number);
    let Some((expected, (found, id))) = missing else { return };
    let at = tree.node(*id).map(|node| node.key_span()).unwrap_or_default();
    let message = format!("element [{found}] exists, but [{expected}] is missing");
    let help = "number the elements from 0 without a gap; Spring fails over what follows a gap";
    problems.push(Diagnostic::new(Code::ListGap, message).at(at).help(help));
}
