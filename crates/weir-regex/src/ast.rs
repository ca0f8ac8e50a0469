//! What a Java expression says, after its flags, quoting and abbreviations are resolved.

use super::class::Class;

/// An expression. Case, `.` and anchors are resolved by the flags in force where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// This text, none too.
    Text(String),
    /// One character of a set.
    Class(Class),
    /// One after the other.
    Concat(Vec<Node>),
    /// The first that leads to a match.
    Alternate(Vec<Node>),
    /// A capturing group; numbers are those of Java.
    Group(usize, Box<Node>),
    /// `min` to `max` times (no bound without one).
    Repeat { node: Box<Node>, min: u32, max: Option<u32>, greedy: bool },
    /// Never tried a second way once matched: `(?>…)` and possessive quantifiers.
    Atomic(Box<Node>),
    /// Look-ahead or look-behind.
    Look { ahead: bool, negative: bool, node: Box<Node> },
    /// The text of a group once more.
    Backref(usize),
    /// A place in the text.
    Assert(Assert),
    /// Either case by Unicode's rules: `(?iu)`.
    Folded(Box<Node>),
}

/// A condition on a place in the text.
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
    /// Nothing, which always matches.
    pub(super) fn empty() -> Self {
        Self::Text(String::new())
    }

    /// `node` so many times.
    pub(super) fn repeat(node: Node, min: u32, max: Option<u32>, greedy: bool) -> Self {
        Self::Repeat { node: Box::new(node), min, max, greedy }
    }

    /// Whether it can only match without taking anything.
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

    /// The nodes right below.
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

    /// Whether this node or one below is such.
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

    /// Whether `$` or `\Z` occurs, which look for a line end at the end of the text.
    pub(super) fn has_final_end(&self) -> bool {
        self.any(&|node| matches!(node, Self::Assert(Assert::FinalEnd { .. })))
    }

    /// The only text that matches, if there is one and no group is in it.
    pub(super) fn literal(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// About how many states an automaton for it has.
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
