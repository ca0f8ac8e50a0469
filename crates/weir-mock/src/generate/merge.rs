//! The intersection of two schemas.

use serde_json::{Map, Value, json};

use crate::definition::Place;

/// The intersection of two schemas as far as it can be computed; generated values are validated for
/// the rest.
pub(super) fn merge(one: Value, other: Value) -> Value {
    let (mut one, other) = match (one, other) {
        (Value::Bool(true), other) => return other,
        (one, Value::Bool(true)) => return one,
        (Value::Object(one), Value::Object(other)) => (one, other),
        _ => return Value::Bool(false),
    };
    for (key, value) in other {
        let Some(own) = one.remove(&key) else {
            one.insert(key, value);
            continue;
        };
        let merged = match key.as_str() {
            "type" => types(&own, &value),
            "required" => union(own, value),
            "enum" => common(own, value),
            "properties" | "patternProperties" => members(own, value),
            "items" | "additionalProperties" | "contains" | "propertyNames" => merge(own, value),
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                greater(own, value, true)
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                greater(own, value, false)
            }
            // The whole is described by the outer one.
            _ => own,
        };
        one.insert(key, merged);
    }
    Value::Object(one)
}

fn types(one: &Value, other: &Value) -> Value {
    let list = |value: &Value| match value {
        Value::String(own) => vec![own.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let (one, other) = (list(one), list(other));
    let mut both: Vec<String> = one.iter().filter(|name| other.contains(name)).cloned().collect();
    let has = |list: &[String], name: &str| list.iter().any(|own| own == name);
    let narrows = has(&one, "integer") && has(&other, "number")
        || has(&one, "number") && has(&other, "integer");
    if narrows && !has(&both, "integer") {
        both.push("integer".to_owned());
    }
    match both.as_slice() {
        [single] => json!(single),
        _ => json!(both),
    }
}

fn union(one: Value, other: Value) -> Value {
    let (Value::Array(mut one), Value::Array(other)) = (one, other) else {
        return Value::Array(Vec::new());
    };
    one.extend(other);
    let mut seen = Vec::new();
    one.retain(|value| {
        let is_new = !seen.contains(value);
        seen.push(value.clone());
        is_new
    });
    Value::Array(one)
}

fn common(one: Value, other: Value) -> Value {
    let (Value::Array(mut one), Value::Array(other)) = (one, other) else {
        return Value::Array(Vec::new());
    };
    one.retain(|value| other.contains(value));
    Value::Array(one)
}

fn members(one: Value, other: Value) -> Value {
    let (Value::Object(mut one), Value::Object(other)) = (one, other) else {
        return Value::Object(Map::new());
    };
    for (name, schema) in other {
        let merged = match one.remove(&name) {
            // Either may be a reference, so both are kept.
            Some(own) if own != schema => json!({ "allOf": [own, schema] }),
            _ => schema,
        };
        one.insert(name, merged);
    }
    Value::Object(one)
}

fn greater(one: Value, other: Value, wanted: bool) -> Value {
    let is_greater = one.as_f64().unwrap_or(0.0) > other.as_f64().unwrap_or(0.0);
    if is_greater == wanted { one } else { other }
}

/// The same schema, its references readable from any file.
pub(super) fn absolute(schema: Value, file: &str) -> Value {
    match schema {
        Value::Object(members) => {
            let each = members.into_iter().map(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    let place = match reference.strip_prefix('#') {
                        Some(pointer) => {
                            let place = Place { file: file.to_owned(), pointer: String::new() };
                            format!("{}{pointer}", place.uri())
                        }
                        None if reference.contains("://") => reference,
                        None => {
                            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
                            let slash = if folder.is_empty() { "" } else { "/" };
                            format!("{}{folder}{slash}{reference}", crate::definition::ROOT)
                        }
                    };
                    (key, Value::String(place))
                }
                (_, value) => (key, absolute(value, file)),
            });
            Value::Object(each.collect())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(|one| absolute(one, file)).collect()),
        scalar => scalar,
    }
}
