//! Exports of YApi: categories of interfaces, whose bodies are templates of mock.js or schemas,
//! written as texts. A text that holds a schema is replaced by it, so that places stay as they are.

use serde_json::Value;

use super::collect::{Collected, braces, form_schema, media, operation, parameter};
use super::documents::{Place, ReadErrors};
use super::lenient;
use super::model::{Api, Code, Example, Kind, Media, ParameterPlace, RequestBody, Response};
use super::schema::{Schema, Side, normalise};
use crate::template::Template;

const CATEGORY_KEYS: &[&str] = &[
    "name",
    "desc",
    "list",
    "index",
    "add_time",
    "up_time",
    "_id",
    "__v",
    "uid",
    "project_id",
    "parent_id",
    "proxy",
];
/// Members that are used, or that only inform people.
const KEYS: &[&str] = &[
    "title",
    "path",
    "method",
    "status",
    "type",
    "tag",
    "query_path",
    "req_params",
    "req_query",
    "req_headers",
    "req_body_type",
    "req_body_form",
    "req_body_other",
    "req_body_is_json_schema",
    "res_body_type",
    "res_body",
    "res_body_is_json_schema",
    "api_opened",
    "markdown",
    "desc",
    "index",
    "_id",
    "__v",
    "project_id",
    "catid",
    "uid",
    "add_time",
    "up_time",
    "edit_uid",
    "username",
    "owners",
    "field2",
    "field1",
    "field3",
    "custom_field_value",
    "switch_notice",
];

/// Reads the export `root`.
pub(super) fn read(name: &str, file: &str, mut root: Value) -> Result<Api, ReadErrors> {
    let mut all = Collected::default();
    let start = Place::root(file);
    for (at, category) in root.as_array_mut().into_iter().flatten().enumerate() {
        let place = start.at(&at.to_string());
        all.unknown(category, &place.pointer, CATEGORY_KEYS);
        let list = category.get_mut("list").and_then(Value::as_array_mut);
        let list = list.ok_or_else(|| place.error("a category needs a `list`"));
        for (n, one) in all.noted(list).into_iter().flatten().enumerate() {
            interface(&mut all, one, &place.at("list").at(&n.to_string()));
        }
    }
    all.finish((Kind::YApi, name, file), None, vec![String::new()], root)
}

fn interface(all: &mut Collected, value: &mut Value, place: &Place) {
    all.unknown(value, &place.pointer, KEYS);
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (path, method) = (text("path"), text("method"));
    if path.is_empty() {
        all.wrong(place.at("path").error("an interface needs a `path`"));
    }
    let method = if method.is_empty() { "GET".to_owned() } else { method };
    // The path of an export has the query too, which `query_path` has in parts.
    let own_path = match fixed_query(value) {
        Some(query) => path.split('?').next().unwrap_or_default().to_owned() + &query,
        None => path,
    };
    let path = braces(&own_path);
    if all.has(&method.to_ascii_uppercase(), &path) {
        all.warn(&place.pointer, format!("{method} {path} is there already, and that one answers"));
    }
    let mut own = operation(&method, &path, &text("title"));
    let lists = [("req_query", ParameterPlace::Query), ("req_headers", ParameterPlace::Header)];
    for (key, of) in lists {
        for one in value.get(key).and_then(Value::as_array).into_iter().flatten() {
            let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
            let is_negotiated = of == ParameterPlace::Header
                && ["content-type", "accept"].contains(&&*name.to_ascii_lowercase());
            if !name.is_empty() && !is_negotiated {
                own.parameters.push(parameter(of, name, is_required(one)));
            }
        }
    }
    if !["GET", "HEAD"].contains(&own.method.as_str()) {
        own.body = request_body(all, value, place);
    }
    let content = response_body(all, value, place);
    own.responses.push(Response {
        code: Code::Exact(200),
        media: content.into_iter().collect(),
        headers: Vec::new(),
    });
    all.add(own);
}

/// The query `?a=b` that distinguishes paths, if there is one.
fn fixed_query(value: &Value) -> Option<String> {
    let pairs = value.pointer("/query_path/params").and_then(Value::as_array);
    let pairs = pairs.into_iter().flatten().filter_map(|pair| {
        let text = |key: &str| pair.get(key).and_then(Value::as_str);
        Some(format!("{}={}", text("name")?, text("value").unwrap_or_default()))
    });
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| format!("?{}", pairs.join("&")))
}

fn is_required(one: &Value) -> bool {
    match one.get("required") {
        Some(Value::String(text)) => text == "1",
        Some(other) => other == &Value::Bool(true) || other == &Value::from(1),
        None => false,
    }
}

fn is_set(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

fn request_body(all: &mut Collected, value: &mut Value, place: &Place) -> Option<RequestBody> {
    let kind = value.get("req_body_type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match kind.as_str() {
        "form" => {
            let fields = value.get("req_body_form").and_then(Value::as_array);
            let fields = fields.cloned().unwrap_or_default();
            if fields.is_empty() {
                return None;
            }
            let named = fields
                .iter()
                .filter_map(|field| Some((field.get("name")?.as_str()?, is_required(field))));
            let schema = form_schema(named);
            let required = fields.iter().any(is_required);
            if let Some(list) = value.get_mut("req_body_form") {
                *list = schema;
            }
            let at = place.at("req_body_form");
            let of = |range| media(range, Some(Schema::new(at.clone(), Side::Request)), None);
            let media = vec![of("application/x-www-form-urlencoded"), of("multipart/form-data")];
            Some(RequestBody { required, media })
        }
        "json" if is_set(value, "req_body_is_json_schema") => {
            let schema = schema_in(all, value, "req_body_other", place, Side::Request)?;
            let media = vec![media("application/json", Some(schema), None)];
            Some(RequestBody { required: false, media })
        }
        // YApi has no schema for other bodies.
        _ => None,
    }
}

fn response_body(all: &mut Collected, value: &mut Value, place: &Place) -> Option<Media> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, body, at) = (text("res_body_type"), text("res_body"), place.at("res_body"));
    if body.trim().is_empty() {
        return None;
    }
    let range = match kind.as_str() {
        "json" | "" if is_set(value, "res_body_is_json_schema") => {
            let schema = schema_in(all, value, "res_body", place, Side::Response);
            return Some(media("application/json", schema, None));
        }
        "json" | "" => {
            let read = value_in(all, &body, &at)?;
            let mut notes = Vec::new();
            let shown = format!("{}#{}", at.file, at.pointer);
            let template = Template::read(&read, &shown, &mut notes);
            let told =
                |(within, why): (String, String)| format!("in the template at `{within}`: {why}");
            notes.into_iter().for_each(|note| all.warn(&at.pointer, told(note)));
            let template = match template {
                Ok(template) => template,
                Err(wrong) => {
                    wrong.into_iter().for_each(|note| all.wrong(at.error(told(note))));
                    return None;
                }
            };
            let example = match template.is_plain() {
                true => Example::Value(read.into()),
                false => Example::Template(template),
            };
            return Some(media("application/json", None, Some(example)));
        }
        "xml" => "application/xml",
        "html" => "text/html",
        _ => "text/plain",
    };
    Some(media(range, None, Some(Example::Text(body))))
}

/// The value written as text at a place; each problem in it is noted.
fn value_in(all: &mut Collected, text: &str, at: &Place) -> Option<Value> {
    let read = lenient::read(text);
    read.map_err(|wrong| wrong.into_iter().for_each(|why| all.wrong(at.error(why)))).ok()
}

/// The schema written as text at `key`; it replaces the text.
fn schema_in(
    all: &mut Collected,
    value: &mut Value,
    key: &str,
    place: &Place,
    side: Side,
) -> Option<Schema> {
    let at = place.at(key);
    let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        return None;
    }
    let mut read = value_in(all, text, &at)?;
    if !read.is_object() && !read.is_boolean() {
        all.wrong(at.error("a schema is an object"));
        return None;
    }
    plain(&mut read);
    rebase(&mut read, &at.pointer);
    normalise(&mut read);
    if let Some(own) = value.get_mut(key) {
        *own = read;
    }
    Some(Schema::new(at, side))
}

/// Rewrites references within a schema to its place in the export.
fn rebase(value: &mut Value, pointer: &str) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(own) = reference.strip_prefix('#')
            {
                *reference = format!("#{pointer}{own}");
            }
            members.values_mut().for_each(|member| rebase(member, pointer));
        }
        Value::Array(all) => all.iter_mut().for_each(|element| rebase(element, pointer)),
        _ => {}
    }
}

/// Removes keywords that would make a schema a document of its own, and dangling references.
pub(super) fn plain(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for key in ["$schema", "$id"] {
                members.remove(key);
            }
            if members.get("id").is_some_and(Value::is_string) && members.contains_key("type") {
                members.remove("id");
            }
            members.values_mut().for_each(plain);
        }
        Value::Array(all) => all.iter_mut().for_each(plain),
        _ => {}
    }
}
