//! Compression of all responses: `server.compression.*`.

use serde_json::Value;
use weir_route::{Arguments, NamedArgs};

use crate::source::Span;
use crate::spring::{self, Layers, Node};
use crate::value;

/// The filter for all routes, and the place of the property that enables it.
pub(crate) fn global(layers: &Layers<'_>) -> Option<(NamedArgs, Span)> {
    let text = |node: Node<'_>| layers.resolve(&node.text().unwrap_or_default()).0.into_owned();
    let switch = layers.find("server.compression.enabled")?;
    if value::bool(&text(switch)) != Some(true) {
        return None;
    }
    let mut args = Arguments::default();
    if let Some(node) = layers.find("server.compression.mime-types") {
        args.insert("types", Value::from(spring::texts(layers, node)));
    }
    if let Some(node) = layers.find("server.compression.min-response-size") {
        args.insert("minSize", Value::from(text(node)));
    }
    Some((NamedArgs { name: "Compress".into(), args }, switch.span()))
}
