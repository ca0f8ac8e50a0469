//! Limits by name: `weir.limits`.

use weir_filter::{KeySource, LIMIT_FIELDS, LimitDefinition, set_limit};

use crate::diagnostic::{Code, Diagnostic};
use crate::fields::Shape;
use crate::source::Span;
use crate::spring::{Kind, Layers, Node, child, key};

const NAME: &str = "weir.limits";

/// Every limit of the layers; a higher layer overrides a limit of the same name. A limit with a
/// problem is kept, but the configuration is rejected.
pub(crate) fn limits(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Vec<LimitDefinition> {
    let mut limits: Vec<LimitDefinition> = Vec::new();
    // A list or a value is reported with the unknown properties.
    let maps = layers.all(NAME).filter(|node| node.kind() == Kind::Map);
    for node in maps.flat_map(Node::children) {
        if limits.iter().all(|known| known.name != node.key()) {
            limits.push(limit(layers, node, problems));
        }
    }
    limits
}

/// `weir.key-resolvers`: keys by the name of a Java bean.
pub(crate) fn key_resolvers(
    layers: &Layers<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(String, KeySource)> {
    let mut resolvers: Vec<(String, KeySource)> = Vec::new();
    for node in layers.all("weir.key-resolvers").flat_map(Node::children) {
        if resolvers.iter().any(|(known, _)| key::same(known, node.key())) {
            continue;
        }
        let text = node.text().unwrap_or_default();
        let text = layers.resolve(&text).0.into_owned();
        match KeySource::parse(&text) {
            Ok(source) => resolvers.push((node.key().to_owned(), source)),
            Err(help) => {
                let message = format!("`{text}` is not something a request can be counted by");
                let at = node.span();
                problems.push(Diagnostic::new(Code::InvalidValue, message).at(at).help(help));
            }
        }
    }
    resolvers
}

fn limit(layers: &Layers<'_>, node: Node<'_>, problems: &mut Vec<Diagnostic>) -> LimitDefinition {
    let mut limit = LimitDefinition { name: node.key().to_owned(), ..LimitDefinition::default() };
    let mut wrong = |at: Span, message: String, help: String| {
        let message = format!("limit `{}`: {message}", node.key());
        problems.push(Diagnostic::new(Code::InvalidValue, message).at(at).help(help));
    };
    if let Some(misfit) = Shape::Map.misfit(node) {
        let help = format!("write `{}: {{ rate: 500/s }}`", node.key());
        wrong(misfit.at, misfit.message(node.key()), help);
        return limit;
    }
    let mut is_read = true;
    for field in node.children() {
        let is_weights = key::same(field.key(), "weights");
        let shape = if is_weights { Shape::Map } else { Shape::Value };
        if let Some(misfit) = shape.misfit(field) {
            let example = if is_weights { "weights: { gold: 3 }" } else { "rate: 500/s" };
            let help = format!("write it as in `{example}`");
            wrong(misfit.at, misfit.message(field.key()), help);
            is_read = false;
            continue;
        }
        if is_weights {
            for weight in field.children() {
                let text = weight.text().unwrap_or_default();
                let text = layers.resolve(&text).0.into_owned();
                match text.trim().parse::<u32>().ok().filter(|weight| *weight > 0) {
                    Some(number) => limit.weights.push((weight.key().to_owned(), number)),
                    None => wrong(
                        weight.span(),
                        format!("`{text}` is not a weight"),
                        "write a whole number of at least 1".to_owned(),
                    ),
                }
            }
            continue;
        }
        let known = LIMIT_FIELDS.iter().find(|name| key::same(name, field.key()));
        let name = known.copied().unwrap_or(field.key());
        let text = field.text().unwrap_or_default();
        let text = layers.resolve(&text).0.into_owned();
        if let Err(why) = set_limit(&mut limit, name, &text) {
            is_read = false;
            wrong(field.span(), why, format!("a limit has {}, weights", LIMIT_FIELDS.join(", ")));
        }
    }
    if let Some((field, message, help)) = limit.contradiction().filter(|_| is_read) {
        wrong(child(node, field).unwrap_or(node).span(), message.to_owned(), help.to_owned());
    }
    limit
}
