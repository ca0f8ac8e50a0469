//! What predicates and filters take from the configuration besides their arguments.

use weir_filter::filter::FilterOptions;
use weir_route::pattern::RegexCache;
use weir_route::predicate::{ApiVersionSource, PredicateOptions};

use crate::diagnostic::{Code, Diagnostic};
use crate::routes::names;
use crate::settings::Settings;
use crate::spring::{self, Layers, Node, below};

const API_VERSION: &str = "spring.webflux.apiversion.use";

/// Options of predicates.
pub(crate) fn predicates(
    settings: &Settings,
    layers: &Layers<'_>,
    regexes: &RegexCache,
    problems: &mut Vec<Diagnostic>,
) -> PredicateOptions {
    PredicateOptions {
        base_path: settings.base_path.clone(),
        host_include_port: settings.compat.host_port,
        trailing_slash: settings.compat.trailing_slash,
        split_header_values: settings.compat.split_header_values,
        api_version: api_version(layers, problems),
        regexes: regexes.clone(),
    }
}

fn api_version(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Option<ApiVersionSource> {
    let text = |name: &str| {
        let node = layers.find(&format!("{API_VERSION}.{name}"))?;
        let text = layers.resolve(&node.text()?).0.trim().to_owned();
        if text.is_empty() { None } else { Some((text, node)) }
    };
    if let Some((name, _)) = text("header") {
        return Some(ApiVersionSource::Header(name));
    }
    if let Some((name, _)) = text("query-parameter") {
        return Some(ApiVersionSource::QueryParameter(name));
    }
    if let Some((segment, node)) = text("path-segment") {
        let number = segment.parse().ok();
        if number.is_none() {
            let message = format!("`{segment}` is not the number of a path segment");
            let help = "write a whole number; the first segment is 0";
            problems.push(Diagnostic::new(Code::InvalidValue, message).at(node.span()).help(help));
        }
        return number.map(ApiVersionSource::PathSegment);
    }
    let types = layers.find(&format!("{API_VERSION}.media-type-parameter"))?;
    let first = types.children().next()?;
    let parameter = layers.resolve(&first.text()?).0.into_owned();
    Some(ApiVersionSource::MediaTypeParameter(first.key().to_owned(), parameter))
}

/// Options of filters.
pub(crate) fn filters(layers: &Layers<'_>, regexes: &RegexCache) -> FilterOptions {
    let mut options = FilterOptions { regexes: regexes.clone(), ..FilterOptions::default() };
    for name in names("filter.secure-headers") {
        for node in layers.roots().filter_map(|root| below(root, &name)) {
            for entry in node.children() {
                let known = options.secure_headers.iter().any(|(key, _)| key == entry.key());
                if !known && entry.key() != "enabled" {
                    let value = spring::texts(layers, entry).join(",");
                    let value = match entry.text() {
                        Some(text) if !is_list(entry) => layers.resolve(&text).0.into_owned(),
                        _ => value,
                    };
                    options.secure_headers.push((entry.key().to_owned(), value));
                }
            }
        }
    }
    let header = layers.first_of(&names("set-status.original-status-header-name"));
    options.original_status_header = header
        .and_then(Node::text)
        .map(|text| layers.resolve(&text).0.trim().to_owned())
        .filter(|text| !text.is_empty());
    options
}

fn is_list(node: Node<'_>) -> bool {
    matches!(node.key(), "enable" | "disable")
}
