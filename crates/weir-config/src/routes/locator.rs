//! The discovery locator: a route for every service of a registry or the configuration (SCG class
//! `DiscoveryClientRouteDefinitionLocator`).

use std::sync::Arc;

use weir_balance::{Directory, Instance};
use weir_route::{NamedArgs, RouteDefinition};

use super::definition::{Named, Reader};
use super::expression::{Expression, Subject};
use super::services::INSTANCES;
use super::{Written, names};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::spring::{Layers, Node};
use crate::value;

/// SCG's prefix of the ids of the locator's routes.
const ID_PREFIX: &str = "ReactiveCompositeDiscoveryClient_";

/// Keys under which registries are configured.
const REGISTRIES: &[&str] = &[
    "eureka",
    "spring.cloud.consul",
    "spring.cloud.nacos",
    "spring.cloud.zookeeper",
    "spring.cloud.kubernetes",
    "weir.discovery.dns.services",
];

/// Makes the routes, if the locator is enabled.
pub(super) fn each<'t>(
    layers: &Layers<'t>,
    directory: &Directory,
    problems: &mut Vec<Diagnostic>,
    take: &mut impl FnMut(Written<'t>, &mut Vec<Diagnostic>),
) {
    let property = |name: &str| layers.first_of(&names(&format!("discovery.locator.{name}")));
    let Some(enabled) = property("enabled") else { return };
    if flag(layers, enabled) != Some(true) {
        return;
    }
    let Some(locator) = Locator::read(layers, problems) else { return };
    let services = services(layers, directory);
    if services.is_empty() && !REGISTRIES.iter().any(|name| layers.find(name).is_some()) {
        let message = "the locator finds no services: no registry is configured";
        let help = format!(
            "name one, such as `eureka.client.service-url.defaultZone: \
             http://localhost:8761/eureka/`, or list instances below `{INSTANCES}`"
        );
        let at = enabled.key_span();
        problems.push(Diagnostic::new(Code::NoInstances, message).at(at).help(help));
    }
    for (id, instance, place) in services {
        let place = place.unwrap_or(enabled);
        let subject = Subject { id: &id, instance: &instance };
        if locator.include.holds(&subject) {
            let written = Written::new(locator.route(&subject), place, false);
            take(Written { found: true, ..written }, problems);
        }
    }
}

/// Every service with one of its instances: first of the configuration, then of registries.
fn services<'t>(
    layers: &Layers<'t>,
    directory: &Directory,
) -> Vec<(String, Arc<Instance>, Option<Node<'t>>)> {
    let mut services: Vec<(String, Arc<Instance>, Option<Node<'t>>)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    let own = super::services(layers, &mut Vec::new());
    for node in layers.all(INSTANCES).flat_map(Node::children) {
        let key = node.key().to_ascii_lowercase();
        let instances = own.iter().find(|(name, _)| *name == key).map(|(_, list)| list);
        let Some(last) = instances.and_then(|list| list.last()) else { continue };
        if known.insert(key) {
            services.push((node.key().to_owned(), Arc::clone(last), Some(node)));
        }
    }
    for listed in directory.listed() {
        if known.insert(listed.id.to_ascii_lowercase()) {
            services.push((listed.id, listed.instance, None));
        }
    }
    services
}

/// The locator's properties, read once.
struct Locator {
    prefix: String,
    lower: bool,
    include: Expression,
    url: Expression,
    predicates: Vec<Part>,
    filters: Vec<Part>,
}

/// A predicate or filter whose arguments are expressions.
struct Part {
    name: String,
    args: Vec<(String, Expression)>,
}

impl Locator {
    /// Reads the locator. If an expression is not supported, reports all problems and returns
    /// `None`: omitting a part would make routes that were not intended.
    fn read(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let property = |name: &str| layers.first_of(&names(&format!("discovery.locator.{name}")));
        let text = |name: &str| Some(layers.resolve(&property(name)?.text()?).0.into_owned());
        let before = problems.len();
        let expression = |name: &str, default: &str, problems: &mut Vec<Diagnostic>| {
            let written = text(name).filter(|text| !text.trim().is_empty());
            let at = property(name);
            parsed(written.as_deref().unwrap_or(default), name, at, problems)
        };
        let include = expression("include-expression", "true", problems);
        let url = expression("url-expression", "'lb://'+serviceId", problems);
        let predicates = parts(layers, property("predicates"), Named::Predicate, problems);
        let filters = parts(layers, property("filters"), Named::Filter, problems);
        if problems.len() > before {
            return None;
        }
        Some(Self {
            prefix: text("route-id-prefix").unwrap_or_else(|| ID_PREFIX.to_owned()),
            lower: property("lower-case-service-id").and_then(|node| flag(layers, node))
                == Some(true),
            include: include?,
            url: url?,
            predicates: predicates.unwrap_or_else(|| vec![default_predicate()]),
            filters: filters.unwrap_or_else(|| vec![default_filter()]),
        })
    }

    fn route(&self, subject: &Subject<'_>) -> RouteDefinition {
        // Id and uri keep the case of the service, as in SCG.
        let lower = subject.id.to_lowercase();
        let inside = Subject { id: if self.lower { &lower } else { subject.id }, ..*subject };
        let evaluate = |parts: &[Part]| parts.iter().map(|part| part.evaluate(&inside)).collect();
        let metadata = subject.instance.metadata.iter();
        RouteDefinition {
            id: format!("{}{}", self.prefix, subject.id),
            uri: self.url.text(subject),
            predicates: evaluate(&self.predicates),
            filters: evaluate(&self.filters),
            metadata: metadata
                .map(|(name, value)| (name.clone(), serde_json::Value::from(value.as_str())))
                .collect(),
            enabled: true,
            ..RouteDefinition::default()
        }
    }
}

impl Part {
    fn evaluate(&self, subject: &Subject<'_>) -> NamedArgs {
        let args = self.args.iter();
        let args = args.map(|(name, value)| (name.clone(), value.text(subject).into()));
        NamedArgs { name: self.name.as_str().into(), args: args.collect() }
    }
}

fn default_predicate() -> Part {
    let all = "'/'+serviceId+'/**'";
    Part { name: "Path".to_owned(), args: vec![("pattern".to_owned(), sound(all))] }
}

fn default_filter() -> Part {
    let regexp = sound("'/' + serviceId + '/?(?<remaining>.*)'");
    let replacement = sound("'/${remaining}'");
    let args = vec![("regexp".to_owned(), regexp), ("replacement".to_owned(), replacement)];
    Part { name: "RewritePath".to_owned(), args }
}

/// Parses an expression built into weir; an invalid one becomes `null`, which a test would reveal.
fn sound(text: &str) -> Expression {
    Expression::parse(text).unwrap_or_else(|_| Expression::nothing())
}

fn parsed(
    text: &str,
    what: &str,
    at: Option<Node<'_>>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Expression> {
    match Expression::parse(text) {
        Ok(expression) => Some(expression),
        Err(why) => {
            let message = format!("the locator's `{what}` is not understood: {why}");
            let help = "weir reads texts in quotes, `serviceId`, `host`, `port`, \
                        `metadata['key']`, `+`, comparisons, `and`, `or`, `not`, and methods such \
                        as `.toLowerCase()` and `.startsWith('x')`; write the routes that need \
                        more as `routes`";
            let place = at.map(|node| node.span()).unwrap_or_default();
            problems.push(
                Diagnostic::new(Code::PropertyUnsupported, message)
                    .severity(Severity::Error)
                    .at(place)
                    .help(help),
            );
            None
        }
    }
}

/// The predicates or filters below `node`; `None` if there are none, so that the defaults apply.
fn parts(
    layers: &Layers<'_>,
    node: Option<Node<'_>>,
    kind: Named,
    problems: &mut Vec<Diagnostic>,
) -> Option<Vec<Part>> {
    let node = node?;
    let reader = Reader::new(layers, false);
    let list = reader.named_list(node, kind, problems);
    if list.is_empty() {
        return None;
    }
    let part = |named: NamedArgs, problems: &mut Vec<Diagnostic>| {
        let args = named.args.iter().map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // A boolean or number is written without quotes, and is a constant.
            let expression = parsed(&text, &named.name, Some(node), problems)?;
            Some((name.to_string(), expression))
        });
        let args: Option<Vec<_>> = args.collect();
        Some(Part { name: named.name.to_string(), args: args? })
    };
    Some(list.into_iter().filter_map(|named| part(named, problems)).collect())
}

fn flag(layers: &Layers<'_>, node: Node<'_>) -> Option<bool> {
    value::bool(&layers.resolve(&node.text()?).0)
}
