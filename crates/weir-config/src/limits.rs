//! Limits by name: `weir.limits`.

use weir_filter::{KeySource, LIMIT_FIELDS, LimitDefinition, set_limit, set_weight};

use crate::diagnostic::{Code, Diagnostic};
use crate::spring::{Kind, Layers, Node, child, key, texts_below};
use crate::value::nearest;

const NAME: &str = "weir.limits";
const WEIGHTS: &str = "weights";

/// Every limit of the layers; a higher layer overrides a limit of the same name. A limit with a
/// problem is kept, but the configuration is rejected.
pub(crate) fn limits(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Vec<LimitDefinition> {
    let mut limits: Vec<LimitDefinition> = Vec::new();
    for node in layers.all(NAME).flat_map(Node::children) {
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
    let mut found: Vec<Diagnostic> = Vec::new();
    let wrong = |at: Node<'_>, message: &str, help: &str| {
        let message = format!("limit `{}`: {message}", node.key());
        let found = Diagnostic::new(Code::InvalidValue, message).at(at.span()).help(help);
        found.open(texts_below(node))
    };
    let text_of = |node: Node<'_>| {
        let text = node.text().unwrap_or_default();
        layers.resolve(&text).0.into_owned()
    };
    for field in node.children() {
        if key::same(field.key(), WEIGHTS) {
            if matches!(field.kind(), Kind::Scalar | Kind::List) {
                let help = "write a map, such as `weights: { gold: 4 }`";
                found.push(wrong(field, "`weights` has a number for each key", help));
                continue;
            }
            for weight in field.children() {
                if let Err(why) = set_weight(&mut limit, weight.key(), &text_of(weight)) {
                    found.push(wrong(weight, &why, "such as `weights: { gold: 4 }`"));
                }
            }
            continue;
        }
        let known = LIMIT_FIELDS.iter().find(|name| key::same(name, field.key()));
        let name = known.copied().unwrap_or(field.key());
        if let Err(why) = set_limit(&mut limit, name, &text_of(field)) {
            let near = nearest(name, LIMIT_FIELDS.iter().copied().chain([WEIGHTS]));
            let help = match (known, near) {
                (None, Some(near)) => format!("did you mean `{near}`?"),
                _ => "`weir reference Throttle` shows every setting of a limit".to_owned(),
            };
            found.push(wrong(field, &why, &help));
        }
    }
    // A setting that was not understood may be what another one lacks.
    let contradiction = limit.contradiction().or_else(|| limit.contradiction_of_keys());
    if let (Some((field, message, help)), true) = (contradiction, found.is_empty()) {
        found.push(wrong(child(node, field).unwrap_or(node), message, help));
    }
    problems.append(&mut found);
    limit
}

#[cfg(test)]
mod tests {
    use super::{LIMIT_FIELDS, WEIGHTS};
    use crate::property::registry;

    #[test]
    fn the_reference_has_every_setting() {
        let doc = registry().find(|spec| spec.name == "weir.limits.*").expect("a property").doc;
        for field in LIMIT_FIELDS.iter().chain([&WEIGHTS]) {
            assert!(doc.contains(&format!("`{field}`")), "{field}");
        }
    }
}
