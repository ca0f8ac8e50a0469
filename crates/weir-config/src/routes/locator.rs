//! The discovery locator: a route for every service with static instances (SCG class
//! `DiscoveryClientRouteDefinitionLocator`).
//!
//! Spring writes its parts as expressions; weir follows the usual ones, which make `/<service>/**`
//! lead to the service without its name in the path, and says so where they are others.

use weir_route::{NamedArgs, RouteDefinition, parse_shortcut};

use super::services::INSTANCES;
use super::{Written, names};
use crate::diagnostic::{Code, Diagnostic};
use crate::spring::{Layers, Node};
use crate::value;

/// What SCG puts in front of the id of a route that comes from static instances.
const ID_PREFIX: &str = "ReactiveCompositeDiscoveryClient_";
/// Parts that are expressions.
const EXPRESSIONS: &[&str] = &["include-expression", "url-expression", "predicates", "filters"];

/// Makes the routes, if the locator is on.
pub(super) fn each<'t>(
    layers: &Layers<'t>,
    problems: &mut Vec<Diagnostic>,
    take: &mut impl FnMut(Written<'t>, &mut Vec<Diagnostic>),
) {
    let Some(enabled) = layers.first_of(&names("discovery.locator.enabled")) else { return };
    if flag(layers, enabled) != Some(true) {
        return;
    }
    let mut services: Vec<Node<'t>> = Vec::new();
    for node in layers.all(INSTANCES).flat_map(Node::children) {
        if !services.iter().any(|known| known.key() == node.key()) {
            services.push(node);
        }
    }
    if services.is_empty() {
        let message = "the locator finds no services: weir has no service discovery yet";
        let help =
            format!("write a route for each service, or name its instances below `{INSTANCES}`");
        let at = enabled.key_span();
        problems.push(Diagnostic::new(Code::PropertyUnsupported, message).at(at).help(help));
        return;
    }
    for part in EXPRESSIONS {
        if let Some(node) = layers.first_of(&names(&format!("discovery.locator.{part}"))) {
            let message = format!("the locator's `{part}` is not followed");
            let help = "weir makes the usual routes; write those that are others as `routes`";
            let at = node.key_span();
            problems.push(Diagnostic::new(Code::PropertyUnsupported, message).at(at).help(help));
        }
    }
    let lower = layers.first_of(&names("discovery.locator.lower-case-service-id"));
    let lower = lower.and_then(|node| flag(layers, node)) == Some(true);
    let prefix = layers.first_of(&names("discovery.locator.route-id-prefix"));
    let prefix = prefix.and_then(Node::text).map(|text| layers.resolve(&text).0.into_owned());
    for node in services {
        let id = if lower { node.key().to_lowercase() } else { node.key().to_owned() };
        let definition = route(prefix.as_deref().unwrap_or(ID_PREFIX), node.key(), &id);
        take(Written::new(definition, node, false), problems);
    }
}

fn flag(layers: &Layers<'_>, node: Node<'_>) -> Option<bool> {
    value::bool(&layers.resolve(&node.text()?).0)
}

fn route(prefix: &str, service: &str, id: &str) -> RouteDefinition {
    let named = |text: &str| parse_shortcut(text, true).unwrap_or_default();
    let rewrite = NamedArgs {
        name: "RewritePath".into(),
        args: [
            ("regexp".to_owned(), format!("/{id}/?(?<remaining>.*)").into()),
            ("replacement".to_owned(), "/${remaining}".into()),
        ]
        .into_iter()
        .collect(),
    };
    RouteDefinition {
        id: format!("{prefix}{service}"),
        uri: format!("lb://{service}"),
        predicates: vec![named(&format!("Path=/{id}/**"))],
        filters: vec![rewrite],
        enabled: true,
        ..RouteDefinition::default()
    }
}
