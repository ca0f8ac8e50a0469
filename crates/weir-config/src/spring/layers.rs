//! Property sources in order of priority, and the lookup of properties in them.
//!
//! A property is taken from the first layer that has it. So is a list, as a whole: elements of
//! different layers are never mixed. Maps are merged over all layers.

use std::borrow::Cow;
use std::collections::HashMap;

use super::key::{self, Segment};
use super::placeholder::{self, Trouble};
use super::tree::{Kind, Node, Tree};
use crate::source::Span;

/// Trees from the highest priority down, and the environment for placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Layers<'a> {
    trees: Vec<&'a Tree>,
    variables: &'a HashMap<String, String>,
}

impl<'a> Layers<'a> {
    pub fn new(trees: Vec<&'a Tree>, variables: &'a HashMap<String, String>) -> Self {
        Self { trees, variables }
    }

    /// The root nodes, from the highest priority down.
    pub fn roots(&self) -> impl Iterator<Item = Node<'a>> {
        self.trees.iter().map(|tree| tree.root())
    }

    /// The value of the property `path` (`server.port`) in the first layer that has it.
    pub fn find(&self, path: &str) -> Option<Node<'a>> {
        self.all(path).next()
    }

    /// The value of a property with several names: of the first layer that has any, by the first
    /// name found.
    pub fn first_of(&self, paths: &[String]) -> Option<Node<'a>> {
        let mut roots = self.roots();
        roots.find_map(|root| paths.iter().find_map(|path| below(root, path)))
    }

    /// The same in all layers, by all names.
    pub fn all_of<'p>(&'p self, paths: &'p [String]) -> impl Iterator<Item = Node<'a>> + 'p {
        self.roots().flat_map(move |root| paths.iter().filter_map(move |path| below(root, path)))
    }

    /// The values of the property `path` in all layers, from the highest priority down.
    pub fn all<'p>(&'p self, path: &'p str) -> impl Iterator<Item = Node<'a>> + 'p {
        self.roots().filter_map(move |root| below(root, path))
    }

    /// A text with its placeholders resolved.
    pub fn resolve<'t>(&self, text: &'t str) -> (Cow<'t, str>, Option<Trouble>) {
        placeholder::resolve(text, &|name| self.placeholder(name))
    }

    /// The raw value of `${name}`.
    fn placeholder(&self, name: &str) -> Option<String> {
        for tree in &self.trees {
            if tree.joined
                && let Some(value) = self.variable(name)
            {
                return Some(value.to_owned());
            }
            let node = below(tree.root(), name);
            if let Some(text) = node.and_then(Node::text) {
                return Some(text.into_owned());
            }
        }
        None
    }

    /// `redis.host` is also found as `REDIS_HOST`.
    fn variable(&self, name: &str) -> Option<&str> {
        if let Some(value) = self.variables.get(name) {
            return Some(value);
        }
        let upper = |dash: &str| {
            name.replace('-', dash).replace(['.', '['], "_").replace(']', "").to_ascii_uppercase()
        };
        let value = self.variables.get(&upper("_")).or_else(|| self.variables.get(&upper("")));
        value.map(String::as_str)
    }
}

/// The node at `path` (`a.b[0].c`) below `node`.
pub(crate) fn below<'t>(node: Node<'t>, path: &str) -> Option<Node<'t>> {
    // Most layers are empty, but hundreds of properties are looked up.
    node.children().next()?;
    descend(node, &key::segments(path))
}

fn descend<'t>(node: Node<'t>, segments: &[Segment<'_>]) -> Option<Node<'t>> {
    let Some((segment, rest)) = segments.split_first() else { return Some(node) };
    let name = segment.text;
    match node.kind() {
        Kind::Null | Kind::Scalar => None,
        Kind::List => {
            let at = key::index(name)?;
            descend(node.children().nth(at as usize)?, rest)
        }
        Kind::Map if node.joined() => joined(node, name, rest),
        Kind::Map => descend(child(node, name)?, rest),
    }
}

/// The entry of a map with the key `name`, by relaxed comparison unless it was written in brackets.
pub(crate) fn child<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.children()
        .find(|child| child.key() == name || (!child.bracketed() && key::same(child.key(), name)))
}

/// Places of the keys and values of a node and of all below it.
pub(crate) fn texts_below(node: Node<'_>) -> Vec<Span> {
    let mut texts = vec![node.key_span()];
    match node.kind() {
        Kind::Null | Kind::Scalar => texts.push(node.span()),
        Kind::List | Kind::Map => texts.extend(node.children().flat_map(texts_below)),
    }
    texts
}

/// In the environment, `connect-timeout` may be `connecttimeout` or `connect` → `timeout`.
fn joined<'t>(node: Node<'t>, name: &str, rest: &[Segment<'_>]) -> Option<Node<'t>> {
    let name: String = key::letters(name).collect();
    node.children().find_map(|child| {
        let after = name.strip_prefix(child.key())?;
        if after.is_empty() {
            return descend(child, rest);
        }
        match child.kind() {
            Kind::Map => joined(child, after, rest),
            Kind::Null | Kind::Scalar | Kind::List => None,
        }
    })
}
