//! Routes as SCG's actuator words them: the texts of its `toString` methods.
//!
//! For people and for dashboards that show these texts; nothing in weir reads them back.

use serde_json::{Map, Value, json};
use weir_control::Entry;
use weir_route::{NamedArgs, Route, RouteDefinition};
use weir_snapshot::RouteTarget;

/// SCG displays every predicate with the name of a lambda; the address is a fixed placeholder.
const FIRST: &str = "RouteDefinitionRouteLocator$$Lambda/0x0000000000000000";

/// A route as GET `/routes` shows it when verbose.
pub(crate) fn verbose(entry: &Entry) -> Value {
    let definition = entry.effective();
    let mut shown = Map::new();
    shown.insert("predicate".into(), predicates(&entry.route).into());
    if !definition.metadata.is_empty() {
        shown.insert("metadata".into(), Value::Object(definition.metadata.clone()));
    }
    shown.insert("route_id".into(), definition.id.as_str().into());
    shown.insert("filters".into(), filters(&entry.route).into());
    shown.insert("uri".into(), with_port(&definition.uri).into());
    shown.insert("order".into(), definition.order.into());
    insert_group(&mut shown, definition);
    Value::Object(shown)
}

/// A route as GET `/routes` shows it when not verbose.
pub(crate) fn terse(entry: &Entry) -> Value {
    json!({
        "route_id": entry.definition.id,
        "route_definition": definition(&entry.definition),
        "order": entry.definition.order,
    })
}

/// A field that SCG does not have: only where there is a group.
fn insert_group(shown: &mut Map<String, Value>, definition: &RouteDefinition) {
    if !definition.group.is_empty() {
        shown.insert("group".into(), definition.group.as_str().into());
    }
}

/// A route with what SCG does not show: where it comes from, and its revision.
pub(crate) fn entry(entry: &Entry) -> Value {
    json!({
        "source": entry.origin().name(),
        "revision": entry.revision,
        "definition": definition(&entry.definition),
    })
}

/// A definition with its keys sorted, as SCG writes it.
pub(crate) fn definition(route: &RouteDefinition) -> Value {
    let named = |list: &[NamedArgs]| -> Value {
        list.iter().map(|named| json!({ "args": named.args, "name": named.name })).collect()
    };
    let mut shown = json!({
        "enabled": route.enabled,
        "filters": named(&route.filters),
        "id": route.id,
        "metadata": route.metadata,
        "order": route.order,
        "predicates": named(&route.predicates),
        "uri": route.uri,
    });
    if let Some(fields) = shown.as_object_mut() {
        insert_group(fields, route);
    }
    shown
}

/// SCG class `Route`, in one line.
pub(crate) fn route(entry: &Entry) -> String {
    let definition = entry.effective();
    format!(
        "Route{{id='{}', uri={}, order={}, predicate={}, gatewayFilters=[{}], metadata={}}}",
        definition.id,
        with_port(&definition.uri),
        definition.order,
        predicates(&entry.route),
        filters(&entry.route).join(", "),
        java_map(&definition.metadata),
    )
}

fn java_map(map: &Map<String, Value>) -> String {
    let entries: Vec<String> =
        map.iter().map(|(key, value)| format!("{key}={}", java_value(value))).collect();
    format!("{{{}}}", entries.join(", "))
}

fn java_value(value: &Value) -> String {
    match value {
        Value::Object(map) => java_map(map),
        Value::Array(list) => {
            format!("[{}]", list.iter().map(java_value).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The uri with the port that its scheme implies.
fn with_port(uri: &str) -> String {
    let (port, rest) = if let Some(rest) = uri.strip_prefix("http://") {
        (80, rest)
    } else if let Some(rest) = uri.strip_prefix("https://") {
        (443, rest)
    } else {
        return uri.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    if has_port || host.is_empty() {
        return uri.to_owned();
    }
    let scheme = if port == 80 { "http" } else { "https" };
    format!("{scheme}://{authority}:{port}{tail}")
}

/// All predicates as SCG nests them under its lambda.
fn predicates(route: &Route<RouteTarget>) -> String {
    let list = route.all_predicates();
    list.fold(FIRST.to_owned(), |text, predicate| format!("({text} && {predicate})"))
}

/// All filters in the order they run, default ones included.
fn filters(route: &Route<RouteTarget>) -> Vec<String> {
    route.target.chain.entries().iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use weir_config::{Format, Loader, Source};

    use super::{FIRST, filters, predicates, with_port};

    #[test]
    fn default_ports_are_filled_in() {
        let check = |uri, expected| assert_eq!(with_port(uri), expected);
        check("http://h", "http://h:80");
        check("https://h/ignored?q#f", "https://h:443/ignored?q#f");
        check("http://u:p@h/x", "http://u:p@h:80/x");
        check("http://h:81/x", "http://h:81/x");
        check("http://[::1]/x", "http://[::1]:80/x");
        check("http://[::1]:81", "http://[::1]:81");
        check("lb://h", "lb://h");
        check("ws://h", "ws://h");
        check("http:///x", "http:///x");
    }

    /// As recorded of SCG 5.0.4 in `tests/compat/cases/actuator/read.txt`.
    fn check(predicates_yaml: &str, filters_yaml: &str, told: &str, filters_told: &[&str]) {
        let yaml = format!(
            "spring.cloud.gateway:\n  default-filters: [ 'AddResponseHeader=X-Default, 1' ]\n\
             \x20 routes: [ {{ id: a, uri: 'http://x', predicates: [ {predicates_yaml} ],\
             filters: [ {filters_yaml} ] }} ]\n"
        );
        let mut loader = Loader::new(Vec::new(), &[], Vec::new());
        loader.add(Source::new("application.yml", yaml, Format::Yaml));
        let mut loaded = loader.load();
        let compiled = loaded.compile();
        assert!(!loaded.is_refused(), "{:?}", loaded.diagnostics);
        let route = compiled.routes.first().expect("a route");
        assert_eq!(predicates(route).replace(FIRST, "λ"), told);
        let shown = filters(route);
        let default =
            "[[AddResponseHeader name = 'X-Default', value = '1', override = true], order = 1]";
        let expected: Vec<&str> = std::iter::once(default).chain(filters_told.to_vec()).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn routes_read_as_in_scg() {
        check(
            r#""Path=/first/**, /uno", "Method=GET,POST", "Header=X-A, \\d+""#,
            r#""AddRequestHeader=X-Foo, Bar", "StripPrefix=1""#,
            "(((λ && Paths: [/first/**, /uno], match trailing slash: true) \
             && Methods: [GET, POST]) && Header: X-A regexp=\\d+)",
            &[
                "[[AddRequestHeader X-Foo = 'Bar'], order = 1]",
                "[[StripPrefix parts = 1], order = 2]",
            ],
        );
        check(
            r#""Host=**.example.org", { name: Query, args: { param: q, regexp: "a{1,3}" } },
               "Cookie=c, v", "After=2017-01-20T17:42:47.789-07:00[America/Denver]",
               "RemoteAddr=127.0.0.1/8", "Weight=g, 5""#,
            r#"{ name: RequestSize, args: { maxSize: 5MB } },
               'RewritePath=/a/(?<x>.*), /$\{x}', "SetStatus=201""#,
            "((((((λ && Hosts: [**.example.org]) && Query: param=q regexp=a{1,3}) \
             && Cookie: name=c regexp=v) \
             && After: 2017-01-20T17:42:47.789-07:00[America/Denver]) \
             && RemoteAddrs: [127.0.0.1/8]) && Weight: g 5)",
            &[
                "[[RequestSize max = 5242880B], order = 1]",
                "[[RewritePath /a/(?<x>.*) = '/${x}'], order = 2]",
                "[[SetStatus status = '201'], order = 3]",
            ],
        );
    }
}
