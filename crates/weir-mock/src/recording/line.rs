//! An exchange as members of a line of the access log, and back. The line has no secrets, by the
//! rules that definitions made of recordings have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::exchange::{RecordedBody, RecordedExchange};
use super::secret::{self, REDACTED};
use super::{example, path};
use crate::request::form_pairs;

impl RecordedExchange {
    /// Members of a line of the access log, which take the places of those of the same name.
    pub fn line(&self) -> Map<String, Value> {
        let message = |fields: &[(String, String)], body: &Option<RecordedBody>| {
            let body = body.as_ref().map(written);
            json!({ "headers": headers(fields), "body": body })
        };
        let query = Some(&self.query).filter(|query| !query.is_empty());
        let members = [
            ("method", json!(self.method)),
            ("path", json!(self.path)),
            ("query", json!(query)),
            ("request", message(&self.request_fields, &self.request)),
            ("response", message(&self.fields, &self.response)),
        ];
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        let mut members = members.collect();
        mask_address(&mut members);
        members
    }

    /// The exchange that a line of the access log tells of; `None` if it has no whole response of
    /// an upstream.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn of_line(line: &Value) -> Result<Option<Self>, String> {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        let needed = |key: &str| text(key).ok_or_else(|| format!("`{key}` is missing"));
        let (method, path) = (needed("method")?.to_owned(), needed("path")?.to_owned());
        let status = line.get("status").and_then(Value::as_u64);
        let status = status.and_then(|status| u16::try_from(status).ok());
        let status = status.ok_or("`status` is no status")?;
        let Some(response) = line.get("response").filter(|one| one.is_object()) else {
            return Ok(None);
        };
        if !is_answer(status) || text("error").is_some() {
            return Ok(None);
        }
        let (request_fields, request) = match line.get("request") {
            Some(request) => read(request).map_err(|why| format!("`request`: {why}"))?,
            None => (Vec::new(), None),
        };
        let (fields, response) = read(response).map_err(|why| format!("`response`: {why}"))?;
        let query = text("query").unwrap_or_default().to_owned();
        Ok(Some(Self { method, path, query, request_fields, request, status, fields, response }))
    }
}

/// Masks the secrets in `path` and `query` of a line, as of one without an exchange.
pub fn mask_address(members: &mut Map<String, Value>) {
    if let Some(Value::String(path)) = members.get_mut("path") {
        *path = path::masked(path);
    }
    if let Some(Value::String(query)) = members.get_mut("query") {
        *query = masked(query, secret::is_parameter);
    }
}

/// Whether a response of this status answers other clients too. A part of a content, or that the
/// client has it, does not.
pub fn is_answer(status: u16) -> bool {
    (200..=999).contains(&status) && !matches!(status, 206 | 304)
}

/// Fields by their names in lower case; those with many lines are lists.
fn headers(fields: &[(String, String)]) -> Value {
    let mut all: Map<String, Value> = Map::new();
    for (name, value) in fields {
        let is_secret = secret::is_name(name) || secret::is_text(value);
        let value = Value::from(if is_secret { REDACTED } else { value });
        let name = name.to_ascii_lowercase();
        match all.get_mut(&name) {
            None => _ = all.insert(name, value),
            Some(Value::Array(lines)) => lines.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
        }
    }
    Value::Object(all)
}

fn written(body: &RecordedBody) -> Value {
    let Some(content) = &body.content else {
        return json!({ "leftOut": "too long, or in an unknown coding" });
    };
    let (range, text) = (example::range(&body.media_type), std::str::from_utf8(content).ok());
    if example::is_json(&range)
        && let Ok(mut value) = serde_json::from_slice::<Value>(content)
    {
        secret::redact(&mut value);
        return json!({ "text": value.to_string() });
    }
    if range == example::FORM
        && let Some(text) = text
    {
        let is_secret = |name: &str, value: &str| secret::is_name(name) || secret::is_text(value);
        return json!({ "text": masked(text, is_secret) });
    }
    if secret::is_suspect(&String::from_utf8_lossy(content)) {
        return json!({ "leftOut": "it may hold a secret" });
    }
    match text {
        Some(text) => json!({ "text": text }),
        None => json!({ "base64": STANDARD.encode(content) }),
    }
}

/// A query or form with something else in the places of secrets.
fn masked(pairs: &str, is_secret: impl Fn(&str, &str) -> bool) -> String {
    let each = pairs.split('&').map(|pair| {
        let decoded = form_pairs(pair.as_bytes());
        match decoded.first() {
            Some((name, value)) if is_secret(name, value) => match pair.split_once('=') {
                Some((name, _)) => format!("{name}={REDACTED}"),
                // Without a name it is the secret.
                None if secret::is_in_address(name) => REDACTED.to_owned(),
                None => pair.to_owned(),
            },
            Some((name, _)) if secret::is_in_address(name) => REDACTED.to_owned(),
            _ => pair.to_owned(),
        }
    });
    each.collect::<Vec<_>>().join("&")
}

type Message = (Vec<(String, String)>, Option<RecordedBody>);

/// The fields and the body of a message.
fn read(message: &Value) -> Result<Message, String> {
    let mut fields = Vec::new();
    for (name, value) in message.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let lines = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for line in lines {
            let line = line.as_str().ok_or_else(|| format!("header `{name}` is no text"))?;
            fields.push((name.clone(), line.to_owned()));
        }
    }
    let media_type = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let media_type = media_type.map(|(_, value)| value.clone()).unwrap_or_default();
    let Some(body) = message.get("body").filter(|body| !body.is_null()) else {
        return Ok((fields, None));
    };
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let content = match (text("text"), text("base64"), text("leftOut")) {
        (Some(text), _, _) => Some(text.as_bytes().to_vec()),
        (None, Some(coded), _) => {
            Some(STANDARD.decode(coded).map_err(|error| format!("no base64: {error}"))?)
        }
        (None, None, Some(_)) => None,
        (None, None, None) => {
            return Err("a body has `text`, `base64` or `leftOut`".to_owned());
        }
    };
    Ok((fields, Some(RecordedBody { media_type, content })))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{RecordedBody, RecordedExchange};

    fn body(media_type: &str, content: Option<&[u8]>) -> Option<RecordedBody> {
        let content = content.map(<[u8]>::to_vec);
        Some(RecordedBody { media_type: media_type.to_owned(), content })
    }

    fn line(exchange: &RecordedExchange) -> Value {
        let mut line = json!({ "status": exchange.status, "error": null });
        line.as_object_mut().expect("an object").extend(exchange.line());
        line
    }

    /// The body as the line has it.
    fn check(media_type: &str, content: Option<&[u8]>, expected: &Value) {
        let (status, response) = (200, body(media_type, content));
        let own = RecordedExchange { status, response, ..RecordedExchange::default() };
        assert_eq!(&line(&own)["response"]["body"], expected, "{media_type} {content:?}");
    }

    #[test]
    fn bodies_are_text_or_base64_and_without_secrets() {
        check("application/json", Some(b"{\"a\": 1}"), &json!({ "text": "{\"a\":1}" }));
        let expected = json!({ "text": "{\"pwd\":\"redacted\",\"a\":\"redacted\"}" });
        check("text/json", Some(br#"{"pwd":"x","a":"Bearer x"}"#), &expected);
        // What is seen of the first one is not what is checked.
        let twice = br#"{"a":{"token":"x"},"a":1}"#;
        check("application/json", Some(twice), &json!({ "text": "{\"a\":1}" }));
        let form = "application/x-www-form-urlencoded";
        let expected = json!({ "text": "user=a+b&pass%77ord=redacted" });
        check(form, Some(b"user=a+b&pass%77ord=hunter2"), &expected);
        let secret = json!({ "leftOut": "it may hold a secret" });
        check("text/html", Some(b"<input name=csrf_token value=1>"), &secret);
        check("application/json", Some(b"{\"token\": \"broken"), &secret);
        check("multipart/form-data; boundary=x", Some(b"name=\"password\"\r\n\r\n\xff"), &secret);
        check("image/png", Some(b"\x89PNG"), &json!({ "base64": "iVBORw==" }));
        check("text/plain", Some("中".as_bytes()), &json!({ "text": "中" }));
        let left_out = json!({ "leftOut": "too long, or in an unknown coding" });
        check("text/plain", None, &left_out);
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = RecordedExchange {
            method: "POST".to_owned(),
            path: "/users/7".to_owned(),
            query: "page=2&x".to_owned(),
            request_fields: vec![field("content-type", "text/plain"), field("accept", "*/*")],
            request: body("text/plain", Some(b"hello")),
            status: 201,
            fields: vec![field("link", "<a>"), field("link", "<b>"), field("content-type", "a/b")],
            response: body("a/b", Some(b"\xff\x00")),
        };
        assert_eq!(RecordedExchange::of_line(&line(&own)), Ok(Some(own)));
    }

    #[test]
    fn secrets_of_heads_are_masked() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = RecordedExchange {
            path: "/mail/eyJhbGciOi.eyJzdWIi.c2ln/x".to_owned(),
            query: "api_key=hunter2&page=1&next=Bearer+hunter2".to_owned(),
            request_fields: vec![
                field("Authorization", "Basic hunter2"),
                field("Cookie", "a=hunter2"),
                field("Referer", "https://a/?token=hunter2"),
                field("X-Page", "1"),
            ],
            fields: vec![field("Set-Cookie", "a=hunter2"), field("Set-Cookie", "b=hunter2")],
            status: 200,
            ..RecordedExchange::default()
        };
        let line = line(&own);
        assert!(!line.to_string().contains("hunter2"), "{line}");
        assert_eq!(line["path"], "/mail/redacted/x");
        assert_eq!(line["query"], "api_key=redacted&page=1&next=redacted");
        assert_eq!(line["request"]["headers"]["x-page"], "1");
        assert_eq!(line["response"]["headers"]["set-cookie"], json!(["redacted", "redacted"]));
    }

    #[test]
    fn a_line_without_an_answer_is_no_exchange() {
        let of = |line: &Value| RecordedExchange::of_line(line).map(|own| own.is_some());
        let with =
            |status: u16| json!({ "method": "GET", "path": "/", "status": status, "response": {} });
        assert_eq!(of(&with(200)), Ok(true));
        assert_eq!(of(&with(304)), Ok(false));
        assert_eq!(of(&json!({ "method": "GET", "path": "/", "status": 404 })), Ok(false));
        assert_eq!(of(&json!({ "path": "/" })), Err("`method` is missing".to_owned()));
        let mut broken = with(200);
        broken["response"] = json!({ "body": { "base64": "%" } });
        assert!(of(&broken).is_err_and(|why| why.starts_with("`response`: no base64")));
    }
}
