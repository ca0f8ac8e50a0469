//! Routes as written: their places, and which list of routes is used.

use weir_route::RouteDefinition;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::Span;
use crate::spring::{Kind, Node, child};

/// A route as written.
pub(crate) struct Written<'t> {
    /// Its definition.
    pub definition: RouteDefinition,
    /// Its node.
    pub node: Node<'t>,
    /// Its place for findings: see [`head`].
    pub head: Span,
    /// From a bare list, as in the admin API: placeholders are kept, predicates may be missing.
    pub raw: bool,
    /// Made by the discovery locator: data of a registry must not reject a configuration.
    pub found: bool,
}

impl<'t> Written<'t> {
    pub(super) fn new(definition: RouteDefinition, node: Node<'t>, raw: bool) -> Self {
        Self { definition, node, head: head(node), raw, found: false }
    }
}

/// The place of a route or group for findings: its id, or its first line.
pub(crate) fn head(node: Node<'_>) -> Span {
    child(node, "id").map_or_else(|| first_entry(node), |id| id.span())
}

fn first_entry(node: Node<'_>) -> Span {
    match (node.kind(), node.children().next()) {
        (Kind::Map, Some(first)) => first.key_span(),
        _ => node.span(),
    }
}

/// Reports a list that one of higher priority replaces as a whole. It is a warning if the other
/// list comes from a variable, which is rarely intended.
pub(super) fn replaced(
    winner: Node<'_>,
    loser: Node<'_>,
    what_of: &str,
    problems: &mut Vec<Diagnostic>,
) {
    let (what, severity) = match winner.joined() {
        true => ("environment variables", Severity::Warning),
        false => ("a list of higher priority", Severity::Note),
    };
    let message = format!("the {} {what_of} here are replaced as a whole by {what}", loser.len());
    let help = match what_of {
        "routes" => "Spring never merges two lists: keep all routes in one, or use `routes-map`",
        _ => "Spring never merges two lists: keep all in one",
    };
    problems.push(
        Diagnostic::new(Code::ListReplaced, message)
            .severity(severity)
            .at(loser.key_span())
            .help(help),
    );
}
