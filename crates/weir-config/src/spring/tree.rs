//! Documents as compact trees: the parsed form of every format.
//!
//! Nodes are 36 bytes in one vector and reference their text in the source by offset, so a file of
//! 100,000 routes needs only a few allocations. A tree is normalized after parsing: dotted and
//! bracketed keys (`spring.cloud.gateway.routes`, `'[/**]'`, `routes[0]`) are expanded to levels,
//! and maps with the keys `[0]`, `[1]`, … are converted to lists.

use std::borrow::Cow;
use std::sync::Arc;

use super::scalar;
use crate::source::{Span, offset};

/// No node.
pub(super) const NONE: u32 = u32::MAX;
/// Marks a text in [`Tree::extra`], not in the source.
const EXTRA: u32 = 1 << 31;

/// A text: bytes of the source, or of the tree's own buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    start: u32,
    len: u32,
}

impl Text {
    /// `len` bytes of the text from offset `from` on.
    pub(super) fn part(self, from: usize, len: usize) -> Self {
        Self { start: self.start + offset(from), len: offset(len) }
    }
}

/// Content of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// A key without a value.
    Null,
    /// A `plain` text may be a number or boolean; others are always texts.
    Scalar { text: Text, plain: bool },
    /// Children in order, starting with `first`.
    List { first: u32, count: u32 },
    /// Children in order, each with its key.
    Map { first: u32, count: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub content: Content,
    /// Key under a map; empty in a list.
    pub key: Text,
    /// Whether the key was written in brackets: then it is compared exactly.
    pub bracketed: bool,
    pub start: u32,
    pub end: u32,
    pub next: u32,
}

/// A parsed document.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) source: u32,
    pub(super) text: Arc<str>,
    pub(super) extra: String,
    pub(super) nodes: Vec<Data>,
    pub(super) root: u32,
    /// Made from environment variables: `_` stands for `.`, `-` or nothing.
    pub(super) joined: bool,
}

/// A node of a [`Tree`].
#[derive(Clone, Copy)]
pub(crate) struct Node<'t> {
    tree: &'t Tree,
    id: u32,
    data: &'t Data,
}

/// Kind of a [`Node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A key without a value; Spring reads it as an empty text.
    Null,
    /// A text.
    Scalar,
    /// A list.
    List,
    /// A map.
    Map,
}

impl Tree {
    /// An empty document: a single null.
    pub(super) fn new(source: u32, text: Arc<str>) -> Self {
        let mut tree =
            Self { source, text, extra: String::new(), nodes: Vec::new(), root: 0, joined: false };
        tree.root = tree.push(Content::Null, 0, 0);
        tree
    }

    /// The root node.
    pub fn root(&self) -> Node<'_> {
        self.node(self.root).unwrap_or(Node { tree: self, id: NONE, data: &MISSING })
    }

    pub(super) fn node(&self, id: u32) -> Option<Node<'_>> {
        let data = self.nodes.get(id as usize)?;
        Some(Node { tree: self, id, data })
    }

    pub(super) fn push(&mut self, content: Content, start: usize, end: usize) -> u32 {
        let id = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let (start, end) = (offset(start), offset(end));
        let key = Text::default();
        self.nodes.push(Data { content, key, bracketed: false, start, end, next: NONE });
        id
    }

    /// References `text` by offset if it is part of the source, otherwise copies it.
    pub(super) fn keep(&mut self, text: &str) -> Text {
        let base = self.text.as_ptr() as usize;
        let start = (text.as_ptr() as usize).wrapping_sub(base);
        if start.checked_add(text.len()).is_some_and(|end| end <= self.text.len()) {
            return Text { start: offset(start), len: offset(text.len()) };
        }
        let start = offset(self.extra.len()) | EXTRA;
        self.extra.push_str(text);
        Text { start, len: offset(text.len()) }
    }

    pub(super) fn str(&self, text: Text) -> &str {
        let (from, start) = match text.start & EXTRA {
            0 => (&*self.text, text.start as usize),
            _ => (self.extra.as_str(), (text.start & !EXTRA) as usize),
        };
        from.get(start..start + text.len as usize).unwrap_or_default()
    }

    /// Span of a text, if it is in the source.
    pub(super) fn text_span(&self, text: Text) -> Option<Span> {
        if text.start & EXTRA != 0 || text.len == 0 {
            return None;
        }
        Some(Span { source: self.source, start: text.start, end: text.start + text.len })
    }

    /// Appends the nodes of another tree of the same source, in order; returns the offset added to
    /// their numbers.
    pub(super) fn append(&mut self, other: Self) -> u32 {
        let (behind, extra) = (offset(self.nodes.len()), offset(self.extra.len()));
        let moved = |id: u32| if id == NONE { NONE } else { id + behind };
        let kept = |text: Text| match text.start & EXTRA {
            0 => text,
            _ => Text { start: text.start + extra, ..text },
        };
        self.extra.push_str(&other.extra);
        self.nodes.extend(other.nodes.into_iter().map(|data| {
            let content = match data.content {
                Content::Null => Content::Null,
                Content::Scalar { text, plain } => Content::Scalar { text: kept(text), plain },
                Content::List { first, count } => Content::List { first: moved(first), count },
                Content::Map { first, count } => Content::Map { first: moved(first), count },
            };
            Data { content, key: kept(data.key), next: moved(data.next), ..data }
        }));
        behind
    }

    /// Links `children` under `parent`, which becomes a list or a map.
    pub(super) fn adopt(&mut self, parent: u32, children: &[u32], list: bool) {
        for pair in children.windows(2) {
            if let [one, two] = *pair
                && let Some(data) = self.nodes.get_mut(one as usize)
            {
                data.next = two;
            }
        }
        if let Some(last) = children.last().and_then(|last| self.nodes.get_mut(*last as usize)) {
            last.next = NONE;
        }
        let first = children.first().copied().unwrap_or(NONE);
        let count = offset(children.len());
        if let Some(data) = self.nodes.get_mut(parent as usize) {
            data.content = match list {
                true => Content::List { first, count },
                false => Content::Map { first, count },
            };
        }
    }
}

static MISSING: Data = Data {
    content: Content::Null,
    key: Text { start: 0, len: 0 },
    bracketed: false,
    start: 0,
    end: 0,
    next: NONE,
};

impl<'t> Node<'t> {
    /// Number within its tree.
    pub fn id(self) -> u32 {
        self.id
    }

    /// Its kind.
    pub fn kind(self) -> Kind {
        match self.data.content {
            Content::Null => Kind::Null,
            Content::Scalar { .. } => Kind::Scalar,
            Content::List { .. } => Kind::List,
            Content::Map { .. } => Kind::Map,
        }
    }

    /// Place of its value.
    pub fn span(self) -> Span {
        Span { source: self.tree.source, start: self.data.start, end: self.data.end }
    }

    /// Place of its key; of its value in a list.
    pub fn key_span(self) -> Span {
        self.tree.text_span(self.data.key).unwrap_or_else(|| self.span())
    }

    /// Its key in a map, without brackets.
    pub fn key(self) -> &'t str {
        self.tree.str(self.data.key)
    }

    /// Whether the key was written in brackets.
    pub fn bracketed(self) -> bool {
        self.data.bracketed
    }

    /// Elements of a list or entries of a map, in order.
    pub fn children(self) -> Children<'t> {
        let first = match self.data.content {
            Content::List { first, .. } | Content::Map { first, .. } => first,
            Content::Null | Content::Scalar { .. } => NONE,
        };
        Children { tree: self.tree, next: first }
    }

    /// Number of children.
    pub fn len(self) -> usize {
        match self.data.content {
            Content::List { count, .. } | Content::Map { count, .. } => count as usize,
            Content::Null | Content::Scalar { .. } => 0,
        }
    }

    /// The text as Spring returns it: `yes` is `true`, `12.50` is `12.5`; null is empty.
    pub fn text(self) -> Option<Cow<'t, str>> {
        match self.data.content {
            Content::Null => Some(Cow::Borrowed("")),
            Content::Scalar { text, plain: false } => Some(Cow::Borrowed(self.tree.str(text))),
            Content::Scalar { text, plain: true } => {
                Some(scalar::resolve(self.tree.str(text)).into_text())
            }
            Content::List { .. } | Content::Map { .. } => None,
        }
    }

    /// The text as written, before type resolution.
    pub fn written(self) -> Option<&'t str> {
        match self.data.content {
            Content::Scalar { text, .. } => Some(self.tree.str(text)),
            Content::Null | Content::List { .. } | Content::Map { .. } => None,
        }
    }

    /// The typed value.
    pub fn scalar(self) -> Option<scalar::Scalar<'t>> {
        match self.data.content {
            Content::Null => Some(scalar::Scalar::Null),
            Content::Scalar { text, plain: false } => {
                Some(scalar::Scalar::Text(Cow::Borrowed(self.tree.str(text))))
            }
            Content::Scalar { text, plain: true } => Some(scalar::resolve(self.tree.str(text))),
            Content::List { .. } | Content::Map { .. } => None,
        }
    }

    /// Whether its tree was made from environment variables.
    pub fn joined(self) -> bool {
        self.tree.joined
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind() {
            Kind::Null => f.write_str("~"),
            Kind::Scalar => write!(f, "{:?}", self.text().unwrap_or_default()),
            Kind::List => f.debug_list().entries(self.children()).finish(),
            Kind::Map => {
                f.debug_map().entries(self.children().map(|child| (child.key(), child))).finish()
            }
        }
    }
}

/// Children of a [`Node`].
#[derive(Clone)]
pub(crate) struct Children<'t> {
    tree: &'t Tree,
    next: u32,
}

impl<'t> Iterator for Children<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        let node = self.tree.node(self.next)?;
        self.next = node.data.next;
        Some(node)
    }
}
