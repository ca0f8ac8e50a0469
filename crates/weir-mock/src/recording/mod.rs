//! From recorded traffic to a definition: exchanges with an upstream become an OpenAPI document
//! with examples, and rules that tell which request gets which of them.
//!
//! Secrets do not get into the document ([`secret`]). Who records is in `weir-server`.

mod example;
mod exchange;
mod line;
mod operation;
mod path;
mod secret;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use exchange::Tally;
pub use exchange::{RecordedBody, RecordedExchange};
pub use line::{is_answer, mask_address};
use operation::Recorded;
use path::Template;
pub use secret::is_parameter as is_secret;

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
