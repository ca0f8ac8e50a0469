//! Caches of responses: `filter.local-response-cache.*`.

use std::sync::Arc;

use weir_cache::Caches;
use weir_filter::filter::{CacheOptions, Same};
use weir_route::{Arguments, NamedArgs};

use crate::diagnostic::{Code, Diagnostic};
use crate::routes::names;
use crate::source::Span;
use crate::spring::{Layers, Node};
use crate::value;

const ROOT: &str = "filter.local-response-cache";

/// Defaults of every cache.
pub(crate) fn options(
    layers: &Layers<'_>,
    caches: &Arc<Caches>,
    problems: &mut Vec<Diagnostic>,
) -> CacheOptions {
    let mut options = CacheOptions { caches: Same(Arc::clone(caches)), ..CacheOptions::default() };
    let time = read(layers, "time-to-live", "a duration such as `5m`", value::duration, problems);
    if let Some(time) = time {
        options.ttl_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    }
    let size = read(layers, "size", "a size such as `64MB`", value::data_size, problems);
    options.bytes_max = size.unwrap_or(options.bytes_max);
    let strategy = |text: &str| match text.to_ascii_uppercase().replace('-', "_").as_str() {
        "SKIP_UPDATE_CACHE_ENTRY" => Some(false),
        "UPDATE_CACHE_ENTRY" => Some(true),
        _ => None,
    };
    let names = "`skip-update-cache-entry` or `update-cache-entry`";
    let strategy = read(layers, "request.no-cache-strategy", names, strategy, problems);
    options.updates_on_no_cache = strategy.unwrap_or(false);
    options
}

/// The cache of all routes as a default filter, and the place of the property that enables it.
pub(crate) fn global(layers: &Layers<'_>) -> Option<(NamedArgs, Span)> {
    let node = |name: &str| layers.first_of(&names(name));
    let is = |node: Option<Node<'_>>, wanted: bool| {
        let text = node.and_then(Node::text).unwrap_or_default();
        value::bool(&layers.resolve(&text).0) == Some(wanted)
    };
    let switch = node(&format!("{ROOT}.enabled")).filter(|node| is(Some(*node), true))?;
    if is(node("global-filter.local-response-cache.enabled"), false) {
        return None;
    }
    let filter = NamedArgs { name: "LocalResponseCache".into(), args: Arguments::default() };
    Some((filter, switch.span()))
}

fn read<T>(
    layers: &Layers<'_>,
    name: &str,
    what: &str,
    read: impl Fn(&str) -> Option<T>,
    problems: &mut Vec<Diagnostic>,
) -> Option<T> {
    let node = layers.first_of(&names(&format!("{ROOT}.{name}")))?;
    let written = node.text()?;
    let text = layers.resolve(&written).0;
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let found = read(text);
    if found.is_none() {
        let found = Diagnostic::new(Code::InvalidValue, format!("`{text}` is not {what}"));
        problems.push(found.at(node.span()).help(format!("write {what}")));
    }
    found
}
