//! The tree of a parsed template.

use serde_json::Value;

use super::rule::Rule;

/// Nodes of one template at most.
pub(super) const NODES_MAX: usize = 100_000;

/// A template, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(super) root: Node,
    /// The place in the definition, for messages.
    pub(super) place: String,
}

/// A value of a template; `turn` is where its counter is kept during an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// It is itself.
    Plain(Value),
    /// Text with placeholders, repeated by its rule.
    Text {
        pieces: Vec<Piece>,
        rule: Rule,
    },
    /// A number by its rule.
    Number {
        base: f64,
        written: String,
        rule: Rule,
        turn: usize,
    },
    Boolean {
        value: bool,
        rule: Rule,
    },
    Object {
        members: Vec<(String, Node)>,
        rule: Rule,
    },
    Array {
        elements: Vec<Node>,
        rule: Rule,
        turn: usize,
    },
    /// A text that the regular expression matches.
    Matching(String),
}

/// Part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Plain(String),
    /// `@name(arguments)`; `written` stands where the name is unknown.
    Call {
        name: String,
        arguments: Vec<Node>,
        written: String,
    },
    /// `@key`, `@/a/b`, `@../b`, where there is no such placeholder.
    Reference {
        path: String,
        written: String,
    },
    /// `{{query.a}}`, `${query.a}`.
    Echo {
        path: String,
        written: String,
    },
}

impl Template {
    /// Whether each evaluation gives the same value.
    pub(crate) fn is_plain(&self) -> bool {
        self.root.is_plain()
    }
}

impl Node {
    fn is_plain(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Text { pieces, rule } => {
                rule.is_none() && pieces.iter().all(|piece| matches!(piece, Piece::Plain(_)))
            }
            Self::Number { rule, .. } | Self::Boolean { rule, .. } => rule.is_none(),
            Self::Object { members, rule } => {
                rule.is_none() && members.iter().all(|(_, node)| node.is_plain())
            }
            Self::Array { elements, rule, .. } => {
                rule.is_none() && elements.iter().all(Self::is_plain)
            }
            Self::Matching(_) => false,
        }
    }
}
