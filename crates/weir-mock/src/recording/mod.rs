//! From recorded traffic to a definition: exchanges with an upstream become an OpenAPI document
//! with examples, and rules that tell which request gets which of them.
//!
//! Secrets do not get into the document ([`secret`]). Who records is in `weir-server`.

mod example;
mod operation;
mod path;
mod secret;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use operation::Recorded;
use path::Template;

/// One request to an upstream, and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedExchange {
    /// Method, in capital letters.
    pub method: String,
    /// Path, as the upstream saw it.
    pub path: String,
    /// Query without `?`.
    pub query: String,
    /// Body of the request, if it had one.
    pub request: Option<RecordedBody>,
    /// Status of the response.
    pub status: u16,
    /// Header fields of the response.
    pub fields: Vec<(String, String)>,
    /// Body of the response, if it had one.
    pub response: Option<RecordedBody>,
}

/// The body of a recorded message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedBody {
    /// The whole Content-Type.
    pub media_type: String,
    /// The content without codings; `None` if it was too long, or cannot be decoded.
    pub content: Option<Vec<u8>>,
}

/// A definition that was made from a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedDefinition {
    /// An OpenAPI 3.1 document.
    pub document: Value,
    /// Operations in it.
    pub operations: usize,
    /// Examples of responses in it.
    pub examples: usize,
    /// Values that were replaced, and bodies that were left out, as they are or may hold secrets.
    pub secrets: usize,
}

/// What was counted while a definition was made.
#[derive(Default)]
struct Tally {
    examples: usize,
    secrets: usize,
}

/// The definition that answers as these exchanges went; `None` if there is none that a definition
/// can tell of.
pub fn recorded_definition(
    title: &str,
    exchanges: &[Arc<RecordedExchange>],
) -> Option<RecordedDefinition> {
    const METHODS: &[&str] = &["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];
    let mut paths: BTreeMap<String, BTreeMap<&str, Vec<Recorded<'_>>>> = BTreeMap::new();
    for exchange in exchanges.iter().filter(|one| METHODS.contains(&one.method.as_str())) {
        let Template { text, values } = path::template(&exchange.path);
        let own = paths.entry(text).or_default().entry(&exchange.method).or_default();
        own.push(Recorded { exchange, values });
    }
    let mut tally = Tally::default();
    let mut operations = 0;
    let mut items = Map::new();
    for (path, methods) in paths {
        let mut item = Map::new();
        for (method, recorded) in methods {
            operations += 1;
            item.insert(method.to_ascii_lowercase(), operation::write(&recorded, &mut tally));
        }
        items.insert(path, Value::Object(item));
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": { "title": title, "version": "recorded" },
        "paths": items,
    });
    let Tally { examples, secrets } = tally;
    (operations > 0).then_some(RecordedDefinition { document, operations, examples, secrets })
}

#[cfg(test)]
mod tests;
