//! All notations of routes, with the resulting definitions.

use weir_config::{Format, Loader, Severity, Source};

/// The routes of a file as JSON, one per line, and its findings except notes.
fn read(name: &str, text: &str, rest: &[&str]) -> String {
    let variables = rest.iter().filter_map(|text| text.split_once('='));
    let variables = variables.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let mut loader = Loader::new(variables, &[], Vec::new());
    loader.add(Source::new(name, text, Format::of_name(name).expect("an ending")));
    let mut loaded = loader.load();
    let routes = loaded.definitions();
    let mut lines: Vec<String> = routes
        .iter()
        .map(|(route, _)| {
            let mut json = serde_json::to_value(route).expect("json");
            let object = json.as_object_mut().expect("an object");
            // Default values are omitted.
            object.retain(|_, value| {
                !(value.is_array() || value.is_object()) || value != &serde_json::json!([])
            });
            object.retain(|_, value| value != &serde_json::json!({}));
            if object.get("order") == Some(&serde_json::json!(0)) {
                object.remove("order");
            }
            if object.get("enabled") == Some(&serde_json::json!(true)) {
                object.remove("enabled");
            }
            json.to_string()
        })
        .collect();
    let findings = loaded.diagnostics.iter().filter(|d| d.severity > Severity::Note);
    lines.extend(findings.map(|d| {
        let line = d.at.map_or(0, |at| loaded.sources().place(at).line);
        format!("{line}: {} {}", d.code.as_str(), d.message)
    }));
    lines.join("\n")
}

fn check(text: &str, expected: &str) {
    assert_eq!(read("a.yml", text, &[]), expected);
}

const ROUTE: &str =
    r#"{"id":"a","predicates":[{"name":"Path","args":{"_genkey_0":"/x"}}],"uri":"http://h"}"#;

#[test]
fn prefixes() {
    let route = "[{id: a, uri: 'http://h', predicates: [Path=/x]}]";
    check(&format!("spring.cloud.gateway.routes: {route}"), ROUTE);
    check(&format!("spring.cloud.gateway.server.webflux.routes: {route}"), ROUTE);
    check(&format!("spring:\n  cloud:\n    gateway.server.webflux:\n      routes: {route}"), ROUTE);
    let both = format!(
        "spring.cloud.gateway.routes: [x]\nspring.cloud.gateway.server.webflux.routes: {route}"
    );
    let replaced =
        "old-prefix `spring.cloud.gateway.server.webflux.routes` takes the place of this one";
    check(&both, &format!("{ROUTE}\n1: {replaced}"));
}

#[test]
fn every_way_to_write_a_predicate() {
    let gateway = |predicate: &str| {
        format!(
            "spring.cloud.gateway.routes:\n- id: a\n  uri: http://h\n  predicates:\n  - \
                 {predicate}\n"
        )
    };
    let args = |predicate: &str| {
        let text = read("a.yml", &gateway(predicate), &[]);
        let json: serde_json::Value = serde_json::from_str(&text).expect(&text);
        let one = json["predicates"][0].clone();
        format!("{} {}", one["name"].as_str().unwrap_or_default(), one["args"])
    };
    assert_eq!(args("Path=/x, /y"), r#"Path {"_genkey_0":"/x","_genkey_1":"/y"}"#);
    assert_eq!(args("Path="), "Path {}");
    assert_eq!(args("name: Path\n    args: {pattern: /x}"), r#"Path {"pattern":"/x"}"#);
    assert_eq!(
        args("name : Path\n    args:\n      patterns: [/x, /y]"),
        r#"Path {"patterns.0":"/x","patterns.1":"/y"}"#
    );
    assert_eq!(args("name: Path\n    args:\n      _genkey_0: /x"), r#"Path {"_genkey_0":"/x"}"#);
    assert_eq!(
        args(
            "name: R\n    args:\n      redis-rate-limiter.replenishRate: 1\n      \
                 redis-rate-limiter:\n        burstCapacity: 2"
        ),
        r#"R {"redis-rate-limiter.replenishRate":"1","redis-rate-limiter.burstCapacity":"2"}"#
    );
    assert_eq!(
        args("name: W\n    args: {v: 12.50, b: yes, n: }"),
        r#"W {"v":"12.5","b":"true","n":""}"#
    );
    assert_eq!(args("name: RemoteAddr"), "RemoteAddr {}");
}

#[test]
fn the_other_fields() {
    check(
        "spring.cloud.gateway.routes:\n- filters: [PreserveHostHeader, 'TokenRelay=']\n  order: \
             7\n  \
         enabled: false\n  metadata: {n: 1, d: 1.5, b: on, s: x, l: [a, 2], m.o: {p: q}}\n  \
         predicates: []\n  id: 'a b/c'\n  uri: lb://x\n",
        concat!(
            r#"{"id":"a b/c","filters":[{"name":"PreserveHostHeader","args":{}},{"name":"#,
            r#""TokenRelay","args":{}}],"uri":"lb://x","metadata":{"n":1,"d":1.5,"b":true,"#,
            r#""s":"x","l":["a",2],"m":{"o":{"p":"q"}}},"order":7,"enabled":false}"#,
        ),
    );
    check(
        "spring.cloud.gateway.routes:\n- id: a\n  uri: http://h\n  filters:\n  predicates:\n  - \
             Path=/x\n",
        ROUTE,
    );
}

#[test]
fn a_route_in_one_text() {
    check("t: http://h\nspring.cloud.gateway.routes:\n- a=${t}, Path=/x\n", ROUTE);
}

#[test]
fn a_map_of_routes() {
    check(
        "spring.cloud.gateway.routes-map:\n  a: {uri: 'http://h', predicates: [Path=/x]}\n",
        ROUTE,
    );
    let text =
        "spring.cloud.gateway.routes-map:\n  a: {uri: 'http://other', predicates: [Path=/x]}\n";
    let variable = "SPRING_CLOUD_GATEWAY_ROUTESMAP_A_URI=http://h";
    assert_eq!(read("a.yml", text, &[variable]), ROUTE);
}

#[test]
fn the_locator_makes_a_route_for_each_service() {
    let instances =
        "spring.cloud.discovery.client.simple.instances:\n  Svc: [{uri: 'http://a:1'}]\n";
    let locator = |rest: &str| {
        format!("{instances}spring.cloud.gateway.discovery.locator:\n  enabled: true\n{rest}")
    };
    let route = |prefix: &str, id: &str| {
        let text = concat!(
            r#"{"id":"PREFIXSvc","predicates":[{"name":"Path","args":{"pattern":"/ID/**"}}],"#,
            r#""filters":[{"name":"RewritePath","args":{"regexp":"/ID/?(?<remaining>.*)","#,
            r#""replacement":"/${remaining}"}}],"uri":"lb://Svc"}"#,
        );
        text.replace("PREFIX", prefix).replace("ID", id)
    };
    check(&locator(""), &route("ReactiveCompositeDiscoveryClient_", "Svc"));
    check(&locator("  lower-case-service-id: true\n  route-id-prefix: x-\n"), &route("x-", "svc"));
    check(instances, "");
    check(
        "spring.cloud.gateway.discovery.locator.enabled: true",
        "1: no-instances the locator finds no services: no registry is configured",
    );
}

#[test]
fn a_bare_list_is_as_an_api_would_take_it() {
    let json = r#"[{"id": "a", "uri": "http://h", "predicates": ["Path=/${x:y}"]}]"#;
    let expected = concat!(
        r#"{"id":"a","predicates":[{"name":"Path","args":{"_genkey_0":"/${x:y}"}}],"uri":"#,
        r#""http://h"}"#,
    );
    assert_eq!(read("a.json", json, &[]), expected);
    check("- {id: a, uri: 'http://h', predicates: [Path=/x]}", ROUTE);
}

#[test]
fn properties() {
    let text = "spring.cloud.gateway.routes[0].id=a\nspring.cloud.gateway.routes[0].uri=http://h\n\
                spring.cloud.gateway.routes[0].predicates[0].name=Path\n\
                spring.cloud.gateway.routes[0].predicates[0].args[pattern]=/x\n";
    let expected =
        r#"{"id":"a","predicates":[{"name":"Path","args":{"pattern":"/x"}}],"uri":"http://h"}"#;
    assert_eq!(read("a.properties", text, &[]), expected);
    let text = "spring.cloud.gateway.routes[0].id=a\nspring.cloud.gateway.routes[0].uri=http://h\n\
                spring.cloud.gateway.routes[0].predicates=Path=/x\n";
    assert_eq!(read("a.properties", text, &[]), ROUTE);
}

#[test]
fn variables_replace_the_list() {
    let text = "spring.cloud.gateway.routes:\n- {id: b, uri: 'http://h', predicates: [Path=/x]}\n";
    let variables = [
        "SPRING_CLOUD_GATEWAY_ROUTES_0_ID=a",
        "SPRING_CLOUD_GATEWAY_ROUTES_0_URI=http://h",
        "SPRING_CLOUD_GATEWAY_ROUTES_0_PREDICATES_0=Path=/x",
    ];
    assert_eq!(
        read("a.yml", text, &variables),
        format!(
            "{ROUTE}\n1: list-replaced the 1 routes here are replaced as a whole by environment \
                 variables"
        )
    );
}

#[test]
fn placeholders() {
    check(
        "p: /x\nspring.cloud.gateway.routes:\n- {id: a, uri: '${u:http://h}', predicates: \
             ['Path=${p}']}\n",
        ROUTE,
    );
    check(
        "spring.cloud.gateway.routes:\n- id: a\n  uri: http://h\n  filters: \
             ['RewritePath=/a/(?<s>.*), /${s}', 'RewritePath=/b/(?<s>.*), /$\\{s}']\n",
        concat!(
            r#"{"id":"a","filters":[{"name":"RewritePath","args":{"_genkey_0":"/a/(?<s>.*)","#,
            r#""_genkey_1":"/${s}"}},{"name":"RewritePath","args":{"_genkey_0":"#,
            r#""/b/(?<s>.*)","_genkey_1":"/$\\{s}"}}],"uri":"http://h"}"#,
        ),
    );
}

#[test]
fn an_id_is_made_from_the_route() {
    let text = "spring.cloud.gateway.routes:\n- uri: http://h\n  predicates: [Path=/x]\n";
    let first = read("a.yml", text, &[]);
    assert!(first.contains(r#"{"id":"route-"#), "{first}");
    assert_eq!(first, read("a.yml", &format!("\n{text}"), &[]));
}

#[test]
fn wrong_shapes_have_a_line() {
    let gateway = |route: &str| format!("spring.cloud.gateway.routes:\n- id: a\n{route}\n");
    let check = |route: &str, expected: &str| check(&gateway(route), expected);
    check("  predicates: [Path]", "3: route-shape the predicate `Path` has no `=`");
    check("  predicates: ['=x']", "3: route-shape the predicate `=x` has no name");
    check("  predicates: {Path: /x}", "3: route-shape `predicates` is a map, not a list");
    check("  predicates:\n  - Path: /x", "4: route-shape a predicate needs a `name`");
    check("  predicates:\n  -", "4: route-shape this is not a predicate");
    check(
        "  filters:\n  - name: X\n    args: y",
        "5: route-shape `args` is a map of names to values",
    );
    check("  order: first", "3: invalid-value `first` is not an order");
    check("  enabled: perhaps", "3: invalid-value `perhaps` is neither true nor false");
    check("  metadata:", "3: route-shape `metadata` is a map; Spring does not start with this one");
    check("  uri: [x]", "3: route-shape `uri` takes one text, not a list or map");
    assert_eq!(
        read("a.yml", "spring.cloud.gateway.routes: {a: b}", &[]),
        "1: route-shape `routes` is not a list"
    );
    assert_eq!(
        read("a.yml", "spring.cloud.gateway.routes:\n- [x]\n", &[]),
        "2: route-shape a route must be a map with `id`, `uri` and `predicates`"
    );
}
