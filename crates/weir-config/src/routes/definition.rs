//! Reads a route as a [`RouteDefinition`]: its fields, shortcuts, arguments and metadata.

use crate::diagnostic::{Code, Diagnostic, Severity, mask_url};
use crate::property;
use crate::spring::scalar::Scalar;
use crate::spring::{Kind, Layers, Node, Trouble, child, key};
use crate::value;
use serde_json::{Map, Number, Value};
use weir_route::{NamedArgs, RouteDefinition, ShortcutError, parse_shortcut};

/// Names of a route's fields.
const FIELDS: &[&str] = &[
    "id",
    "uri",
    "predicates",
    "filters",
    "metadata",
    "order",
    "enabled",
    "group",
    "_class",
    "_id",
];

/// Kind of the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Predicate,
    Filter,
}

impl Named {
    fn word(self) -> &'static str {
        match self {
            Self::Predicate => "predicate",
            Self::Filter => "filter",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Predicate => "Path=/x/**",
            Self::Filter => "StripPrefix=1",
        }
    }
}

/// Reader of the routes of a set of layers.
pub(crate) struct Reader<'l, 't> {
    layers: &'l Layers<'t>,
    /// Placeholders are not resolved.
    raw: bool,
}

pub(super) type Problems = Vec<Diagnostic>;

impl<'l, 't> Reader<'l, 't> {
    pub fn new(layers: &'l Layers<'t>, raw: bool) -> Self {
        Self { layers, raw }
    }

    /// The entry `id` of a map of routes.
    pub fn named_route(
        &self,
        id: &str,
        nodes: &[Node<'t>],
        problems: &mut Problems,
    ) -> Option<RouteDefinition> {
        let before = problems.len();
        let mut definition = self.fields(nodes, problems)?;
        id.clone_into(&mut definition.id);
        self.sound(before, problems).then_some(definition)
    }

    /// Whether no error was added to `problems` since it had the length `before`.
    pub(super) fn sound(&self, before: usize, problems: &Problems) -> bool {
        let found = problems.get(before..).unwrap_or_default();
        found.iter().all(|problem| problem.severity != Severity::Error)
    }

    /// The route at `nodes`; each field is taken from the first node that has it. `None` after a
    /// problem of shape.
    pub fn route(&self, nodes: &[Node<'t>], problems: &mut Problems) -> Option<RouteDefinition> {
        let before = problems.len();
        let mut definition = match nodes {
            [node] if node.kind() == Kind::Scalar => self.line(*node, problems)?,
            _ => self.fields(nodes, problems)?,
        };
        if let Some(node) = nodes.first() {
            identify(&mut definition, *node, problems);
        }
        self.sound(before, problems).then_some(definition)
    }

    /// Parses `id=uri, Path=/x, Method=GET`: no filters, one argument per predicate.
    pub(super) fn line(&self, node: Node<'t>, problems: &mut Problems) -> Option<RouteDefinition> {
        let text = self.text(node, "route", problems);
        let Some((id, rest)) = text.split_once('=') else {
            let message = format!("`{}` is not a route", mask_url(&text));
            let help = "write it as `id=uri, Path=/x`, or as a map with `id`, `uri`, `predicates`";
            problems.push(Diagnostic::new(Code::RouteShape, message).at(node.span()).help(help));
            return None;
        };
        let mut parts = rest.split(',').map(str::trim).filter(|part| !part.is_empty());
        let mut definition = RouteDefinition {
            id: id.trim().to_owned(),
            uri: parts.next().unwrap_or_default().to_owned(),
            enabled: true,
            ..RouteDefinition::default()
        };
        for part in parts {
            definition.predicates.extend(self.shortcut(part, Named::Predicate, node, problems));
        }
        Some(definition)
    }

    pub(super) fn fields(
        &self,
        nodes: &[Node<'t>],
        problems: &mut Problems,
    ) -> Option<RouteDefinition> {
        let mut definition = RouteDefinition { enabled: true, ..RouteDefinition::default() };
        let mut seen: Vec<&str> = Vec::new();
        for node in nodes {
            if node.kind() != Kind::Map {
                let message = "a route must be a map with `id`, `uri` and `predicates`";
                let help = "indent the fields of the route below its `- id:`";
                problems
                    .push(Diagnostic::new(Code::RouteShape, message).at(node.span()).help(help));
                return None;
            }
            for field in node.children() {
                let name = canonical(field.key(), FIELDS);
                if seen.contains(&name) {
                    continue;
                }
                seen.push(name);
                self.field(&mut definition, name, field, problems);
            }
        }
        Some(definition)
    }

    pub(super) fn field(
        &self,
        definition: &mut RouteDefinition,
        name: &str,
        field: Node<'t>,
        problems: &mut Problems,
    ) {
        match name {
            "id" => definition.id = self.one(field, "id", problems),
            "uri" => definition.uri = self.one(field, "uri", problems).trim().to_owned(),
            "predicates" => {
                definition.predicates = self.named_list(field, Named::Predicate, problems);
            }
            "filters" => definition.filters = self.named_list(field, Named::Filter, problems),
            "order" => definition.order = self.order(field, problems),
            "enabled" => definition.enabled = self.enabled(field, problems),
            "metadata" => definition.metadata = self.metadata(field, problems),
            "group" => self.one(field, "group", problems).trim().clone_into(&mut definition.group),
            // Fields that MongoDB and Spring Data add to a stored definition.
            "_class" | "_id" => {}
            _ => unknown(field, "route", FIELDS, problems),
        }
    }

    fn order(&self, field: Node<'t>, problems: &mut Problems) -> i32 {
        let text = self.one(field, "order", problems);
        let text = text.trim();
        if text.is_empty() {
            return 0;
        }
        text.parse().unwrap_or_else(|_| {
            let message = format!("`{text}` is not an order");
            let help = "write a whole number; a lower one is tried first";
            problems.push(Diagnostic::new(Code::InvalidValue, message).at(field.span()).help(help));
            0
        })
    }

    fn enabled(&self, field: Node<'t>, problems: &mut Problems) -> bool {
        let text = self.one(field, "enabled", problems);
        if text.trim().is_empty() {
            return true;
        }
        value::bool(&text).unwrap_or_else(|| {
            let message = format!("`{}` is neither true nor false", text.trim());
            let help = "write `true` or `false`";
            problems.push(Diagnostic::new(Code::InvalidValue, message).at(field.span()).help(help));
            true
        })
    }

    /// The text of a field that must be a text.
    fn one(&self, field: Node<'t>, name: &str, problems: &mut Problems) -> String {
        if field.text().is_none() {
            let message = format!("`{name}` takes one text, not a list or map");
            let help = format!("write it as `{name}: …`");
            problems
                .push(Diagnostic::new(Code::RouteShape, message).at(field.key_span()).help(help));
            return String::new();
        }
        if name == "id" {
            rewritten(field, problems);
        }
        self.text(field, name, problems)
    }

    /// A text with placeholders resolved. Those of a uri are reported where the uri is compiled.
    fn text(&self, node: Node<'t>, name: &str, problems: &mut Problems) -> String {
        let text = node.text().unwrap_or_default();
        if self.raw {
            return text.into_owned();
        }
        let (filled, trouble) = self.layers.resolve(&text);
        if worth_a_word(&text, name, trouble.as_ref()) {
            property::report(trouble, name, node, problems);
        }
        filled.into_owned()
    }

    /// The elements of a list; a single text counts as a list of one.
    pub fn elements(&self, node: Node<'t>) -> Vec<Node<'t>> {
        match node.kind() {
            Kind::List | Kind::Map => node.children().collect(),
            Kind::Null | Kind::Scalar => vec![node],
        }
    }

    /// Predicates or filters, as shortcuts or maps.
    pub fn named_list(
        &self,
        node: Node<'t>,
        kind: Named,
        problems: &mut Problems,
    ) -> Vec<NamedArgs> {
        match node.kind() {
            Kind::Null => Vec::new(),
            // Spring splits a text at commas if a list is expected.
            Kind::Scalar => {
                let text = self.text(node, kind.word(), problems);
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.filter_map(|part| self.shortcut(part, kind, node, problems)).collect()
            }
            Kind::List => {
                node.children().filter_map(|element| self.named(element, kind, problems)).collect()
            }
            Kind::Map => {
                let word = kind.word();
                let message = format!("`{}` is a map, not a list", node.key());
                let help =
                    format!("write each {word} with a `- ` in front: `- {}`", kind.example());
                problems.push(
                    Diagnostic::new(Code::RouteShape, message).at(node.key_span()).help(help),
                );
                Vec::new()
            }
        }
    }

    fn named(&self, element: Node<'t>, kind: Named, problems: &mut Problems) -> Option<NamedArgs> {
        match element.kind() {
            Kind::Scalar => {
                let text = self.text(element, kind.word(), problems);
                self.shortcut(&text, kind, element, problems)
            }
            Kind::Map => self.long(element, kind, problems),
            Kind::Null | Kind::List => {
                let message = format!("this is not a {}", kind.word());
                let help = format!(
                    "write `- {}`, or a map with `name` and `args`; an empty `-` has to go",
                    kind.example()
                );
                problems
                    .push(Diagnostic::new(Code::RouteShape, message).at(element.span()).help(help));
                None
            }
        }
    }

    fn shortcut(
        &self,
        text: &str,
        kind: Named,
        node: Node<'t>,
        problems: &mut Problems,
    ) -> Option<NamedArgs> {
        match parse_shortcut(text, kind == Named::Filter) {
            Ok(named) => Some(named),
            Err(error) => {
                let word = kind.word();
                let message = match error {
                    ShortcutError::NoEquals => format!("the {word} `{text}` has no `=`"),
                    ShortcutError::NoName => format!("the {word} `{text}` has no name"),
                };
                let help = format!("write it as `Name=value`, such as `{}`", kind.example());
                problems
                    .push(Diagnostic::new(Code::RouteShape, message).at(node.span()).help(help));
                None
            }
        }
    }

    /// Parses `name: X` with `args:`.
    fn long(&self, node: Node<'t>, kind: Named, problems: &mut Problems) -> Option<NamedArgs> {
        let word = kind.word();
        let Some(name) = child(node, "name").filter(|name| name.kind() == Kind::Scalar) else {
            let message = format!("a {word} needs a `name`");
            let help = match node.children().next() {
                Some(first) => format!(
                    "`{}:` makes this a map; a shortcut has `=`: `- {}`",
                    first.key(),
                    kind.example()
                ),
                None => format!("write `- {}`, or `- name: …` with `args:`", kind.example()),
            };
            problems.push(Diagnostic::new(Code::RouteShape, message).at(node.span()).help(help));
            return None;
        };
        let name = self.text(name, "name", problems).into();
        let mut args = Vec::new();
        for field in node.children() {
            match field.key() {
                "name" => {}
                "args" => self.args(field, &mut args, problems),
                other => {
                    let message = format!("a {word} has no `{other}`");
                    let help = "put arguments below `args:`";
                    problems.push(
                        Diagnostic::new(Code::UnknownProperty, message)
                            .at(field.key_span())
                            .help(help),
                    );
                }
            }
        }
        Some(NamedArgs { name, args: args.into_iter().collect() })
    }

    fn args(&self, node: Node<'t>, args: &mut Vec<(String, Value)>, problems: &mut Problems) {
        match node.kind() {
            Kind::Null => {}
            Kind::Map | Kind::List => self.flatten(node, String::new(), args, problems),
            Kind::Scalar => {
                let message = "`args` is a map of names to values";
                let help = "write `args:` and below it, indented, `name: value`";
                problems
                    .push(Diagnostic::new(Code::RouteShape, message).at(node.span()).help(help));
            }
        }
    }

    /// Flattens arguments: nested ones get dotted names, elements of lists numbered ones.
    fn flatten(
        &self,
        node: Node<'t>,
        prefix: String,
        args: &mut Vec<(String, Value)>,
        problems: &mut Problems,
    ) {
        let list = node.kind() == Kind::List;
        for (at, entry) in node.children().enumerate() {
            let own = if list { at.to_string() } else { entry.key().to_owned() };
            let name = if prefix.is_empty() { own } else { format!("{prefix}.{own}") };
            if entry.text().is_none() {
                self.flatten(entry, name, args, problems);
                continue;
            }
            rewritten(entry, problems);
            let text = self.text(entry, &name, problems);
            args.push((name, Value::String(text)));
        }
    }

    fn metadata(&self, node: Node<'t>, problems: &mut Problems) -> Map<String, Value> {
        if let (Kind::Map, Value::Object(map)) = (node.kind(), self.json(node, problems)) {
            return map;
        }
        let message = "`metadata` is a map; Spring does not start with this one";
        let help = "write entries below it, or remove it";
        problems.push(Diagnostic::new(Code::RouteShape, message).at(node.key_span()).help(help));
        Map::new()
    }

    fn json(&self, node: Node<'t>, problems: &mut Problems) -> Value {
        match node.kind() {
            Kind::List => {
                Value::Array(node.children().map(|child| self.json(child, problems)).collect())
            }
            Kind::Map => Value::Object(
                node.children()
                    .map(|child| (child.key().to_owned(), self.json(child, problems)))
                    .collect(),
            ),
            Kind::Null => Value::String(String::new()),
            Kind::Scalar => match node.scalar() {
                Some(Scalar::Bool(value)) => Value::Bool(value),
                Some(Scalar::Int(n)) if i64::try_from(n).is_ok() => {
                    Value::from(i64::try_from(n).unwrap_or_default())
                }
                Some(Scalar::Float(x)) if x.is_finite() => {
                    Number::from_f64(x).map_or(Value::Null, Value::Number)
                }
                _ => Value::String(self.text(node, node.key(), problems)),
            },
        }
    }
}

/// The name of a field in the spelling of `fields`, if it is one of them.
pub(super) fn canonical<'w>(written: &'w str, fields: &[&'static str]) -> &'w str {
    if fields.contains(&written) {
        return written;
    }
    fields.iter().find(|name| key::same(name, written)).copied().unwrap_or(written)
}

/// Reports an unknown field.
pub(super) fn unknown(field: Node<'_>, what: &str, fields: &[&str], problems: &mut Problems) {
    let name = field.key();
    // Names that begin with `_` are fields of a database.
    let known = fields.iter().copied().filter(|name| !name.starts_with('_'));
    let help = match value::nearest(name, fields.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
            format!("a {what} has {}", known.join(", "))
        }
    };
    let message = format!("a {what} has no `{name}`");
    problems.push(Diagnostic::new(Code::UnknownProperty, message).at(field.key_span()).help(help));
}

/// Sets the id of a route without one.
pub(super) fn identify(definition: &mut RouteDefinition, node: Node<'_>, problems: &mut Problems) {
    if !definition.id.trim().is_empty() {
        return;
    }
    definition.id = generated_id(definition);
    let message = format!("a route without an id; it is called `{}`", definition.id);
    let help = "give it an `id`; Spring Cloud Gateway makes a random one at each start";
    let at = node.children().next().map_or_else(|| node.span(), Node::key_span);
    problems.push(Diagnostic::new(Code::GeneratedId, message).at(at).help(help));
}

/// A generated id that depends only on the route's content: FNV-1a of its JSON.
fn generated_id(definition: &RouteDefinition) -> String {
    let json = serde_json::to_vec(definition).unwrap_or_default();
    let hash = json.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("route-{hash:016x}")
}

/// Adds a note if YAML changes a value before the gateway sees it.
fn rewritten(node: Node<'_>, problems: &mut Vec<Diagnostic>) {
    let (Some(written), Some(scalar)) = (node.written(), node.scalar()) else { return };
    if !matches!(scalar, Scalar::Int(_) | Scalar::Float(_) | Scalar::Bool(_)) {
        return;
    }
    let arrives = scalar.into_text();
    if arrives.eq_ignore_ascii_case(written) {
        return;
    }
    let message = format!("`{written}` arrives as `{arrives}`, as YAML 1.1 has it");
    let help = format!("put it in quotes to keep it: `'{written}'`");
    problems.push(Diagnostic::new(Code::ValueRewritten, message).at(node.span()).help(help));
}

/// Whether a placeholder problem is worth reporting: `${segment}` may refer to a capturing group,
/// and a uri is checked later.
fn worth_a_word(text: &str, name: &str, trouble: Option<&Trouble>) -> bool {
    match trouble {
        None => false,
        Some(Trouble::Loop(_)) => true,
        Some(Trouble::Unknown(missing)) => {
            name != "uri"
                && name != "replacement"
                && !text.contains(&format!("(?<{missing}>"))
                && !text.starts_with("RewritePath")
        }
    }
}
