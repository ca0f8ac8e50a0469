//! Shapes of values: whether a field takes one value, a list or a map.

use crate::source::Span;
use crate::spring::{Kind, Node};

/// A field that an object may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    pub shape: Shape,
    /// A value, for messages.
    pub example: &'static str,
}

/// The shape of a field's value. A field without a value fits every shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One value.
    Value,
    /// One value or several.
    Values,
    /// A map.
    Map,
    /// A list of maps.
    Maps,
    /// Values and maps, one or several.
    Mixed,
}

/// A value of the wrong shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub at: Span,
    expected: &'static str,
    found: &'static str,
}

impl Field {
    /// A field with one value.
    pub const fn value(name: &'static str, example: &'static str) -> Self {
        Self::new(name, Shape::Value, example)
    }

    pub const fn new(name: &'static str, shape: Shape, example: &'static str) -> Self {
        Self { name, shape, example }
    }

    /// What to write instead of a value that does not fit.
    pub fn help(&self) -> String {
        format!("write `{}: {}`", self.name, self.example)
    }
}

impl Shape {
    /// The first part of `node` that does not fit.
    pub fn misfit(self, node: Node<'_>) -> Option<Misfit> {
        let is_empty = node.written().is_some_and(|text| text.trim().is_empty());
        let kind = if is_empty { Kind::Null } else { node.kind() };
        let (fits, expected) = match self {
            Self::Value => (kind == Kind::Scalar, "takes one value"),
            Self::Values => (kind != Kind::Map, "takes one value, or a list of values"),
            Self::Map => (kind == Kind::Map, "is a map"),
            Self::Maps => (kind == Kind::List, "is a list of maps"),
            Self::Mixed => (true, "takes values or maps, one or a list of them"),
        };
        if kind != Kind::Null && !fits {
            return Some(Misfit { at: node.span(), expected, found: of(kind) });
        }
        let children = node.children().filter(|_| kind == Kind::List);
        let misfit = children.into_iter().find(|child| match (self, child.kind()) {
            (_, Kind::Null) => false,
            (Self::Maps, kind) => kind != Kind::Map,
            (Self::Mixed, kind) => kind == Kind::List,
            (_, kind) => kind != Kind::Scalar,
        })?;
        Some(Misfit { at: misfit.span(), expected, found: of(misfit.kind()) })
    }
}

impl Misfit {
    /// What is wrong with the value of `name`.
    pub fn message(&self, name: &str) -> String {
        format!("`{name}` {}, and this is {}", self.expected, self.found)
    }
}

fn of(kind: Kind) -> &'static str {
    match kind {
        Kind::Null | Kind::Scalar => "one value",
        Kind::List => "a list",
        Kind::Map => "a map",
    }
}
