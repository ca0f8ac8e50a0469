//! Syntax tree of a Java expression, with its flags, quoting and abbreviations resolved.

use super::class::Class;

/// A node of the tree. Case, `.` and anchors are resolved by the flags in force at their position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// This text, which may be empty.
    Text(String),
    /// One character of a set.
    Class(Class),
    /// A sequence.
    Concat(Vec<Node>),
    /// Alternatives: the first that leads to a match.
    Alternate(Vec<Node>),
    /// A capturing group; numbers are those of Java.
    Group(usize, Box<Node>),
    /// `min` to `max` repetitions; `None` is unbounded.
    Repeat { node: Box<Node>, min: u32, max: Option<u32>, greedy: bool },
    /// An atomic group `(?>…)` or possessive quantifier: never backtracked into.
    Atomic(Box<Node>),
    /// Look-ahead or look-behind.
    Look { ahead: bool, negative: bool, node: Box<Node> },
    /// A back-reference to a group.
    Backref(usize),
    /// A zero-width assertion.
    Assert(Assert),
    /// Case-insensitive by Unicode's rules: `(?iu)`.
    Folded(Box<Node>),
}

/// A zero-width assertion about a position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assert {
    /// `\A`, and `^` without `(?m)`.
    Start,
    /// `\z`.
    End,
    /// `\Z`, and `$` without `(?m)`: the end, or before a last line end.
    FinalEnd { unix: bool },
    /// `^` with `(?m)`.
    LineStart { unix: bool },
    /// `$` with `(?m)`.
    LineEnd { unix: bool },
    /// `\b`.
    WordBoundary { unicode: bool },
    /// `\B`.
    NotWordBoundary { unicode: bool },
    /// `\G`.
    PreviousEnd,
}

impl Node {
    /// The empty text, which always matches.
    pub(super) fn empty() -> Self {
        Self::Text(String::new())
    }

    /// Repetitions of `node`.
    pub(super) fn repeat(node: Node, min: u32, max: Option<u32>, greedy: bool) -> Self {
        Self::Repeat { node: Box::new(node), min, max, greedy }
    }

    /// Whether it only matches the empty text.
    pub(super) fn takes_nothing(&self) -> bool {
        match self {
            Self::Assert(_) | Self::Look { .. } => true,
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes.iter().all(Node::takes_nothing),
            Self::Group(_, node)
            | Self::Repeat { node, .. }
            | Self::Atomic(node)
            | Self::Folded(node) => node.takes_nothing(),
            Self::Text(text) => text.is_empty(),
            Self::Class(_) | Self::Backref(_) => false,
        }
    }

    /// The direct children.
    pub(super) fn children(&self) -> &[Node] {
        match self {
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes,
            Self::Group(_, node)
            | Self::Repeat { node, .. }
            | Self::Atomic(node)
            | Self::Look { node, .. }
            | Self::Folded(node) => std::slice::from_ref(node),
            Self::Text(_) | Self::Class(_) | Self::Backref(_) | Self::Assert(_) => &[],
        }
    }

    /// Whether `is_such` holds for this node or a descendant.
    pub(super) fn any(&self, is_such: &impl Fn(&Node) -> bool) -> bool {
        is_such(self) || self.children().iter().any(|node| node.any(is_such))
    }

    /// Whether only a backtracking engine can match it.
    pub(super) fn needs_backtracking(&self) -> bool {
        self.any(&|node| match node {
            Self::Atomic(_) | Self::Look { .. } | Self::Backref(_) => true,
            Self::Assert(assert) => matches!(
                assert,
                Assert::LineStart { .. } | Assert::LineEnd { .. } | Assert::PreviousEnd
            ),
            _ => false,
        })
    }

    /// Whether `$` or `\Z` occurs; both also match before a final line end.
    pub(super) fn has_final_end(&self) -> bool {
        self.any(&|node| matches!(node, Self::Assert(Assert::FinalEnd { .. })))
    }

    /// The only text that matches, if there is just one and it contains no group.
    pub(super) fn literal(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Estimated number of states of its automaton.
    pub(super) fn size(&self) -> usize {
        let below = || {
            let sizes = self.children().iter().map(Node::size);
            sizes.fold(0, usize::saturating_add)
        };
        match self {
            Self::Text(text) => text.len(),
            Self::Class(class) => class.size(),
            Self::Repeat { min, max, .. } => {
                let times = max.unwrap_or(min.saturating_add(1)).max(1) as usize;
                below().saturating_add(1).saturating_mul(times)
            }
            _ => below().saturating_add(1),
        }
    }
}
