//! The registry as JSON Schema for editors, and as a reference.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use weir_filter::filter;
use weir_route::{Spec, predicate};

use super::value::shown_size;
use super::{Kind, PropertySpec, Root, Usage, registry};

/// Pattern for any key.
const ANY: &str = "^.*$";

/// JSON Schema (2020-12) of a configuration file. Other keys of Spring are allowed.
pub fn json_schema() -> Value {
    let mut root = Map::new();
    for spec in registry() {
        for name in spec.names() {
            let path: Vec<&str> = name.split('.').collect();
            insert(&mut root, &path, spec);
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "weir configuration",
        "type": "object",
        "properties": root,
    })
}

fn insert(properties: &mut Map<String, Value>, path: &[&str], spec: &PropertySpec) {
    let [first, rest @ ..] = path else { return };
    let first = if *first == "*" { ANY } else { first };
    let Some(second) = rest.first() else {
        let entry = properties.entry(first).or_insert_with(|| json!({}));
        if let (Some(entry), Value::Object(own)) = (entry.as_object_mut(), of(spec)) {
            entry.extend(own);
        }
        return;
    };
    let entry = properties.entry(first).or_insert_with(|| json!({ "type": "object" }));
    let key = if *second == "*" { "patternProperties" } else { "properties" };
    let children = entry.as_object_mut().map(|e| e.entry(key).or_insert_with(|| json!({})));
    if let Some(children) = children.and_then(Value::as_object_mut) {
        insert(children, rest, spec);
    }
}

fn of(spec: &PropertySpec) -> Value {
    let mut schema = match spec.kind {
        Kind::Text | Kind::Secret | Kind::Address => json!({ "type": ["string", "number"] }),
        Kind::Int(i64::MIN, _) => json!({ "type": ["integer", "string"] }),
        Kind::Int(min, i64::MAX) => json!({ "type": ["integer", "string"], "minimum": min }),
        Kind::Int(min, max) => {
            json!({ "type": ["integer", "string"], "minimum": min, "maximum": max })
        }
        Kind::Bool | Kind::Via => json!({ "type": ["boolean", "string"] }),
        Kind::Duration | Kind::DataSize | Kind::SizeBetween(..) => {
            json!({ "type": ["string", "integer"] })
        }
        Kind::List => json!({
            "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "string" }]
        }),
        Kind::OneOf(names) => {
            json!({ "anyOf": [{ "enum": names }, { "type": ["string", "number"] }] })
        }
        Kind::Tree => tree(spec.name),
    };
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".to_owned(), json!(spec.doc));
        if let Some(default) = spec.default {
            object.insert("default".to_owned(), json!(default));
        }
    }
    schema
}

/// Schema of the subtrees that define routes.
fn tree(name: &str) -> Value {
    match name {
        "routes" => json!({ "type": "array", "items": route(true) }),
        "weir.groups" => json!({ "type": "array", "items": group() }),
        "routes-map" => json!({ "type": "object", "additionalProperties": route(false) }),
        "default-filters" => {
            json!({ "anyOf": [named(filter::SPECS), { "type": ["string", "null"] }] })
        }
        "spring.cloud.discovery.client.simple.instances.*" => json!({
            "type": "array",
            "items": { "type": "object", "properties": {
                "uri": { "type": "string", "examples": ["http://host:8080"] },
                "host": { "type": "string" },
                "port": { "type": ["integer", "string"] },
                "secure": { "type": ["boolean", "string"] },
            } },
        }),
        _ => json!({}),
    }
}

/// Schema of a route; `text` allows the one-line form `id=uri, Path=/x`.
fn route(text: bool) -> Value {
    let route = json!({
        "type": "object",
        "required": ["uri", "predicates"],
        "properties": {
            "id": { "type": ["string", "number"], "description": "Identifier; unique." },
            "uri": {
                "type": "string",
                "description": "Where matched requests go.",
                "examples": ["http://host:8080", "lb://service"],
            },
            "predicates": named(predicate::SPECS),
            "filters": { "anyOf": [named(filter::SPECS), { "type": "null" }] },
            "order": {
                "type": ["integer", "string"],
                "default": 0,
                "description": "Lower is tried first.",
            },
            "enabled": { "type": ["boolean", "string"], "default": true },
            "group": {
                "type": ["string", "number"],
                "description": "Group of `weir.groups` that the route belongs to.",
            },
            "metadata": { "type": "object", "properties": {
                "connect-timeout": { "type": ["integer", "string"] },
                "response-timeout": { "type": ["integer", "string"] },
                "cors": { "type": "object" },
                "fallback": {
                    "description": "`mock` or `mock://NAME`: answers what the upstream lacks.",
                },
            } },
        },
    });
    if text { json!({ "anyOf": [route, { "type": "string" }] }) } else { route }
}

/// Schema of a group: fields of routes, and a list of routes whose fields may be inherited from the
/// group.
fn group() -> Value {
    let mut shared = route(false);
    if let Some(fields) = shared.get_mut("properties").and_then(Value::as_object_mut) {
        fields.remove("enabled");
        fields.remove("group");
        let mut member = route(false);
        if let Some(shape) = member.as_object_mut() {
            shape.remove("required");
        }
        let member = json!({ "anyOf": [member, { "type": "string" }] });
        fields.insert("routes".to_owned(), json!({ "type": "array", "items": member }));
    }
    if let Some(shape) = shared.as_object_mut() {
        shape.insert("required".to_owned(), json!(["id"]));
    }
    shared
}

/// Schema of a list of predicates or filters, as shortcuts or with named arguments.
fn named<B>(specs: &[&Spec<B>]) -> Value {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    let long: Vec<Value> = specs.iter().map(|spec| long(spec)).collect();
    let shortcut = json!({
        "type": "string",
        "pattern": format!("^({})(=.*)?$", names.join("|")),
        "description": format!("One of {}, with its arguments behind `=`.", names.join(", ")),
    });
    json!({ "type": "array", "items": { "anyOf": [shortcut, { "oneOf": long }] } })
}

fn long<B>(spec: &Spec<B>) -> Value {
    let args: Map<String, Value> = spec
        .args
        .iter()
        .map(|arg| (arg.name.to_owned(), json!({ "description": arg.doc })))
        .collect();
    json!({
        "type": "object",
        "required": ["name"],
        "description": spec.doc.lines().next().unwrap_or_default(),
        "properties": { "name": { "const": spec.name }, "args": { "properties": args } },
    })
}

/// The reference of all properties, as Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Configuration properties\n\n\
         Generated from the registry in `weir-config`; do not edit.\n\n\
         `P.` stands for `spring.cloud.gateway.server.webflux.`; the old prefix \
         `spring.cloud.gateway.` is read as well.\n\n\
         | property | takes | default | what it does |\n|---|---|---|---|\n",
    );
    for spec in registry() {
        let prefix = if spec.root == Root::Gateway { "P." } else { "" };
        let default = spec.default.map(|text| match text {
            "" => "empty".to_owned(),
            text => format!("`{text}`"),
        });
        let _ = writeln!(
            out,
            "| `{prefix}{}` | {} | {} | {}{} |",
            spec.name,
            takes(spec.kind),
            default.unwrap_or_default(),
            spec.doc.replace('|', "\\|"),
            remark(spec.usage),
        );
    }
    out
}

fn takes(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Secret => "text, never shown".to_owned(),
        Kind::Int(i64::MIN, _) => "number".to_owned(),
        Kind::Int(min, i64::MAX) => format!("number from {min}"),
        Kind::Int(min, max) => format!("number, {min} to {max}"),
        Kind::Bool => "true or false".to_owned(),
        Kind::Duration => "duration".to_owned(),
        Kind::DataSize => "size".to_owned(),
        Kind::SizeBetween(min, max) => {
            format!("size, {} to {}", shown_size(min), shown_size(max))
        }
        Kind::List => "list".to_owned(),
        Kind::OneOf(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        }
        Kind::Address => "IP address".to_owned(),
        Kind::Via => "true, false or a name".to_owned(),
        Kind::Tree => "tree".to_owned(),
    }
}

fn remark(usage: Usage) -> String {
    match usage {
        Usage::Sets(_) | Usage::Read => String::new(),
        Usage::SetsAtStart(_) => " Takes effect at the next start.".to_owned(),
        Usage::Ignored(why) => format!(" Accepted without effect: {why}."),
        Usage::Unsupported(help) => format!(" **Not supported:** {help}."),
        Usage::Refused(help) | Usage::Protects(help) => format!(" **Refused:** {help}."),
    }
}

#[cfg(test)]
mod tests {
    use super::{json_schema, reference};

    #[test]
    fn the_schema_knows_both_prefixes() {
        let schema = json_schema();
        let gateway =
            &schema["properties"]["spring"]["properties"]["cloud"]["properties"]["gateway"];
        let new = &gateway["properties"]["server"]["properties"]["webflux"];
        for prefix in [gateway, new] {
            let client = &prefix["properties"]["httpclient"]["properties"];
            assert_eq!(client["connect-timeout"]["default"], "30s");
        }
        let pattern = &gateway["properties"]["filter"]["patternProperties"]["^.*$"];
        assert_eq!(pattern["properties"]["enabled"]["default"], "true");
        let route = &gateway["properties"]["routes"]["items"]["anyOf"][0]["properties"];
        let shortcut = &route["predicates"]["items"]["anyOf"][0]["pattern"];
        assert!(shortcut.as_str().is_some_and(|p| p.contains("|Path|")), "{shortcut}");
        let port = &schema["properties"]["server"]["properties"]["port"];
        assert_eq!(port["maximum"], 65_535);
    }

    #[test]
    fn the_reference_has_a_row_for_each() {
        let text = reference();
        for spec in super::registry() {
            assert!(text.contains(&format!("{}` |", spec.name)), "{}", spec.name);
        }
    }
}
