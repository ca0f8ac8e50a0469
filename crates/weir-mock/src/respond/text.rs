//! Values as plain text.

use serde_json::Value;

/// A value as it stands in a header or form.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(all) => all.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
