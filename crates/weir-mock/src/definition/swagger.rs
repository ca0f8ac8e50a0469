//! Swagger 2.0, converted to OpenAPI 3.0.

use serde_json::{Map, Value, json};

const METHODS: &[&str] = &["get", "put", "post", "delete", "options", "head", "patch"];
/// Keywords that a parameter of 2.0 holds itself, and one of 3.0 holds in its schema.
const SCHEMA_KEYS: &[&str] = &[
    "type",
    "format",
    "items",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "enum",
    "multipleOf",
    "x-nullable",
];

/// Makes a document of 2.0 one of 3.0, in place.
pub(crate) fn upgrade(root: &mut Value) {
    references(root);
    let Value::Object(members) = root else { return };
    let consumes = texts(members.get("consumes"));
    let produces = texts(members.get("produces"));
    let base = members.get("basePath").and_then(Value::as_str).unwrap_or("/").to_owned();
    members.insert("servers".to_owned(), json!([{ "url": base }]));
    let shared = members.remove("parameters");
    let mut components = Map::new();
    components.insert("schemas".to_owned(), members.remove("definitions").unwrap_or(json!({})));
    if let Some(schemes) = members.remove("securityDefinitions") {
        components.insert("securitySchemes".to_owned(), security(schemes));
    }
    if let Some(mut responses) = members.remove("responses") {
        each(&mut responses, |response| response_of(response, &produces));
        components.insert("responses".to_owned(), responses);
    }
    let shared = shared.unwrap_or(json!({}));
    let (mut parameters, mut bodies) = (Map::new(), Map::new());
    for (name, parameter) in shared.as_object().into_iter().flatten() {
        match place_of(parameter) {
            "body" => drop(bodies.insert(name.clone(), body(parameter, &consumes))),
            "formData" => {}
            _ => drop(parameters.insert(name.clone(), parameter_of(parameter))),
        }
    }
    components.insert("parameters".to_owned(), Value::Object(parameters));
    components.insert("requestBodies".to_owned(), Value::Object(bodies));
    members.insert("components".to_owned(), Value::Object(components));
    if let Some(paths) = members.get_mut("paths") {
        each(paths, |item| path_item(item, &shared, &consumes, &produces));
    }
}

fn path_item(item: &mut Value, shared: &Value, consumes: &[String], produces: &[String]) {
    let common = item.as_object_mut().and_then(|members| members.remove("parameters"));
    let common: Vec<Value> = common.and_then(|all| all.as_array().cloned()).unwrap_or_default();
    for method in METHODS {
        let Some(Value::Object(operation)) = item.get_mut(*method) else { continue };
        let own = operation.remove("parameters");
        let own: Vec<Value> = own.and_then(|all| all.as_array().cloned()).unwrap_or_default();
        let consumes = match operation.get("consumes") {
            Some(own) => texts(Some(own)),
            None => consumes.to_vec(),
        };
        let produces = match operation.get("produces") {
            Some(own) => texts(Some(own)),
            None => produces.to_vec(),
        };
        let resolved = |parameter: &Value| {
            let name = parameter.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|name| name.rsplit('/').next());
            name.and_then(|name| shared.get(name)).unwrap_or(parameter).clone()
        };
        let own: Vec<Value> = own.iter().map(resolved).collect();
        let key = |one: &Value| (place_of(one).to_owned(), one.get("name").cloned());
        let mut all: Vec<Value> = common.iter().map(resolved).collect();
        all.retain(|one| !own.iter().any(|other| key(other) == key(one)));
        all.extend(own);
        let (form, rest): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|one| place_of(one) == "formData");
        let (whole, rest): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|one| place_of(one) == "body");
        if let Some(parameter) = whole.first() {
            operation.insert("requestBody".to_owned(), body(parameter, &consumes));
        } else if !form.is_empty() {
            operation.insert("requestBody".to_owned(), form_body(&form, &consumes));
        }
        let parameters = rest.iter().map(parameter_of).collect();
        operation.insert("parameters".to_owned(), Value::Array(parameters));
        if let Some(responses) = operation.get_mut("responses") {
            each(responses, |response| response_of(response, &produces));
        }
    }
}

fn place_of(parameter: &Value) -> &str {
    parameter.get("in").and_then(Value::as_str).unwrap_or_default()
}

fn parameter_of(parameter: &Value) -> Value {
    let Some(members) = parameter.as_object() else { return parameter.clone() };
    let mut out = Map::new();
    for key in ["name", "in", "required", "description", "allowEmptyValue"] {
        if let Some(value) = members.get(key) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    out.insert("schema".to_owned(), value_schema(members));
    let place = place_of(parameter);
    if members.get("type") == Some(&Value::from("array")) {
        let format = members.get("collectionFormat").and_then(Value::as_str).unwrap_or("csv");
        let (style, explode) = match (format, place) {
            ("multi", _) => ("form", true),
            ("ssv", _) => ("spaceDelimited", false),
            ("pipes", _) => ("pipeDelimited", false),
            ("tsv", _) => ("tabDelimited", false),
            (_, "query" | "cookie") => ("form", false),
            _ => ("simple", false),
        };
        out.insert("style".to_owned(), Value::from(style));
        out.insert("explode".to_owned(), Value::from(explode));
    }
    Value::Object(out)
}

fn value_schema(members: &Map<String, Value>) -> Value {
    let mut schema = Map::new();
    for key in SCHEMA_KEYS {
        if let Some(value) = members.get(*key) {
            let key = if *key == "x-nullable" { "nullable" } else { key };
            schema.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(schema)
}

fn body(parameter: &Value, consumes: &[String]) -> Value {
    let schema = parameter.get("schema").cloned().unwrap_or(json!({}));
    let required = parameter.get("required").cloned().unwrap_or(Value::Bool(false));
    json!({ "required": required, "content": content(consumes, &schema) })
}

fn form_body(form: &[Value], consumes: &[String]) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in form {
        let Some(members) = parameter.as_object() else { continue };
        let name = members.get("name").and_then(Value::as_str).unwrap_or_default();
        properties.insert(name.to_owned(), value_schema(members));
        if members.get("required") == Some(&Value::Bool(true)) {
            required.push(Value::from(name));
        }
    }
    let is_file = form.iter().any(|one| one.get("type") == Some(&Value::from("file")));
    let is_form = |one: &&String| one.contains("form");
    let mut types: Vec<String> = consumes.iter().filter(is_form).cloned().collect();
    if types.is_empty() {
        let usual =
            if is_file { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
        types.push(usual.to_owned());
    }
    let is_required = !required.is_empty();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "required": is_required, "content": content(&types, &schema) })
}

fn content(types: &[String], schema: &Value) -> Value {
    let json = ["application/json".to_owned()];
    let types = if types.is_empty() { &json } else { types };
    let each = types.iter().map(|one| (one.clone(), json!({ "schema": schema })));
    Value::Object(each.collect())
}

fn response_of(response: &mut Value, produces: &[String]) {
    let Value::Object(members) = response else { return };
    let schema = members.remove("schema");
    let examples = members.remove("examples");
    if let Some(headers) = members.get_mut("headers") {
        each(headers, |header| {
            if let Value::Object(own) = header {
                let schema = value_schema(own);
                own.insert("schema".to_owned(), schema);
            }
        });
    }
    if schema.is_none() && examples.is_none() {
        return;
    }
    let mut content = match &schema {
        Some(schema) => content(produces, schema),
        None => json!({}),
    };
    for (media, example) in examples.iter().filter_map(Value::as_object).flatten() {
        let mut kind = Map::from_iter([("example".to_owned(), example.clone())]);
        if let Some(schema) = &schema {
            kind.insert("schema".to_owned(), schema.clone());
        }
        if let Some(kinds) = content.as_object_mut() {
            kinds.insert(media.clone(), kind.into());
        }
    }
    members.insert("content".to_owned(), content);
}

fn security(mut schemes: Value) -> Value {
    each(&mut schemes, |scheme| {
        if scheme.get("type") == Some(&Value::from("basic")) {
            *scheme = json!({ "type": "http", "scheme": "basic" });
        }
    });
    schemes
}

fn each(map: &mut Value, mut edit: impl FnMut(&mut Value)) {
    if let Value::Object(members) = map {
        members.values_mut().for_each(&mut edit);
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Rewrites references to the locations of 3.0.
fn references(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                for (old, new) in [
                    ("#/definitions/", "#/components/schemas/"),
                    ("#/responses/", "#/components/responses/"),
                    ("#/parameters/", "#/components/parameters/"),
                ] {
                    *reference = reference.replace(old, new);
                }
            }
            members.values_mut().for_each(references);
        }
        Value::Array(elements) => elements.iter_mut().for_each(references),
        _ => {}
    }
}
