//! Finds the routes and groups of a configuration in its layers, and reads them as definitions.
//!
//! Routes are read from the trees one at a time and passed on; nothing here stores them.

mod aliases;
mod definition;
mod expression;
mod group;
mod locator;
mod names;
mod services;
mod written;

use weir_balance::Directory;
use weir_route::NamedArgs;

pub(crate) use aliases::{Aliases, aliases};
pub(crate) use definition::Reader;
pub(crate) use group::groups;
pub(crate) use names::{names, names_of_both};
pub(crate) use services::{ServiceList, services};
pub(crate) use written::{Written, head};

use crate::caching;
use crate::compression;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::spring::{Kind, Layers, Node, below, child};
use written::replaced;

/// Reads every route in definition order: routes of the locator, the list property, `routes-map`,
/// bare lists, then those of groups. Problems of shape are added to `problems`; a route with such a
/// problem is omitted.
pub(crate) fn each<'t>(
    layers: &Layers<'t>,
    directory: &Directory,
    problems: &mut Vec<Diagnostic>,
    mut take: impl FnMut(Written<'t>, &mut Vec<Diagnostic>),
) {
    locator::each(layers, directory, problems, &mut take);
    let reader = Reader::new(layers, false);
    for node in list(layers, problems) {
        if let Some(definition) = reader.route(&[node], problems) {
            take(Written::new(definition, node, false), problems);
        }
    }
    for (id, nodes) in map(layers) {
        let Some(node) = nodes.first().copied() else { continue };
        if let Some(definition) = reader.named_route(id, &nodes, problems) {
            take(Written::new(definition, node, false), problems);
        }
    }
    let reader = Reader::new(layers, true);
    for root in bare(layers) {
        for node in root.children() {
            if let Some(definition) = reader.route(&[node], problems) {
                take(Written::new(definition, node, true), problems);
            }
        }
    }
    let reader = Reader::new(layers, false);
    // Problems of the groups themselves were reported when the compiler was made.
    for group in groups(layers, &mut Vec::new()) {
        for node in group.routes {
            if let Some(definition) = reader.member(&group.definition.id, node, problems) {
                take(Written::new(definition, node, false), problems);
            }
        }
    }
}

/// The elements of `routes` in the highest layer that has any.
fn list<'t>(layers: &Layers<'t>, problems: &mut Vec<Diagnostic>) -> Vec<Node<'t>> {
    let names = names_of_both("routes");
    let mut found = None;
    for node in layers.all_of(&names) {
        if node.kind() == Kind::Null {
            continue;
        }
        match found {
            None => found = Some(node),
            Some(winner) => replaced(winner, node, "routes", problems),
        }
    }
    let Some(node) = found else { return Vec::new() };
    match node.kind() {
        Kind::List => node.children().collect(),
        Kind::Null | Kind::Scalar | Kind::Map => {
            let message = "`routes` is not a list";
            let help = "write each route as a `- id: …` below it; for a map of routes by id use \
                        `routes-map`";
            problems
                .push(Diagnostic::new(Code::RouteShape, message).at(node.key_span()).help(help));
            Vec::new()
        }
    }
}

/// The entries of `routes-map` by id, each with its nodes from the highest layer down.
fn map<'t>(layers: &Layers<'t>) -> Vec<(&'t str, Vec<Node<'t>>)> {
    let names = names_of_both("routes-map");
    let maps: Vec<Node<'t>> = layers.all_of(&names).collect();
    let mut entries: Vec<(&str, Vec<Node<'t>>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    // From the lowest layer up, so that the order is that of the files.
    for node in maps.iter().rev().flat_map(|map| map.children()) {
        let place = *places.entry(node.key()).or_insert(entries.len());
        match entries.get_mut(place) {
            Some((_, nodes)) => nodes.insert(0, node),
            None => entries.push((node.key(), vec![node])),
        }
    }
    entries
}

/// Documents that consist of a list of routes only, in the order of the files.
fn bare<'t>(layers: &Layers<'t>) -> Vec<Node<'t>> {
    let mut roots: Vec<Node<'t>> = layers.roots().filter(|r| r.kind() == Kind::List).collect();
    roots.reverse();
    roots
}

/// `default-filters`, each with its place.
pub(crate) fn default_filters(
    layers: &Layers<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(NamedArgs, Span)> {
    let names = names("default-filters");
    let global = [compression::global(layers), caching::global(layers)].into_iter().flatten();
    let Some(node) = layers.first_of(&names) else { return global.collect() };
    let reader = Reader::new(layers, false);
    let elements = default_elements(layers);
    let filters = reader.named_list(node, definition::Named::Filter, problems);
    let place = |at: usize| {
        let element = elements.get(at).copied().unwrap_or(node);
        child(element, "name").unwrap_or(element).span()
    };
    let own = filters.into_iter().enumerate().map(|(at, filter)| (filter, place(at)));
    own.chain(global).collect()
}

/// The elements of `default-filters`.
pub(crate) fn default_elements<'l>(layers: &Layers<'l>) -> Vec<Node<'l>> {
    let node = layers.first_of(&names("default-filters"));
    node.map(|node| Reader::new(layers, false).elements(node)).unwrap_or_default()
}

/// Whether `filter.<kebab>.enabled` or `predicate.<kebab>.enabled` is false.
pub(crate) fn switched_off(layers: &Layers<'_>, group: &str) -> Vec<String> {
    let mut off = Vec::new();
    for name in names(group) {
        for node in layers.roots().filter_map(|root| below(root, &name)) {
            for entry in node.children() {
                let enabled = child(entry, "enabled");
                let text = enabled.and_then(Node::text).unwrap_or_default();
                if crate::value::bool(&layers.resolve(&text).0) == Some(false) {
                    off.push(entry.key().to_owned());
                }
            }
        }
    }
    off
}
