//! A recorded body as an example: read, and without its secrets.

use serde_json::{Map, Value};

use super::exchange::RecordedBody;
use super::secret;
use crate::request::form_pairs;

/// The media type of forms.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// A recorded body.
pub(super) struct Example {
    /// Its media type, without parameters.
    pub range: String,
    /// Its value; `None` if it is not known, is no text, or may hold a secret.
    pub value: Option<Value>,
    /// What a request like this holds: its JSON, without the secrets.
    pub condition: Option<Value>,
    /// Secrets that are not in it.
    pub secrets: usize,
}

/// Reads a body.
pub(super) fn read(body: &RecordedBody) -> Example {
    let range = range(&body.media_type);
    let mut example = Example { range, value: None, condition: None, secrets: 0 };
    let Some(content) = &body.content else { return example };
    if is_json(&example.range)
        && let Ok(mut value) = serde_json::from_slice::<Value>(content)
    {
        let mut condition = value.clone();
        secret::strip(&mut condition);
        example.condition = Some(condition);
        example.secrets = secret::redact(&mut value);
        example.value = Some(value);
    } else if example.range == FORM {
        let mut fields = Map::new();
        for (name, text) in form_pairs(content) {
            fields.insert(name, Value::String(text));
        }
        let mut value = Value::Object(fields);
        example.secrets = secret::redact(&mut value);
        example.value = Some(value);
    } else if is_text(&example.range)
        && let Ok(text) = std::str::from_utf8(content)
    {
        match secret::is_suspect(text) {
            true => example.secrets = 1,
            false => example.value = Some(Value::String(text.to_owned())),
        }
    }
    example
}

/// The media type without parameters.
pub(super) fn range(media_type: &str) -> String {
    let range = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if range.is_empty() { "application/octet-stream".to_owned() } else { range }
}

pub(super) fn is_json(range: &str) -> bool {
    matches!(range, "application/json" | "text/json") || range.ends_with("+json")
}

fn is_text(range: &str) -> bool {
    let plain = ["application/xml", "application/javascript", "application/yaml"];
    range.starts_with("text/")
        || plain.contains(&range)
        || range.ends_with("+xml")
        || range.ends_with("+yaml")
        || is_json(range)
}
