//! Parameters and bodies as they are sent: what samples of requests and callbacks have in common.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::definition::{Media, Parameter, Style};
use crate::request::body::is_json;
use crate::respond::text::text_of;

/// What stays as it is in values of a path or query (RFC 3986, 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The media type that is sent: JSON if that is one.
pub(crate) fn preferred(all: &[Media]) -> Option<&Media> {
    all.iter().find(|media| is_json(&media.range)).or_else(|| all.first())
}

/// Percent-encoded, for a path or query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A value as text, its parts joined as `style` says, each written by `write`.
fn joined(parameter: &Parameter, value: &Value, write: &dyn Fn(&str) -> String) -> String {
    let between = match parameter.style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::TabDelimited => "%09",
        _ => ",",
    };
    match value {
        _ if parameter.style == Style::Json => write(&value.to_string()),
        Value::Array(all) => {
            all.iter().map(|one| write(&text_of(one))).collect::<Vec<_>>().join(between)
        }
        Value::Object(members) => {
            let mark = if parameter.explode { "=" } else { "," };
            let each = members.iter();
            let each =
                each.map(|(name, one)| format!("{}{mark}{}", write(name), write(&text_of(one))));
            each.collect::<Vec<_>>().join(between)
        }
        scalar => write(&text_of(scalar)),
    }
}

/// A value in a header or cookie.
pub(crate) fn plain(parameter: &Parameter, value: &Value) -> String {
    joined(parameter, value, &str::to_owned)
}

pub(crate) fn in_path(parameter: &Parameter, value: &Value) -> String {
    let text = joined(parameter, value, &encoded);
    match parameter.style {
        Style::Label => format!(".{text}"),
        Style::Matrix => format!(";{}={text}", encoded(&parameter.name)),
        _ => text,
    }
}

/// The pairs of a value in a query.
pub(crate) fn in_query(parameter: &Parameter, value: &Value) -> Vec<(String, String)> {
    let name = encoded(&parameter.name);
    let pair = |name: String, value: &Value| (name, encoded(&text_of(value)));
    match value {
        Value::Array(all) if parameter.explode => {
            all.iter().map(|one| pair(name.clone(), one)).collect()
        }
        Value::Object(members) if parameter.style == Style::Form && parameter.explode => {
            members.iter().map(|(own, one)| pair(encoded(own), one)).collect()
        }
        Value::Object(members) if parameter.style == Style::DeepObject => members
            .iter()
            .map(|(own, one)| pair(format!("{name}%5B{}%5D", encoded(own)), one))
            .collect(),
        value => vec![(name, joined(parameter, value, &encoded))],
    }
}
