//! The registry as a JSON Schema for editors and as a reference for readers.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{Kind, PropertySpec, Root, Usage, registry};

/// Pattern for any key.
const ANY: &str = "^.*$";

/// JSON Schema (2020-12) of a configuration file. Keys of other parts of Spring are let through.
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
        Kind::Bool => json!({ "type": ["boolean", "string"] }),
        Kind::Duration | Kind::DataSize => json!({ "type": ["string", "integer"] }),
        Kind::List => json!({
            "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "string" }]
        }),
        Kind::OneOf(names) => {
            json!({ "anyOf": [{ "enum": names }, { "type": ["string", "number"] }] })
        }
        Kind::Tree => json!({}),
    };
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".to_owned(), json!(spec.doc));
        if let Some(default) = spec.default {
            object.insert("default".to_owned(), json!(default));
        }
    }
    schema
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
        Kind::List => "list".to_owned(),
        Kind::OneOf(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        }
        Kind::Address => "IP address".to_owned(),
        Kind::Tree => "tree".to_owned(),
    }
}

fn remark(usage: Usage) -> String {
    match usage {
        Usage::Sets(_) | Usage::Read => String::new(),
        Usage::Ignored(why) => format!(" Accepted without effect: {why}."),
        Usage::Unsupported(help) => format!(" **Not supported:** {help}."),
        Usage::Refused(help) => format!(" **Refused:** {help}."),
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
