//! Routes as SCG's actuator words them: the texts of its `toString` methods.
//!
//! For people and for dashboards that show these texts; nothing in weir reads them back.

use serde_json::{Map, Value, json};
use weir_route::{Args, NamedArgs, RouteDefinition};

use crate::control::Entry;

/// SCG starts every predicate with a lambda of its own; the address stands for none in particular.
const FIRST: &str = "RouteDefinitionRouteLocator$$Lambda/0x0000000000000000";

/// A route as GET `/routes` shows it when verbose.
pub(crate) fn verbose(entry: &Entry, defaults: &[NamedArgs]) -> Value {
    let definition = &entry.definition;
    let mut shown = Map::new();
    shown.insert("predicate".into(), predicates(&definition.predicates).into());
    if !definition.metadata.is_empty() {
        shown.insert("metadata".into(), Value::Object(definition.metadata.clone()));
    }
    shown.insert("route_id".into(), definition.id.as_str().into());
    shown.insert("filters".into(), filters(defaults, &definition.filters).into());
    shown.insert("uri".into(), with_port(&definition.uri).into());
    shown.insert("order".into(), definition.order.into());
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
    json!({
        "enabled": route.enabled,
        "filters": named(&route.filters),
        "id": route.id,
        "metadata": route.metadata,
        "order": route.order,
        "predicates": named(&route.predicates),
        "uri": route.uri,
    })
}

/// SCG class `Route`, in one line.
pub(crate) fn route(entry: &Entry, defaults: &[NamedArgs]) -> String {
    let definition = &entry.definition;
    format!(
        "Route{{id='{}', uri={}, order={}, predicate={}, gatewayFilters=[{}], metadata={}}}",
        definition.id,
        with_port(&definition.uri),
        definition.order,
        predicates(&definition.predicates),
        filters(defaults, &definition.filters).join(", "),
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

fn predicates(list: &[NamedArgs]) -> String {
    list.iter().fold(FIRST.to_owned(), |text, named| format!("({text} && {})", predicate(named)))
}

fn predicate(named: &NamedArgs) -> String {
    let spec = weir_route::predicate::SPECS.iter().find(|spec| spec.name == named.name);
    let Some(args) = spec.and_then(|spec| spec.bind(&named.args).ok()) else {
        return as_written(named);
    };
    let text = |name: &str| args.text(name).unwrap_or("null").to_owned();
    let list = |name: &str| format!("[{}]", args.list(name).join(", "));
    match named.name.as_str() {
        "After" | "Before" => format!("{}: {}", named.name, text("datetime")),
        "Between" => format!("Between: {} and {}", text("datetime1"), text("datetime2")),
        "Cookie" => format!("Cookie: name={} regexp={}", text("name"), text("regexp")),
        "Header" => format!("Header: {} regexp={}", text("header"), text("regexp")),
        "Host" => format!("Hosts: {}", list("patterns")),
        "Method" => format!("Methods: {}", list("methods")),
        "Path" => {
            let slash = args.text("matchTrailingSlash").unwrap_or("true");
            format!("Paths: {}, match trailing slash: {slash}", list("patterns"))
        }
        "Query" => format!("Query: param={} regexp={}", text("param"), text("regexp")),
        "RemoteAddr" | "XForwardedRemoteAddr" => format!("RemoteAddrs: {}", list("sources")),
        "Weight" => format!("Weight: {} {}", text("weight.group"), text("weight.weight")),
        "Version" => format!("Version: {}", text("version")),
        _ => as_written(named),
    }
}

fn as_written(named: &NamedArgs) -> String {
    let values: Vec<String> = named.args.values().map(java_value).collect();
    format!("{}: {}", named.name, values.join(" "))
}

/// Default filters and the route's own, numbered each and sorted as they run (scg.md 1.4).
fn filters(defaults: &[NamedArgs], own: &[NamedArgs]) -> Vec<String> {
    let numbered = |list: &[NamedArgs]| -> Vec<(i32, String)> {
        let number = |(n, named): (usize, &NamedArgs)| match own_order(&named.name) {
            Some(order) => (order, filter(named)),
            None => (n as i32 + 1, format!("[{}, order = {}]", filter(named), n + 1)),
        };
        list.iter().enumerate().map(number).collect()
    };
    let mut all = numbered(defaults);
    all.extend(numbered(own));
    all.sort_by_key(|(order, _)| *order);
    all.into_iter().map(|(_, text)| text).collect()
}

fn own_order(name: &str) -> Option<i32> {
    match name {
        "SetRequestUri" | "RequestHeaderToRequestUri" => Some(10_001),
        _ => None,
    }
}

fn filter(named: &NamedArgs) -> String {
    let spec = weir_filter::filter::SPECS.iter().find(|spec| spec.name == named.name);
    let args = spec.and_then(|spec| spec.bind(&named.args).ok());
    let told = match args {
        Some(args) => told_args(&named.name, &args),
        None => named.args.iter().map(|(key, value)| quoted(key, &java_value(value))).collect(),
    };
    if told.is_empty() {
        return format!("[{}]", named.name);
    }
    format!("[{} {}]", named.name, told.join(", "))
}

/// How SCG's filter factories word their arguments (`GatewayToStringStyler`).
fn told_args(name: &str, args: &Args) -> Vec<String> {
    let text = |key: &str| args.text(key).unwrap_or("null");
    // One argument names the other: `X-Foo = 'Bar'`.
    let pair = |key: &str, value: &str| vec![quoted(text(key), text(value))];
    let quote = |keys: &[&str]| keys.iter().map(|key| quoted(key, text(key))).collect();
    let bare = |key: &str, label: &str| format!("{label} = {}", text(key));
    match name {
        "AddRequestHeader" | "AddRequestParameter" | "SetRequestHeader" | "SetResponseHeader" => {
            pair("name", "value")
        }
        "AddResponseHeader" => {
            vec![
                quoted("name", text("name")),
                quoted("value", text("value")),
                bare("override", "override"),
            ]
        }
        "AddRequestHeadersIfNotPresent" => {
            let parts = spec_list(name, args).into_iter();
            parts
                .map(|part| part.split_once(':').map_or(part.clone(), |(k, v)| quoted(k, v)))
                .collect()
        }
        "DedupeResponseHeader" => vec![format!("{} = {}", text("name"), text("strategy"))],
        "MapRequestHeader" => quote(&["fromHeader", "toHeader"]),
        "PrefixPath" => quote(&["prefix"]),
        "RedirectTo" => vec![
            quoted(text("status"), text("url")),
            bare("includeRequestParams", "includeRequestParams"),
        ],
        "RemoveRequestHeader"
        | "RemoveResponseHeader"
        | "RemoveRequestParameter"
        | "RequestHeaderToRequestUri" => quote(&["name"]),
        "RequestHeaderSize" => vec![format!("maxSize = {}", size(args, "maxSize"))],
        "RequestSize" => vec![format!("max = {}", size(args, "maxSize"))],
        "RewritePath" => {
            vec![quoted(text("regexp"), &text("replacement").replace("$\\", "$"))]
        }
        "RewriteRequestParameter" => quote(&["name", "replacement"]),
        "RewriteResponseHeader" => quote(&["name", "regexp", "replacement"]),
        "RewriteLocationResponseHeader" => {
            let mut told = vec![bare("stripVersion", "stripVersion")];
            told.extend(["locationHeaderName", "hostValue", "protocols"].map(|key| {
                args.text(key).map_or(format!("{key} = null"), |value| quoted(key, value))
            }));
            told
        }
        "SetPath" | "SetRequestUri" => quote(&["template"]),
        "SetRequestHostHeader" => quote(&["host"]),
        "SetStatus" => quote(&["status"]),
        "StripPrefix" => vec![bare("parts", "parts")],
        _ => Vec::new(),
    }
}

/// The texts of a filter's list argument.
fn spec_list(name: &str, args: &Args) -> Vec<String> {
    let spec = weir_filter::filter::SPECS.iter().find(|spec| spec.name == name);
    let first = spec.and_then(|spec| spec.args.first());
    first.map(|arg| args.list(arg.name).to_vec()).unwrap_or_default()
}

fn size(args: &Args, name: &str) -> String {
    match args.data_size(name) {
        Ok(Some(bytes)) => format!("{bytes}B"),
        _ => args.text(name).unwrap_or("null").to_owned(),
    }
}

fn quoted(key: &str, value: &str) -> String {
    format!("{key} = '{value}'")
}

#[cfg(test)]
mod tests {
    use weir_route::{ArgSpec, NamedArgs};

    use super::{FIRST, filters, predicates, with_port};

    fn named(json: &str) -> Vec<NamedArgs> {
        serde_json::from_str(json).expect("a list")
    }

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

    #[test]
    fn predicates_read_as_in_scg() {
        let check = |json: &str, expected: &str| {
            assert_eq!(predicates(&named(json)).replace(FIRST, "λ"), expected);
        };
        check("[]", "λ");
        check(
            r#"["Path=/first/**, /uno", "Method=GET,POST", "Header=X-A, \\d+"]"#,
            "(((λ && Paths: [/first/**, /uno], match trailing slash: true) \
             && Methods: [GET, POST]) && Header: X-A regexp=\\d+)",
        );
        check(
            r#"["Host=**.example.org", {"name":"Query","args":{"param":"q","regexp":"a{1,3}"}},
                "Cookie=c, v", "After=2017-01-20T17:42:47.789-07:00[America/Denver]",
                "RemoteAddr=127.0.0.1/8", "Weight=g, 5"]"#,
            "((((((λ && Hosts: [**.example.org]) && Query: param=q regexp=a{1,3}) \
             && Cookie: name=c regexp=v) \
             && After: 2017-01-20T17:42:47.789-07:00[America/Denver]) \
             && RemoteAddrs: [127.0.0.1/8]) && Weight: g 5)",
        );
        check(r#"["Header=X-A", "Nope=a,b"]"#, "((λ && Header: X-A regexp=null) && Nope: a b)");
    }

    #[test]
    fn filters_read_as_in_scg_in_the_order_they_run() {
        let check = |defaults: &str, own: &str, expected: &[&str]| {
            assert_eq!(filters(&named(defaults), &named(own)), expected);
        };
        check(
            r#"["AddResponseHeader=X-Default, 1"]"#,
            r#"["AddRequestHeader=X-Foo, Bar", "StripPrefix=1"]"#,
            &[
                "[[AddResponseHeader name = 'X-Default', value = '1', override = true], order = 1]",
                "[[AddRequestHeader X-Foo = 'Bar'], order = 1]",
                "[[StripPrefix parts = 1], order = 2]",
            ],
        );
        check(
            "[]",
            r#"[{"name":"RequestSize","args":{"maxSize":"5MB"}},
                "RewritePath=/a/(?<x>.*), /$\\{x}", "SetStatus=201"]"#,
            &[
                "[[RequestSize max = 5242880B], order = 1]",
                "[[RewritePath /a/(?<x>.*) = '/${x}'], order = 2]",
                "[[SetStatus status = '201'], order = 3]",
            ],
        );
        check(
            "[]",
            r#"["SetRequestUri=http://x", "SaveSession"]"#,
            &["[[SaveSession], order = 2]", "[SetRequestUri template = 'http://x']"],
        );
    }

    #[test]
    fn whatever_must_be_given_is_shown() {
        let check = |name: &str, args: &[ArgSpec], show: &dyn Fn(&NamedArgs) -> String| {
            let given = |n: usize| (format!("_genkey_{n}"), format!("v{n}:w").into());
            let named = NamedArgs { name: name.into(), args: (0..args.len()).map(given).collect() };
            let text = show(&named);
            for (n, arg) in args.iter().enumerate().filter(|(_, arg)| arg.required) {
                assert!(text.contains(&format!("v{n}")), "{} is not in {text}", arg.name);
            }
        };
        for spec in weir_filter::filter::SPECS {
            check(spec.name, spec.args, &super::filter);
        }
        for spec in weir_route::predicate::SPECS {
            check(spec.name, spec.args, &super::predicate);
        }
    }

    #[test]
    fn lists_of_pairs_are_told_one_by_one() {
        let list = named(r#"["AddRequestHeadersIfNotPresent=A:1,B:2", "MapRequestHeader=A,B"]"#);
        let expected = [
            "[[AddRequestHeadersIfNotPresent A = '1', B = '2'], order = 1]",
            "[[MapRequestHeader fromHeader = 'A', toHeader = 'B'], order = 2]",
        ];
        assert_eq!(filters(&[], &list), expected);
    }
}
