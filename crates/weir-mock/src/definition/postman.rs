//! Collections of Postman, version 2.0 and 2.1: requests with their saved answers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::collect::{Collected, braces, operation};
use super::documents::{Place, ReadError, ReadErrors};
use super::har::{body_condition, kept};
use super::model::{Api, Code, Kind, Recording, Response};
use crate::request::{Condition, form_pairs};

const ITEM_KEYS: &[&str] = &[
    "name",
    "description",
    "id",
    "uid",
    "_postman_id",
    "item",
    "request",
    "response",
    "variable",
    "_postman_isSubFolder",
    "protocolProfileBehavior",
];

/// Values of `{{name}}`.
type Variables = BTreeMap<String, String>;

/// A URL of a request.
#[derive(Default)]
struct Url {
    /// With `:id` as `{id}`.
    path: String,
    query: Vec<(String, String)>,
    /// Values of the variables of the path.
    values: Vec<(String, String)>,
}

/// Reads the collection `root`.
pub(super) fn read(name: &str, file: &str, root: &Value) -> Result<Api, ReadErrors> {
    let mut all = Collected::default();
    let mut variables = Variables::new();
    for one in root.get("variable").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| one.get(key).and_then(Value::as_str);
        if let (Some(key), Some(value)) = (text("key").or(text("id")), text("value")) {
            variables.insert(key.to_owned(), value.to_owned());
        }
    }
    let place = Place::root(file);
    scripts_and_credentials(&mut all, root, &place);
    items(&mut all, root, &place, &variables);
    let mut bases = vec![String::new()];
    for value in variables.values().filter(|value| value.contains("://")) {
        let path = path_of(value).0.trim_end_matches('/').to_owned();
        if !path.is_empty() && !bases.contains(&path) {
            bases.push(path);
        }
    }
    let title = root.pointer("/info/name").and_then(Value::as_str);
    all.finish((Kind::Postman, name, file), title, bases, Value::Null)
}

/// JSON that is read lies at most 128 deep, and so do folders.
fn items(all: &mut Collected, folder: &Value, place: &Place, variables: &Variables) {
    let list = folder.get("item").and_then(Value::as_array);
    for (at, item) in list.into_iter().flatten().enumerate() {
        let place = place.at("item").at(&at.to_string());
        scripts_and_credentials(all, item, &place);
        let known: Vec<&str> = ITEM_KEYS.iter().copied().chain(["event", "auth"]).collect();
        all.unknown(item, &place.pointer, &known);
        if item.get("item").is_some() {
            items(all, item, &place, variables);
        } else {
            request(all, item, &place, variables);
        }
    }
}

fn scripts_and_credentials(all: &mut Collected, value: &Value, place: &Place) {
    if value.get("event").and_then(Value::as_array).is_some_and(|events| !events.is_empty()) {
        all.warn(&place.at("event").pointer, "scripts are not run");
    }
    if value.get("auth").is_some_and(|auth| !auth.is_null()) {
        all.warn(&place.at("auth").pointer, "credentials are not asked for");
    }
}

fn request(all: &mut Collected, item: &Value, place: &Place, variables: &Variables) {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let at = place.at("request");
    let (method, url) = match item.get("request") {
        None => (None, Err(at.error("an item needs a `request`"))),
        Some(url @ Value::String(_)) => (None, Ok(url_of(url, variables))),
        Some(value) => {
            let url = value.get("url").and_then(|url| url_of(url, variables));
            (text(value, "method"), Ok(url))
        }
    };
    let method = method.unwrap_or_else(|| "GET".to_owned());
    let url = url.and_then(|url| url.ok_or_else(|| at.at("url").error("a request needs a `url`")));
    // What is saved is checked all the same.
    let url = all.noted(url).unwrap_or_default();
    let summary = text(item, "name").unwrap_or_default();
    let saved = item.get("response").and_then(Value::as_array);
    for (n, answer) in saved.into_iter().flatten().enumerate() {
        let at = place.at("response").at(&n.to_string());
        let read = answered(answer, &url, variables, &at);
        let Some(recording) = all.noted(read) else { continue };
        all.record((&method, &url.path, &summary), recording, false, &at.pointer);
    }
    if saved.is_none_or(Vec::is_empty) {
        all.warn(&place.pointer, "no answer is saved, so it answers 200 without a body");
        let mut own = operation(&method, &url.path, &summary);
        let empty = Response { code: Code::Exact(200), media: Vec::new(), headers: Vec::new() };
        own.responses.push(empty);
        all.add(own);
    }
}

/// A saved answer, with the request that it was given to.
fn answered(
    answer: &Value,
    url: &Url,
    variables: &Variables,
    place: &Place,
) -> Result<Recording, ReadError> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let status = match answer.get("code").filter(|code| !code.is_null()) {
        None => 200,
        Some(code) => {
            let number = code.as_u64().and_then(|code| u16::try_from(code).ok());
            let number = number.filter(|code| (200..=999).contains(code));
            number.ok_or_else(|| place.at("code").error(format!("`{code}` is no status")))?
        }
    };
    let mut when = Condition::default();
    if let Some(original) = answer.get("originalRequest") {
        if let Some(own) = original.get("url").and_then(|url| url_of(url, variables)) {
            when.path = values(&url.path, &own);
            when.query = own.query;
        }
        let body = original.pointer("/body/raw").and_then(Value::as_str);
        let body = body.filter(|body| !body.trim().is_empty());
        when.body = body.map(|body| body_condition(&filled(body, variables)));
    }
    let declared = answer.get("header").and_then(Value::as_array).into_iter().flatten();
    let mut declared = declared.filter_map(|field| {
        let text = |key: &str| field.get(key).and_then(Value::as_str);
        let is_it = text("key")?.eq_ignore_ascii_case("content-type");
        is_it.then(|| text("value").map(str::to_owned))?
    });
    let body = text("body").filter(|body| !body.is_empty());
    let media_type = declared.next_back().unwrap_or_else(|| {
        let language = text("_postman_previewlanguage").unwrap_or_default();
        let is_json = body.is_some_and(|body| serde_json::from_str::<Value>(body).is_ok());
        match language {
            "xml" => "application/xml",
            "html" => "text/html",
            _ if is_json => "application/json",
            _ => "text/plain",
        }
        .to_owned()
    });
    Ok(Recording {
        when,
        status,
        fields: kept(answer.get("header"), "key"),
        name: text("name").unwrap_or_default().to_owned(),
        content: body.map(|body| (media_type, body.as_bytes().to_vec())),
    })
}

/// The values of the path variables in a saved request.
fn values(template: &str, own: &Url) -> Vec<(String, String)> {
    let (names, texts): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), own.path.split('/').collect());
    if names.len() != texts.len() {
        return Vec::new();
    }
    let pairs = names.iter().zip(&texts).filter_map(|(name, text)| {
        let name = name.strip_prefix('{')?.strip_suffix('}')?;
        let given = own.values.iter().find(|(own, _)| own == name);
        let value = match given {
            Some((_, value)) => value.clone(),
            None if text.starts_with('{') => return None,
            None => (*text).to_owned(),
        };
        (!value.is_empty() && !value.contains("{{")).then(|| (name.to_owned(), value))
    });
    pairs.collect()
}

/// A URL as a text, or in its parts.
fn url_of(url: &Value, variables: &Variables) -> Option<Url> {
    if let Some(raw) = url.as_str() {
        let (path, query) = path_of(raw);
        let path = braces(&named(path, variables));
        return Some(Url { path, query: pairs(query, variables), values: Vec::new() });
    }
    let path = match url.get("path") {
        Some(Value::Array(parts)) => {
            let parts = parts.iter().map(|part| {
                part.as_str().or_else(|| part.get("value")?.as_str()).unwrap_or_default()
            });
            format!("/{}", parts.collect::<Vec<_>>().join("/"))
        }
        Some(Value::String(path)) => path.clone(),
        _ => path_of(url.get("raw")?.as_str()?).0.to_owned(),
    };
    let list = |key: &str| url.get(key).and_then(Value::as_array).into_iter().flatten();
    let pair = |one: &Value| {
        let text = |key: &str| one.get(key).and_then(Value::as_str);
        let is_off = one.get("disabled") == Some(&Value::Bool(true));
        let value = filled(text("value").unwrap_or_default(), variables);
        (!is_off).then_some((text("key")?.to_owned(), value))
    };
    let query = list("query").filter_map(pair).filter(|(_, value)| !value.contains("{{"));
    Some(Url {
        path: braces(&named(&path, variables)),
        query: query.collect(),
        values: list("variable").filter_map(pair).collect(),
    })
}

fn pairs(query: &str, variables: &Variables) -> Vec<(String, String)> {
    let all = form_pairs(filled(query, variables).as_bytes());
    all.into_iter().filter(|(_, value)| !value.contains("{{")).collect()
}

/// Path and query of a URL; the text before the first slash is a host.
fn path_of(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    (before.find('/').and_then(|at| before.get(at..)).unwrap_or("/"), query)
}

/// A text with the variables that have values.
fn filled(text: &str, variables: &Variables) -> String {
    replaced(text, |name| variables.get(name).cloned())
}

/// A path in which variables without values are variables of the path.
fn named(path: &str, variables: &Variables) -> String {
    replaced(path, |name| {
        let known = variables.get(name).filter(|value| !value.contains(['{', '}']));
        Some(known.cloned().unwrap_or_else(|| format!("{{{name}}}")))
    })
}

fn replaced(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, next)) = after.split_once("}}") else {
            rest = after;
            out.push_str("{{");
            break;
        };
        out.push_str(&value(name.trim()).unwrap_or_else(|| format!("{{{{{name}}}}}")));
        rest = next;
    }
    out + rest
}
