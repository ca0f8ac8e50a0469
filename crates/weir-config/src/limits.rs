//! Limits by name: `weir.limits`.

use weir_filter::{KeySource, LIMIT_FIELDS, LimitDefinition, set_limit, set_weight};

use crate::diagnostic::{Code, Diagnostic};
use crate::fields::Shape;
use crate::spring::{Kind, Layers, Node, below, key, texts_below};
use crate::value::nearest;

const NAME: &str = "weir.limits";
const WEIGHTS: &str = "weights";

/// Every limit of the layers; a higher layer overrides single settings of a limit. A limit with a
/// problem is kept, but the configuration is rejected.
pub(crate) fn limits(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Vec<LimitDefinition> {
    // A list or a value is reported with the unknown properties.
    let all: Vec<_> = layers.all(NAME).filter(|node| node.kind() == Kind::Map).collect();
    let (joined, plain): (Vec<Node<'_>>, Vec<Node<'_>>) =
        all.iter().partition(|node| node.joined());
    let mut names: Vec<&str> = Vec::new();
    // The environment has no dashes: files come first, for their spelling.
    for node in plain.into_iter().chain(joined).flat_map(Node::children) {
        let is_known = match node.joined() {
            true => names.iter().any(|name| begins(name, node.key())),
            false => names.contains(&node.key()),
        };
        if !is_known {
            names.push(node.key());
        }
    }
    let nodes = |name: &str| all.iter().filter_map(|node| named(*node, name)).collect::<Vec<_>>();
    names.into_iter().map(|name| limit(layers, name, &nodes(name), problems)).collect()
}

/// Whether a variable's part may be the begin of a name: `my` of `my-orders`.
fn begins(name: &str, part: &str) -> bool {
    key::letters(name).collect::<String>().starts_with(part)
}

/// The entry of this name in one layer.
fn named<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    match node.joined() {
        true => below(node, name),
        false => node.children().find(|child| child.key() == name),
    }
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

/// The limit `name`, whose settings are below `nodes`, the highest layer first.
fn limit(
    layers: &Layers<'_>,
    name: &str,
    nodes: &[Node<'_>],
    problems: &mut Vec<Diagnostic>,
) -> LimitDefinition {
    let mut limit = LimitDefinition { name: name.to_owned(), ..LimitDefinition::default() };
    let mut found: Vec<Diagnostic> = Vec::new();
    let wrong = |at: Node<'_>, message: &str, help: &str| {
        let found = Diagnostic::new(Code::InvalidValue, format!("limit `{name}`: {message}"));
        found
            .at(at.span())
            .help(help)
            .open(nodes.iter().flat_map(|node| texts_below(*node)).collect())
    };
    let text_of = |node: Node<'_>| {
        let text = node.text().unwrap_or_default();
        layers.resolve(&text).0.into_owned()
    };
    for node in nodes {
        if let Some(misfit) = Shape::Map.misfit(*node) {
            let help = format!("write `{name}: {{ rate: 500/s }}`");
            found.push(wrong(*node, &misfit.message(name), &help));
        }
    }
    for name in LIMIT_FIELDS {
        let Some(field) = nodes.iter().find_map(|node| below(*node, name)) else { continue };
        if let Some(misfit) = Shape::Value.misfit(field) {
            let help = "`weir reference Throttle` shows every setting";
            found.push(wrong(field, &misfit.message(name), help));
            continue;
        }
        if let Err(why) = set_limit(&mut limit, name, &text_of(field)) {
            found.push(wrong(field, &why, "`weir reference Throttle` shows every setting"));
        }
    }
    for weights in nodes.iter().filter_map(|node| below(*node, WEIGHTS)) {
        if let Some(misfit) = Shape::Map.misfit(weights) {
            let help = "write a number for each key, such as `weights: { gold: 4 }`";
            found.push(wrong(weights, &misfit.message(WEIGHTS), help));
            continue;
        }
        for (key, weight) in leaves(weights) {
            if limit.weights.iter().any(|(known, _)| *known == key) {
                continue;
            }
            if let Err(why) = set_weight(&mut limit, &key, &text_of(weight)) {
                found.push(wrong(weight, &why, "such as `weights: { gold: 4 }`"));
            }
        }
    }
    let maps = nodes.iter().filter(|node| !node.joined() && node.kind() == Kind::Map);
    for field in maps.flat_map(|node| node.children()) {
        found.extend(unknown(field).map(|(message, help)| wrong(field, &message, &help)));
    }
    // A setting that was not understood may be what another one lacks.
    let contradiction = limit.contradiction().or_else(|| limit.contradiction_of_keys());
    if let (Some((field, message, help)), true) = (contradiction, found.is_empty()) {
        let field = nodes.iter().find_map(|node| below(*node, field));
        let at = field.or(nodes.first().copied());
        found.extend(at.map(|at| wrong(at, message, help)));
    }
    problems.append(&mut found);
    limit
}

/// The error in the name of a setting, and the remedy.
fn unknown(field: Node<'_>) -> Option<(String, String)> {
    let (own, all) = (field.key(), || LIMIT_FIELDS.iter().copied().chain([WEIGHTS]));
    if all().any(|name| key::same(name, own)) {
        return None;
    }
    let help = match nearest(own, all()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if field.kind() == Kind::Map => {
            "write a name that has a dot in brackets: `'[a.b]': { rate: 5/s }`".to_owned()
        }
        None => format!("it has {}", all().collect::<Vec<_>>().join(", ")),
    };
    Some((format!("a limit has no `{own}`"), help))
}

/// The values below a map, by their keys with dots: `10.0.0.7`, as Spring reads them into a map.
fn leaves(node: Node<'_>) -> Vec<(String, Node<'_>)> {
    let mut all = Vec::new();
    for child in node.children() {
        let key = child.key();
        match child.kind() {
            Kind::Null | Kind::Scalar => all.push((key.to_owned(), child)),
            Kind::List | Kind::Map => {
                all.extend(
                    leaves(child).into_iter().map(|(rest, leaf)| (format!("{key}.{rest}"), leaf)),
                );
            }
        }
    }
    all
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
