//! Routes as they are written: what marks them, and which list of them counts.

use weir_route::RouteDefinition;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::Span;
use crate::spring::{Kind, Node, child};

/// A route as the configuration writes it.
pub(crate) struct Written<'t> {
    /// What it says.
    pub definition: RouteDefinition,
    /// Where it starts.
    pub node: Node<'t>,
    /// What marks it: see [`head`].
    pub head: Span,
    /// From a bare list, as an API would take it: placeholders stay, predicates may be missing.
    pub raw: bool,
    /// Made by the discovery locator: what a registry says must not refuse a configuration.
    pub found: bool,
}

impl<'t> Written<'t> {
    pub(super) fn new(definition: RouteDefinition, node: Node<'t>, raw: bool) -> Self {
        Self { definition, node, head: head(node), raw, found: false }
    }
}

/// What marks a route or group: its id, or its first line.
pub(crate) fn head(node: Node<'_>) -> Span {
    child(node, "id").map_or_else(|| first_entry(node), |id| id.span())
}

fn first_entry(node: Node<'_>) -> Span {
    match (node.kind(), node.children().next()) {
        (Kind::Map, Some(first)) => first.key_span(),
        _ => node.span(),
    }
}

/// A list counts as a whole: what another one of higher priority replaces is worth a word, and more
/// than that if the other one comes from a variable, which hardly means to.
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
