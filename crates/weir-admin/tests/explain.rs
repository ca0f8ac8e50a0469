//! `explain` agrees with the data plane.

mod common;

use common::http::{admin, start};
use serde_json::json;
use weir_admin::{Question, SiteOptions, explain};
use weir_config::{Format, Loader, Source};
use weir_snapshot::Snapshot;

fn snapshot(yaml: &str) -> Snapshot {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", yaml.to_owned(), Format::Yaml));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    assert!(!loaded.is_refused(), "{:?}", loaded.diagnostics);
    loaded.compiler.snapshot(compiled.routes)
}

/// Checks that the answer to a request starts as `expected`, and no upstream is named.
fn check(snapshot: &Snapshot, method: &str, target: &str, fields: &[(&str, &str)], expected: &str) {
    let headers = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let question = Question {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        peer: None,
        body: None,
        dice: 0,
    };
    let told = explain(snapshot, &question);
    let answer = told.answer.clone().unwrap_or_default();
    assert!(answer.starts_with(expected), "{method} {target}: {told}");
    assert_eq!(told.upstream, None, "{method} {target}: {told}");
}

#[test]
fn what_is_never_served_or_belongs_to_the_gateway_has_no_route() {
    let snapshot = snapshot(
        "spring.cloud.gateway.server.webflux:\n  globalcors.cors-configurations:\n    '[/**]': \
         { allowedOrigins: 'https://a.example' }\n  routes:\n  - { id: a, uri: 'http://h', \
         predicates: [ 'Path=/**' ] }\n",
    );
    let preflight = [("Origin", "https://a.example"), ("Access-Control-Request-Method", "GET")];
    check(&snapshot, "TRACE", "/a", &[], "405");
    check(&snapshot, "GET", "/actuator/health", &[], "that of the gateway's own actuator");
    check(&snapshot, "OPTIONS", "/a", &preflight, "200 by the cross-origin rules");
    check(&snapshot, "OPTIONS", "/a%2f..%2fb", &preflight, "400");
    check(&snapshot, "OPTIONS", "/a", &[("Max-Forwards", "0")], "200: Max-Forwards");
}

#[test]
fn outside_of_the_base_path_nothing_matches() {
    let snapshot = snapshot(
        "spring.webflux.base-path: /in\nspring.cloud.gateway.server.webflux.routes:\n- { id: a, \
         uri: 'http://h', predicates: [ 'Host=**' ] }\n",
    );
    check(&snapshot, "GET", "/zzz", &[], "404: the path is not below `/in`");
    check(&snapshot, "GET", "/inner", &[], "404");
    let question = Question {
        method: "GET".into(),
        target: "/in/zzz".into(),
        headers: Vec::new(),
        peer: None,
        body: None,
        dice: 0,
    };
    assert_eq!(explain(&snapshot, &question).winner.as_deref(), Some("a"));
}

#[test]
fn asking_takes_no_token_of_a_limit() {
    let snapshot = snapshot(
        "weir.key-resolvers.own: ip\nspring.cloud.gateway.server.webflux.routes:\n- id: a\n  uri: \
         http://h\n  predicates: [ 'Path=/**' ]\n  filters:\n  - name: RequestRateLimiter\n    \
         args: { key-resolver: '#{@own}', redis-rate-limiter.replenishRate: 1, \
         redis-rate-limiter.burstCapacity: 1 }\n",
    );
    let question = Question {
        method: "GET".into(),
        target: "/a".into(),
        headers: Vec::new(),
        peer: None,
        body: None,
        dice: 0,
    };
    for _ in 0..3 {
        let told = explain(&snapshot, &question);
        assert_eq!(told.upstream.as_deref(), Some("h:80"), "{told}");
    }
}

#[test]
fn options_lists_the_methods_and_a_change_on_the_main_port_says_where_to_go() {
    let api = admin(&[]);
    let answer = api.send("OPTIONS", "/actuator/gateway/routes/a", &[], "");
    let allow = answer.header("allow").expect("Allow").split(',').collect::<Vec<_>>();
    assert_eq!(answer.status, 200);
    for method in ["GET", "HEAD", "OPTIONS", "POST", "DELETE"] {
        assert!(allow.contains(&method), "{allow:?}");
    }
    let health = api.send("OPTIONS", "/actuator/health", &[], "");
    assert_eq!((health.status, health.header("allow")), (200, Some("GET,HEAD,OPTIONS")));
    let exposed = weir_admin::Exposure::all();
    let main = start(SiteOptions { exposure: exposed, ..SiteOptions::main() }, &[]);
    let body = json!({ "uri": "http://x", "predicates": ["Path=/x"] }).to_string();
    let refused = main.post("/actuator/gateway/routes/x", &body);
    assert_eq!(refused.status, 405);
    let message = refused.json()["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("admin API") && message.contains("weir.admin.port"), "{message}");
}

#[test]
fn a_route_that_is_switched_off_is_not_among_the_definitions() {
    let yaml = "spring.cloud.gateway.server.webflux.routes:\n- { id: serves, uri: 'http://h', \
                predicates: [ Path=/on ] }\n- { id: rests, enabled: false, uri: 'http://h', \
                predicates: [ Path=/off ] }\n";
    let directory = tempfile::tempdir().expect("a directory");
    let control = weir_control::Control::start(common::read(yaml), common::store(&directory));
    let control = control.expect("a control");
    let rules = common::http::rules();
    let api = common::http::start_with(control, directory, SiteOptions::admin(rules));
    let listed = api.get("/actuator/gateway/routedefinitions").json();
    let ids: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|definition| definition["id"].as_str())
        .collect();
    assert_eq!(ids, ["serves"]);
}
