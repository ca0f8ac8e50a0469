//! Timeouts in the metadata of a route or group.

use serde_json::{Map, Value};
use weir_snapshot::RouteTimeouts;

use super::problem::{Part, Problem};
use crate::diagnostic::Code;
use crate::value;

pub(super) fn timeouts(
    metadata: &Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> RouteTimeouts {
    let connect = metadata.get("connect-timeout").and_then(|written| {
        let text = text_of(written);
        let millis = value::duration(&text).filter(|duration| !duration.is_zero());
        if millis.is_none() {
            problems.push(Problem::new(
                Code::InvalidValue,
                Part::Metadata("connect-timeout".to_owned()),
                format!("`{text}` is not a connect-timeout"),
                "write milliseconds, such as `2000`, or a duration such as `2s`",
            ));
        }
        millis
    });
    let response = metadata.get("response-timeout").and_then(|written| {
        let text = text_of(written);
        // A negative number disables the global timeout; an invalid one keeps it (scg.md 4.4).
        match text.trim().strip_prefix('-') {
            Some(rest) if value::duration(rest).is_some() => Some(None),
            _ => value::duration(&text).map(Some),
        }
    });
    RouteTimeouts { connect, response }
}

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
