//! A request as JSON, in the words of httpbin.org.

use std::net::SocketAddr;

use http::request::Parts;
use http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

/// The JSON of httpbin for a request at `/anything`.
pub(crate) fn reflect(parts: &Parts, peer: SocketAddr, body: &[u8]) -> Value {
    let Value::Object(mut all) = reflect_head(parts, peer) else { return Value::Null };
    let text = String::from_utf8_lossy(body).into_owned();
    all.insert("json".to_owned(), serde_json::from_str(&text).unwrap_or_default());
    all.insert("data".to_owned(), text.into());
    all.insert("method".to_owned(), parts.method.as_str().into());
    Value::Object(all)
}

/// The JSON of httpbin for a request without body, as at `/get`.
pub(crate) fn reflect_head(parts: &Parts, peer: SocketAddr) -> Value {
    json!({
        "args": args(&parts.uri),
        "headers": headers(&parts.headers),
        "origin": peer.ip().to_string(),
        "url": url(parts),
    })
}

/// Fields with their names in title case; values of the same name are joined with a comma.
pub(crate) fn headers(fields: &HeaderMap) -> Value {
    let mut all = Map::new();
    for name in fields.keys() {
        let values: Vec<_> = fields
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        all.insert(title_case(name.as_str()), values.join(",").into());
    }
    Value::Object(all)
}

/// Query parameters by name; a repeated one has a list of values.
fn args(uri: &Uri) -> Value {
    let mut all = Map::new();
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = Value::from(decoded(value));
        match all.get_mut(&decoded(name)) {
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = json!([first.take(), value]),
            None => {
                all.insert(decoded(name), value);
            }
        }
    }
    Value::Object(all)
}

/// The value of the first query parameter called `name`.
pub(crate) fn query_value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

fn url(parts: &Parts) -> String {
    let host = parts.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let host = parts.uri.authority().map(|authority| authority.as_str()).or(host);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    format!("http://{}{path}", host.unwrap_or_default())
}

fn title_case(name: &str) -> String {
    let mut start = true;
    let upper = |letter: char| {
        let letter = if start { letter.to_ascii_uppercase() } else { letter };
        start = letter == '-';
        letter
    };
    name.chars().map(upper).collect()
}
