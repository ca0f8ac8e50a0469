//! HTTP archives (HAR 1.2): each entry is a request and the answer that it got.

use base64::Engine;
use serde_json::Value;

use super::collect::Collected;
use super::documents::{Place, ReadError, ReadErrors};
use super::model::{Api, Kind, Recording};
use crate::recording::{RecordedBody, RecordedExchange};
use crate::request::{BodyCondition, Condition, form_pairs};

/// Reads the archive `root`.
pub(super) fn read(name: &str, file: &str, root: &Value) -> Result<Api, ReadErrors> {
    let mut all = Collected::default();
    let place = Place::root(file).at("log").at("entries");
    let entries = root.pointer("/log/entries").and_then(Value::as_array);
    let mut first_host = None;
    for (at, value) in entries.into_iter().flatten().enumerate() {
        let Some(host) = entry(&mut all, value, &place.at(&at.to_string())) else { continue };
        let first = first_host.get_or_insert_with(|| host.clone());
        if *first != host {
            let message = format!("`{host}` is served together with `{first}`, by path alone");
            all.warn(&place.at(&at.to_string()).pointer, message);
            // Once is enough.
            first_host = Some(host);
        }
    }
    all.finish((Kind::Har, name, file), None, vec![String::new()], Value::Null)
}

/// Adds one entry; returns its host.
fn entry(all: &mut Collected, value: &Value, place: &Place) -> Option<String> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let url = text("/request/url");
    let url = url.ok_or_else(|| place.at("request").at("url").error("an entry needs a `url`"));
    let response = content(value, place);
    let (url, response) = (all.noted(url), all.noted(response).flatten());
    let url = url?;
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        let scheme = url.split(':').next().unwrap_or_default();
        all.warn(&place.pointer, format!("`{scheme}:` asks no server, so the entry is left out"));
        return None;
    }
    let method = text("/request/method").unwrap_or("GET");
    let (host, path, query) = parts(url);
    let status = value.pointer("/response/status").and_then(Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok());
    let Some(status) = status.filter(|status| (200..=999).contains(status)) else {
        all.warn(&place.pointer, "there was no answer, so the entry is left out");
        return Some(host);
    };
    let exchange = RecordedExchange {
        method: method.to_owned(),
        path,
        query: query.to_owned(),
        request_fields: Vec::new(),
        request: posted(value),
        status,
        fields: kept(value.pointer("/response/headers"), "name"),
        response,
    };
    let name = format!("entry-{}", place.pointer.rsplit('/').next().unwrap_or_default());
    let key = (exchange.method.as_str(), exchange.path.as_str(), "");
    all.record(key, replayed(&exchange, name), true, &place.pointer);
    Some(host)
}

/// The answer that is given again, and the request that gets it.
fn replayed(exchange: &RecordedExchange, name: String) -> Recording {
    let sent = exchange.request.as_ref().and_then(|body| body.content.as_deref());
    let got = exchange.response.as_ref();
    Recording {
        when: Condition {
            query: form_pairs(exchange.query.as_bytes()),
            body: sent.map(|sent| body_condition(&String::from_utf8_lossy(sent))),
            ..Condition::default()
        },
        status: exchange.status,
        fields: exchange.fields.clone(),
        name,
        content: got.and_then(|body| Some((body.media_type.clone(), body.content.clone()?))),
    }
}

/// Host, path and query of a URL.
fn parts(url: &str) -> (String, String, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = match before.find('/') {
        Some(at) => before.split_at_checked(at).unwrap_or((before, "/")),
        None => (before, "/"),
    };
    // Braces in a recorded path are no variables.
    (host.to_owned(), path.replace('{', "%7B").replace('}', "%7D"), query)
}

fn posted(value: &Value) -> Option<RecordedBody> {
    let text = |key: &str| value.pointer(key).and_then(Value::as_str);
    let content = text("/request/postData/text").filter(|content| !content.is_empty())?;
    let media_type = text("/request/postData/mimeType").unwrap_or_default().to_owned();
    Some(RecordedBody { media_type, content: Some(content.as_bytes().to_vec()) })
}

/// JSON is compared by value, and everything else as it is.
pub(super) fn body_condition(text: &str) -> BodyCondition {
    match serde_json::from_str(text) {
        Ok(value) => BodyCondition::Equal(value),
        Err(_) => BodyCondition::Text(text.to_owned()),
    }
}

fn content(value: &Value, place: &Place) -> Result<Option<RecordedBody>, ReadError> {
    let Some(content) = value.pointer("/response/content") else { return Ok(None) };
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    let Some(body) = text("text").filter(|body| !body.is_empty()) else { return Ok(None) };
    let media_type = text("mimeType").filter(|media_type| !media_type.is_empty());
    let media_type = media_type.unwrap_or("application/octet-stream").to_owned();
    let body = match text("encoding") {
        None | Some("") => body.as_bytes().to_vec(),
        Some("base64") => {
            let decoded = base64::engine::general_purpose::STANDARD.decode(body);
            let at = place.at("response").at("content").at("text");
            decoded.map_err(|error| at.error(format!("no base64: {error}")))?
        }
        Some(other) => {
            let at = place.at("response").at("content").at("encoding");
            return Err(at.error(format!("`{other}` is not known; it is `base64` or missing")));
        }
    };
    Ok(Some(RecordedBody { media_type, content: Some(body) }))
}

/// Fields of a recorded answer that are sent again.
pub(super) fn kept(fields: Option<&Value>, name: &str) -> Vec<(String, String)> {
    let fields = fields.and_then(Value::as_array).into_iter().flatten();
    let fields = fields.filter_map(|field| {
        let text = |key: &str| field.get(key).and_then(Value::as_str);
        let name = text(name)?.to_owned();
        is_field_kept(&name).then(|| Some((name, text("value")?.to_owned())))?
    });
    fields.collect()
}

/// Whether a field of a recorded answer is sent again: those of one connection are not, nor what
/// the gateway itself says.
pub(crate) fn is_field_kept(name: &str) -> bool {
    const LEFT_OUT: &[&str] = &[
        "content-type",
        "content-length",
        "content-encoding",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "trailer",
        "upgrade",
        "date",
        "alt-svc",
    ];
    let lower = name.to_ascii_lowercase();
    let is_made_anew = ["access-control-", "weir-mock"].iter().any(|own| lower.starts_with(own));
    !is_made_anew && !LEFT_OUT.contains(&lower.as_str())
}
