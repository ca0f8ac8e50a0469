//! Builds a [`Tree`] from the events of a reader: open, key or scalar, close.
//!
//! Used by the YAML and JSON readers. Depth, aliases and duplicate keys are limited here, so that
//! no text can produce a tree much larger than itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::expand;
use super::key;
use super::tree::{Content, Data, Kind, NONE, Text, Tree};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Maximum nesting of collections.
pub(super) const DEPTH_MAX: usize = 64;
/// Maximum number of nodes that aliases and merges may add to one document.
const ALIAS_NODES_MAX: usize = 100_000;
/// Maximum number of keys among which duplicates are found by pairwise comparison.
const FEW_KEYS: usize = 12;

/// Reason for which a document is rejected.
pub(super) type Refusal = (Code, String);

/// An open collection.
struct Frame {
    id: u32,
    list: bool,
    /// Index of its first child among the pending nodes.
    children: usize,
    /// A key without its value yet.
    key: Option<Text>,
    /// Some key is a dotted path.
    paths: bool,
    anchor: usize,
}

/// State of reading a document.
pub(super) struct Builder {
    tree: Tree,
    frames: Vec<Frame>,
    pending: Vec<u32>,
    /// Finished nodes with anchors.
    anchors: HashMap<usize, u32>,
    /// Number of nodes that aliases and merges have added.
    copied: usize,
    root: Option<u32>,
    /// Maximum depth of open collections so far.
    depth: usize,
    /// Maps with a dotted path as a key; not used if nodes were copied.
    paths: Vec<u32>,
    problems: Vec<Diagnostic>,
}

impl Builder {
    pub fn new(source: u32, text: &Arc<str>) -> Self {
        Self {
            tree: Tree::new(source, Arc::clone(text)),
            frames: Vec::new(),
            pending: Vec::new(),
            anchors: HashMap::new(),
            copied: 0,
            root: None,
            depth: 0,
            paths: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Adds a scalar as the next key or value. `anchor` is 0 for none.
    pub fn scalar(&mut self, text: &str, plain: bool, at: Span, anchor: usize) {
        let kept = self.tree.keep(text);
        if let Some(frame) = self.frames.last_mut()
            && !frame.list
            && frame.key.is_none()
        {
            frame.key = Some(kept);
            frame.paths |= key::is_path(text);
            return;
        }
        let null = plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
        let content = match null {
            true => Content::Null,
            false => Content::Scalar { text: kept, plain },
        };
        let id = self.tree.push(content, at.start as usize, at.end as usize);
        self.done(id, anchor);
    }

    /// Opens a list or map.
    pub fn open(&mut self, list: bool, at: Span, anchor: usize) -> Result<(), Refusal> {
        if self.key_due() {
            let what = if list { "list" } else { "map" };
            return Err((Code::YamlSyntax, format!("a {what} cannot be a key")));
        }
        if self.frames.len() >= DEPTH_MAX {
            return Err((Code::TooDeep, format!("nested deeper than {DEPTH_MAX} levels")));
        }
        let content = match list {
            true => Content::List { first: NONE, count: 0 },
            false => Content::Map { first: NONE, count: 0 },
        };
        let id = self.tree.push(content, at.start as usize, at.end as usize);
        let children = self.pending.len();
        self.frames.push(Frame { id, list, children, key: None, paths: false, anchor });
        self.depth = self.depth.max(self.frames.len());
        Ok(())
    }

    /// Closes the innermost list or map.
    pub fn close(&mut self) -> Result<(), Refusal> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        if !frame.list {
            self.merge(frame.children)?;
            self.refuse_duplicates(frame.children);
        }
        let children = self.pending.get(frame.children..).unwrap_or_default();
        self.tree.adopt(frame.id, children, frame.list);
        self.pending.truncate(frame.children);
        if frame.paths {
            self.paths.push(frame.id);
        }
        self.done(frame.id, frame.anchor);
        Ok(())
    }

    /// Adds a copy of the node with `anchor`.
    pub fn alias(&mut self, anchor: usize) -> Result<(), Refusal> {
        if self.key_due() {
            return Err((Code::YamlSyntax, "an alias cannot be a key".to_owned()));
        }
        let Some(target) = self.anchors.get(&anchor).copied() else {
            return Err((Code::AliasTooLarge, "an alias refers to what it is part of".to_owned()));
        };
        let copy = self.copy(target, self.frames.len())?;
        self.done(copy, 0);
        Ok(())
    }

    /// Appends the elements of the list in `other` to the open list. Returns `false`, without any
    /// effect, unless that equals reading the elements here.
    pub fn take_elements(&mut self, other: Self) -> bool {
        let is_list = self.frames.last().is_some_and(|frame| frame.list);
        let root = other.root.and_then(|root| other.tree.node(root));
        let Some(list) = root.filter(|root| is_list && root.kind() == Kind::List) else {
            return false;
        };
        // The outermost list of `other` is the open list.
        let depth = self.frames.len() - 1 + other.depth;
        if depth > DEPTH_MAX || !other.anchors.is_empty() {
            return false;
        }
        let elements: Vec<u32> = list.children().map(|child| child.id()).collect();
        let behind = self.tree.append(other.tree);
        self.pending.extend(elements.into_iter().map(|id| id + behind));
        self.depth = self.depth.max(depth);
        self.paths.extend(other.paths.into_iter().map(|id| id + behind));
        self.problems.extend(other.problems);
        true
    }

    /// The finished tree. Non-fatal problems are added to `problems`.
    pub fn finish(self, problems: &mut Vec<Diagnostic>) -> Tree {
        let mut tree = self.tree;
        problems.extend(self.problems);
        tree.root = self.root.unwrap_or(tree.root);
        let mut paths = self.paths;
        if self.copied > 0 {
            // Some of the maps may not be in the tree any more.
            paths.clear();
            expand::maps_with_paths(&tree, tree.root, &mut paths);
        }
        if !paths.is_empty() {
            // A copied collection may be one level deeper than the open ones.
            expand::expand(&mut tree, &paths, DEPTH_MAX + 1, problems);
        }
        tree
    }

    /// Whether the next scalar is a key.
    pub fn key_due(&self) -> bool {
        self.frames.last().is_some_and(|frame| !frame.list && frame.key.is_none())
    }

    fn done(&mut self, id: u32, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(id);
            return;
        };
        if let Some(key) = frame.key.take()
            && let Some(data) = self.tree.nodes.get_mut(id as usize)
        {
            data.key = key;
        }
        self.pending.push(id);
    }

    /// Copies the subtree of `id` to a position below `depth` levels.
    fn copy(&mut self, id: u32, depth: usize) -> Result<u32, Refusal> {
        self.copied += 1;
        if self.copied > ALIAS_NODES_MAX || depth > DEPTH_MAX {
            let message = format!("aliases expand to more than {ALIAS_NODES_MAX} values");
            return Err((Code::AliasTooLarge, message));
        }
        let Some(data) = self.tree.nodes.get(id as usize).copied() else { return Ok(id) };
        let copy = self.tree.push(data.content, data.start as usize, data.end as usize);
        if let Some(slot) = self.tree.nodes.get_mut(copy as usize) {
            *slot = Data { next: NONE, ..data };
        }
        let (first, list) = match data.content {
            Content::List { first, .. } => (first, true),
            Content::Map { first, .. } => (first, false),
            Content::Null | Content::Scalar { .. } => return Ok(copy),
        };
        let mut children = Vec::new();
        let mut next = first;
        while let Some(child) = self.tree.nodes.get(next as usize) {
            let after = child.next;
            children.push(self.copy(next, depth + 1)?);
            next = after;
        }
        self.tree.adopt(copy, &children, list);
        Ok(copy)
    }

    /// Replaces `<<: *base` by those entries of `base` that the map does not have.
    fn merge(&mut self, from: usize) -> Result<(), Refusal> {
        let own = self.pending.get(from..).unwrap_or_default();
        let Some(place) = own.iter().position(|id| self.key_of(*id) == "<<") else {
            return Ok(());
        };
        let merged = self.pending.remove(from + place);
        let mut bases = Vec::new();
        match self.tree.nodes.get(merged as usize).map(|data| data.content) {
            Some(Content::List { .. }) => bases.extend(self.children_of(merged)),
            Some(Content::Map { .. }) => bases.push(merged),
            _ => return Err((Code::YamlSyntax, "`<<` merges a map or a list of maps".to_owned())),
        }
        let own = self.pending.get(from..).unwrap_or_default();
        let mut seen: HashSet<String> = own.iter().map(|id| self.key_of(*id).to_owned()).collect();
        for base in bases {
            for child in self.children_of(base) {
                if seen.insert(self.key_of(child).to_owned()) {
                    let copy = self.copy(child, self.frames.len() + 1)?;
                    self.pending.push(copy);
                }
            }
        }
        Ok(())
    }

    fn children_of(&self, id: u32) -> Vec<u32> {
        self.tree.node(id).map(|n| n.children().map(|c| c.id()).collect()).unwrap_or_default()
    }

    fn key_of(&self, id: u32) -> &str {
        self.tree.node(id).map_or("", |node| node.key())
    }

    fn refuse_duplicates(&mut self, from: usize) {
        let own = self.pending.get(from..).unwrap_or_default();
        let mut twice = Vec::new();
        if own.len() <= FEW_KEYS {
            for (at, id) in own.iter().enumerate() {
                let name = self.key_of(*id);
                let before = own.get(..at).unwrap_or_default();
                if before.iter().any(|other| self.key_of(*other) == name) {
                    twice.push(*id);
                }
            }
        } else {
            let mut seen = HashSet::with_capacity(own.len());
            twice.extend(own.iter().copied().filter(|id| !seen.insert(self.key_of(*id))));
        }
        for id in twice {
            let Some(node) = self.tree.node(id) else { continue };
            let message = format!("duplicate key `{}`", node.key());
            let help = "keep one of the two; Spring refuses a file with a duplicate key";
            self.problems
                .push(Diagnostic::new(Code::DuplicateKey, message).at(node.key_span()).help(help));
        }
    }
}
