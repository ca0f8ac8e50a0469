//! Groups of routes: `weir.groups` (`docs/decisions/0007-route-groups.md`).

use weir_route::RouteDefinition;

use super::definition::{Problems, Reader, canonical, identify, unknown};
use crate::diagnostic::{Code, Diagnostic};
use crate::spring::{Kind, Layers, Node, child};

const NAME: &str = "weir.groups";
/// Names of a group's fields.
const FIELDS: &[&str] = &["id", "order", "predicates", "filters", "uri", "metadata", "routes"];
/// Maximum number of groups of a configuration.
const GROUPS_MAX: usize = 1 << 20;

/// A group as written.
pub(crate) struct WrittenGroup<'t> {
    /// The shared part of its routes: id, order, predicates, filters, uri, metadata.
    pub definition: RouteDefinition,
    /// Its node.
    pub node: Node<'t>,
    /// Its routes.
    pub routes: Vec<Node<'t>>,
}

/// Every group in the order written: the list of the highest layer that has one. A group with a
/// problem of shape is omitted.
pub(crate) fn groups<'t>(
    layers: &Layers<'t>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<WrittenGroup<'t>> {
    let mut lists = layers.all(NAME).filter(|node| node.kind() != Kind::Null);
    let Some(list) = lists.next() else { return Vec::new() };
    for other in lists {
        super::written::replaced(list, other, "groups", problems);
    }
    if list.kind() != Kind::List {
        let message = "`groups` is not a list";
        let help = "write each group as a `- id: …` below it";
        let at = list.key_span();
        problems.push(Diagnostic::new(Code::RouteShape, message).at(at).help(help));
        return Vec::new();
    }
    let reader = Reader::new(layers, false);
    let mut groups: Vec<WrittenGroup<'t>> = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for node in list.children() {
        if groups.len() == GROUPS_MAX {
            let message = format!("there are more than {GROUPS_MAX} groups");
            let help = "a group is meant to hold many routes; leave the others without one";
            problems.push(Diagnostic::new(Code::RouteShape, message).at(node.span()).help(help));
            break;
        }
        let Some(group) = reader.group(node, problems) else { continue };
        if ids.insert(group.definition.id.clone()) {
            groups.push(group);
            continue;
        }
        let message = format!("duplicate group `{}`", group.definition.id);
        let help = "give each group an id of its own, or put all routes below the first";
        let at = super::head(node);
        problems.push(Diagnostic::new(Code::DuplicateGroup, message).at(at).help(help));
    }
    groups
}

impl<'t> Reader<'_, 't> {
    /// A route of group `id`.
    pub fn member(
        &self,
        id: &str,
        node: Node<'t>,
        problems: &mut Problems,
    ) -> Option<RouteDefinition> {
        let before = problems.len();
        let mut definition = match node.kind() {
            Kind::Scalar => self.line(node, problems)?,
            _ => self.fields(&[node], problems)?,
        };
        if let Some(field) = child(node, "group") {
            let message = format!("this route is in the group `{id}` already");
            let help = "remove `group`, or move the route out of the list of that group";
            let at = field.key_span();
            problems.push(Diagnostic::new(Code::RouteShape, message).at(at).help(help));
        }
        id.clone_into(&mut definition.group);
        identify(&mut definition, node, problems);
        self.sound(before, problems).then_some(definition)
    }

    /// The group at `node`. `None` after a problem of shape.
    pub fn group(&self, node: Node<'t>, problems: &mut Problems) -> Option<WrittenGroup<'t>> {
        let before = problems.len();
        let mut definition = RouteDefinition::default();
        let mut routes = Vec::new();
        if node.kind() != Kind::Map {
            let message = "a group must be a map with `id`, `predicates` and `routes`";
            let help = "indent the fields of the group below its `- id:`";
            problems.push(Diagnostic::new(Code::RouteShape, message).at(node.span()).help(help));
            return None;
        }
        for field in node.children() {
            match canonical(field.key(), FIELDS) {
                "routes" => routes = self.members(field, problems),
                name if FIELDS.contains(&name) => {
                    self.field(&mut definition, name, field, problems);
                }
                _ => unknown(field, "group", FIELDS, problems),
            }
        }
        if definition.id.trim().is_empty() {
            let message = "a group needs an `id`";
            let help = "routes outside its list name it by that: `group: <id>`";
            let at = super::head(node);
            problems.push(Diagnostic::new(Code::RouteShape, message).at(at).help(help));
        }
        self.sound(before, problems).then_some(WrittenGroup { definition, node, routes })
    }

    fn members(&self, field: Node<'t>, problems: &mut Problems) -> Vec<Node<'t>> {
        match field.kind() {
            Kind::List => field.children().collect(),
            Kind::Null => Vec::new(),
            Kind::Scalar | Kind::Map => {
                let message = "`routes` of a group is not a list";
                let help = "write each route as a `- id: …` below it";
                let at = field.key_span();
                problems.push(Diagnostic::new(Code::RouteShape, message).at(at).help(help));
                Vec::new()
            }
        }
    }
}
