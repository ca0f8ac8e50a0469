//! Projects of Apifox in its own format (`apifoxProject`): folders of APIs with schemas and
//! examples. Exports as OpenAPI are read as such.

use std::collections::BTreeMap;

use serde_json::Value;

use super::collect::{Collected, braces, form_schema, media, operation, parameter};
use super::documents::{Place, ReadError, ReadErrors};
use super::model::{Api, Code, Example, Kind, Operation, ParameterPlace, RequestBody, Response};
use super::schema::{Schema, Side, normalise};
use super::yapi::plain;

const KEYS: &[&str] = &["apifoxProject", "$schema", "info", "apiCollection", "schemaCollection"];

/// Reads the project `root`.
pub(super) fn read(name: &str, file: &str, mut root: Value) -> Result<Api, ReadErrors> {
    let mut all = Collected::default();
    all.unknown(&root, "", KEYS);
    let mut schemas = BTreeMap::new();
    let start = Place::root(file);
    for (at, folder) in list(&root, "schemaCollection").enumerate() {
        named_schemas(folder, &start.at("schemaCollection").at(&at.to_string()), &mut schemas);
    }
    lead(&mut root, &schemas);
    let mut waiting: Vec<Place> = (0..list(&root, "apiCollection").count())
        .rev()
        .map(|at| start.at("apiCollection").at(&at.to_string()))
        .collect();
    while let Some(place) = waiting.pop() {
        let Some(item) = root.pointer_mut(&place.pointer) else { continue };
        let summary = item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(api) = item.get_mut("api") {
            let read = one(&mut all, api, &place.at("api"), &summary);
            all.noted(read);
        }
        let count = list(item, "items").count();
        waiting.extend((0..count).rev().map(|at| place.at("items").at(&at.to_string())));
    }
    let title = root.pointer("/info/name").and_then(Value::as_str).map(str::to_owned);
    let bases = vec![String::new()];
    all.finish((Kind::Apifox, name, file), title.as_deref(), bases, root)
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Maps the reference of each schema to its place.
fn named_schemas(folder: &Value, place: &Place, found: &mut BTreeMap<String, String>) {
    for (at, item) in list(folder, "items").enumerate() {
        let place = place.at("items").at(&at.to_string());
        if let Some(id) = item.get("id").filter(|_| item.get("schema").is_some()) {
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            let id = if id.starts_with('#') { id } else { format!("#/definitions/{id}") };
            let at = place.at("schema").at("jsonSchema");
            found.insert(id, format!("#{}", at.pointer));
        }
        named_schemas(item, &place, found);
    }
}

/// Rewrites references to the places of the schemas, and converts schemas to one form.
fn lead(value: &mut Value, schemas: &BTreeMap<String, String>) {
    match value {
        Value::Object(members) => {
            for key in ["jsonSchema", "schema"] {
                if let Some(schema) = members.get_mut(key).filter(|schema| schema.is_object()) {
                    plain(schema);
                    normalise(schema);
                }
            }
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(place) = schemas.get(reference)
            {
                place.clone_into(reference);
            }
            members.values_mut().for_each(|member| lead(member, schemas));
        }
        Value::Array(all) => all.iter_mut().for_each(|element| lead(element, schemas)),
        _ => {}
    }
}

fn one(
    all: &mut Collected,
    api: &mut Value,
    place: &Place,
    summary: &str,
) -> Result<(), ReadError> {
    let text = |key: &str| api.get(key).and_then(Value::as_str);
    let path = text("path").ok_or_else(|| place.at("path").error("an API needs a `path`"))?;
    let mut own = operation(text("method").unwrap_or("GET"), &braces(path), summary);
    let places = [
        ("query", ParameterPlace::Query),
        ("header", ParameterPlace::Header),
        ("cookie", ParameterPlace::Cookie),
    ];
    for (key, of) in places {
        let at = place.at("parameters").at(key);
        for (n, declared) in
            api.get("parameters").into_iter().flat_map(|all| list(all, key)).enumerate()
        {
            let name = declared.get("name").and_then(Value::as_str).unwrap_or_default();
            if name.is_empty() || declared.get("enable") == Some(&Value::Bool(false)) {
                continue;
            }
            let mut made = parameter(of, name, is_required(declared));
            if declared.get("schema").is_some() {
                let at = at.at(&n.to_string()).at("schema");
                made.schema = Some(Schema::new(at, Side::Request));
            }
            own.parameters.push(made);
        }
    }
    own.body = request_body(api, place);
    responses(all, &mut own, api, place);
    if all.has(&own.method, &own.path) {
        let message = format!("{} {} is there already", own.method, own.path);
        all.warn(&place.pointer, format!("{message}, and that one answers"));
    }
    all.add(own);
    Ok(())
}

fn is_required(value: &Value) -> bool {
    value.get("required") == Some(&Value::Bool(true))
}

fn request_body(api: &mut Value, place: &Place) -> Option<RequestBody> {
    let body = api.get_mut("requestBody")?;
    let at = place.at("requestBody");
    let range = body.get("type").and_then(Value::as_str).unwrap_or("none").to_owned();
    if range.contains("form") {
        let fields: Vec<Value> = list(body, "parameters").cloned().collect();
        let named = fields
            .iter()
            .filter_map(|field| Some((field.get("name")?.as_str()?, is_required(field))));
        let schema = form_schema(named);
        let required = fields.iter().any(is_required);
        body.as_object_mut()?.insert("parameters".to_owned(), schema);
        let schema = Schema::new(at.at("parameters"), Side::Request);
        return Some(RequestBody { required, media: vec![media(&range, Some(schema), None)] });
    }
    let is_json = range.contains("json");
    let has_schema = body.get("jsonSchema").is_some_and(Value::is_object);
    if !is_json || !has_schema {
        return None;
    }
    let schema = Schema::new(at.at("jsonSchema"), Side::Request);
    let media = vec![media("application/json", Some(schema), None)];
    Some(RequestBody { required: is_required(body), media })
}

fn responses(all: &mut Collected, own: &mut Operation, api: &Value, place: &Place) {
    for (n, response) in list(api, "responses").enumerate() {
        let at = place.at("responses").at(&n.to_string());
        let code = response
            .get("code")
            .and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let code = code.and_then(|code| u16::try_from(code).ok());
        let code = code.filter(|code| (100..=999).contains(code));
        let Some(code) = code else {
            all.wrong(at.at("code").error("a response needs a status"));
            continue;
        };
        let range = match response.get("contentType").and_then(Value::as_str) {
            None | Some("json") => "application/json",
            Some("xml") => "application/xml",
            Some("html") => "text/html",
            Some("raw") => "text/plain",
            Some("binary") => "application/octet-stream",
            Some(other) if other.contains('/') => other,
            Some(_) => "",
        };
        let has_schema = response.get("jsonSchema").is_some_and(Value::is_object);
        let schema = has_schema.then(|| Schema::new(at.at("jsonSchema"), Side::Response));
        let mut content = media(range, schema, None);
        for example in list(api, "responseExamples") {
            let is_own = example.get("responseId").is_none_or(|id| Some(id) == response.get("id"));
            let (Some(data), true) = (example.get("data"), is_own) else { continue };
            let name = example.get("name").and_then(Value::as_str).unwrap_or_default();
            let read = match data {
                Value::String(text) => serde_json::from_str(text).map_or_else(
                    |_| Example::Text(text.clone()),
                    |value: Value| Example::Value(value.into()),
                ),
                other => Example::Value(other.clone().into()),
            };
            content.examples.push((name.to_owned(), read));
        }
        let media = if range.is_empty() { Vec::new() } else { vec![content] };
        own.responses.push(Response { code: Code::Exact(code), media, headers: Vec::new() });
    }
}
