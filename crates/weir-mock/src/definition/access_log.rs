//! The access log of weir with bodies (`weir.access-log.bodies`): its exchanges become the OpenAPI
//! document that a live recording of them would have become.

use std::sync::Arc;

use serde_json::Value;

use super::documents::{FILE_BYTES_MAX, Place, ReadErrors};
use crate::recording::{RecordedExchange, recorded_definition};

/// The members that every line has.
const MEMBERS: &[&str] = &["time", "method", "path", "status", "us"];

/// Whether a text is an access log in JSON, by its first line.
pub fn is_access_log(text: &str) -> bool {
    let first = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty());
    // Other documents may be one long line, which is not parsed twice.
    let Some(first) = first.filter(|line| line.starts_with("{\"time\":")) else { return false };
    let line: Option<Value> = serde_json::from_str(first).ok();
    line.is_some_and(|line| MEMBERS.iter().all(|name| line.get(name).is_some()))
}

/// The document that the log `text` becomes. Lines without a whole response of an upstream are left
/// out and counted in its description.
pub(super) fn document(file: &str, text: &str) -> Result<Value, ReadErrors> {
    let root = Place::root(file);
    if text.len() > FILE_BYTES_MAX {
        return Err(root.error("the access log is larger than 64 MB; take a part of it").into());
    }
    let text = text.trim_start_matches('\u{feff}');
    let (mut exchanges, mut left_out) = (Vec::new(), 0_usize);
    let mut errors = ReadErrors::default();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let read = serde_json::from_str(line).map_err(|error| error.to_string());
        match read.and_then(|line| RecordedExchange::of_line(&line)) {
            Ok(Some(exchange)) => exchanges.push(Arc::new(exchange)),
            Ok(None) => left_out += 1,
            // The last line is still being written.
            Err(_) if !line.ends_with('\n') => left_out += 1,
            Err(why) => errors.push(root.error(format!("line {}: {why}", at + 1))),
        }
    }
    if !errors.0.is_empty() {
        return Err(errors);
    }
    let Some(mut made) = recorded_definition(file, &exchanges) else {
        return Err(root
            .error(
                "no line of this access log has the response of an upstream; log bodies with \
                 `weir.access-log.bodies: 16KB`",
            )
            .into());
    };
    if let Some(info) = made.document.get_mut("info").and_then(Value::as_object_mut) {
        let mut told = format!("Made of {} exchanges in an access log.", exchanges.len());
        if left_out > 0 {
            told += &format!(" Lines without a whole response of an upstream: {left_out}.");
        }
        info.insert("description".to_owned(), told.into());
    }
    Ok(made.document)
}
