//! Configuration that predicates and filters use in addition to their arguments.

use std::path::Path;
use std::sync::Arc;

use weir_cache::Caches;
use weir_filter::Descriptors;
use weir_filter::filter::FilterOptions;
use weir_filter::forwarding::{Forwarding, ForwardingOptions, Part, Untrusted, XForwarded};
use weir_limit::Valves;
use weir_route::pattern::RegexCache;
use weir_route::predicate::{ApiVersionSource, PredicateOptions};

use crate::breakers::breakers;
use crate::caching;
use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::mocks::FileAccess;
use crate::oauth;
use crate::redis::rate_limiting;
use crate::routes::names;
use crate::security;
use crate::source::Sources;
use crate::spring::{self, Layers, Node};
use weir_snapshot::Settings;

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
pub(crate) fn filters(
    layers: &Layers<'_>,
    regexes: &RegexCache,
    (valves, caches): (&Arc<Valves>, &Arc<Caches>),
    settings: &Settings,
    problems: &mut Vec<Diagnostic>,
) -> FilterOptions {
    let mut options = FilterOptions {
        regexes: regexes.clone(),
        api_keys: Arc::new(security::api_keys(layers, problems)),
        users: Arc::new(security::users(layers, problems)),
        oauth_clients: oauth::clients(layers, settings.ignore_spring_security, problems),
        limits: limits::limits(layers, problems),
        key_resolvers: limits::key_resolvers(layers, problems),
        cache: caching::options(layers, caches, problems),
        rate_limiting: rate_limiting(layers, problems),
        valves: Arc::clone(valves),
        ..FilterOptions::default()
    };
    for node in layers.all_of(&names("filter.secure-headers")) {
        for entry in node.children() {
            let name = kebab(entry.key());
            let known = options.secure_headers.iter().any(|(key, _)| *key == name);
            if known || name == "enabled" {
                continue;
            }
            let value = match (name.as_str(), entry.text()) {
                ("enable" | "disable", _) | (_, None) => spring::texts(layers, entry).join(","),
                (_, Some(text)) => layers.resolve(&text).0.into_owned(),
            };
            options.secure_headers.push((name, value));
        }
    }
    options.original_status_header = text(layers, "set-status.original-status-header-name");
    breakers(layers, problems, &mut options);
    options
}

/// `frameOptions` → `frame-options`.
fn kebab(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        out.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    out
}

/// The descriptor sets that JsonToGrpc may read; `classpath:` is the folder of the first file.
pub(crate) fn descriptors(
    layers: &Layers<'_>,
    sources: &Sources,
    files: Option<FileAccess>,
) -> Option<Descriptors> {
    let node = layers.first_of(&names("json-to-grpc.valid-proto-descriptor-prefixes"));
    let prefixes = node.map(|node| spring::texts(layers, node)).unwrap_or_default();
    let folder = sources.first_file().and_then(Path::parent).unwrap_or(Path::new(""));
    files.map(|files| Descriptors::new(files.read_bytes, folder, &prefixes))
}

/// Rules for forwarded heads; the safe default if they are invalid.
pub(crate) fn forwarding(
    settings: &Settings,
    layers: &Layers<'_>,
    regexes: &RegexCache,
    problems: &mut Vec<Diagnostic>,
) -> Forwarding {
    let hop_by_hop = layers.first_of(&names("filter.remove-hop-by-hop.headers"));
    let part = |name: &str| Part {
        enabled: flag(layers, &format!("x-forwarded.{name}-enabled")).unwrap_or(true),
        append: flag(layers, &format!("x-forwarded.{name}-append")).unwrap_or(true),
    };
    let options = ForwardingOptions {
        trusted_proxies: text(layers, "trusted-proxies"),
        untrusted: match settings.compat.forwarded.as_str() {
            "pass" => Untrusted::Pass,
            "append" => Untrusted::Append,
            _ => Untrusted::Strip,
        },
        x_forwarded: XForwarded {
            enabled: flag(layers, "x-forwarded.enabled").unwrap_or(true),
            for_: part("for"),
            host: part("host"),
            port: part("port"),
            proto: part("proto"),
            prefix: part("prefix"),
        },
        forwarded: flag(layers, "forwarded.enabled").unwrap_or(true),
        forwarded_by: flag(layers, "forwarded.by.enabled").unwrap_or(false),
        by_port: settings.listen.port(),
        hop_by_hop: hop_by_hop.map(|node| spring::texts(layers, node)),
        underscore_fields: settings.underscore_fields,
    };
    Forwarding::new(&options, regexes).unwrap_or_else(|error| {
        let property = match error.arg.as_str() {
            "trusted-proxies" => "trusted-proxies",
            _ => "filter.remove-hop-by-hop.headers",
        };
        let node = layers.first_of(&names(property));
        let at = node.map(|node| node.span()).unwrap_or_default();
        let help = error.help.unwrap_or_else(|| {
            "write a Java regular expression over whole addresses, such as `10\\..*`".to_owned()
        });
        let message = format!("{property}: {}", error.message);
        problems.push(Diagnostic::new(Code::InvalidProxies, message).at(at).help(help));
        Forwarding::default()
    })
}

fn text(layers: &Layers<'_>, name: &str) -> Option<String> {
    let text = layers.first_of(&names(name)).and_then(Node::text)?;
    let text = layers.resolve(&text).0.trim().to_owned();
    if text.is_empty() { None } else { Some(text) }
}

fn flag(layers: &Layers<'_>, name: &str) -> Option<bool> {
    crate::value::bool(&text(layers, name)?)
}

#[cfg(test)]
mod tests {
    use super::kebab;

    #[test]
    fn names_in_kebab_case() {
        assert_eq!(kebab("frameOptions"), "frame-options");
        assert_eq!(kebab("frame-options"), "frame-options");
        assert_eq!(kebab("frame_options"), "frame-options");
    }
}
