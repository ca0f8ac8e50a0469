//! Access to the listeners: clients, endpoints and limits.

mod common;

use common::http::{Api, admin, rules, start};
use serde_json::{Value, json};
use weir_admin::{AccessRules, ENDPOINTS, Exposure, Kind, Limits, SiteOptions};
use weir_snapshot::Access;

const ROUTES: &str = "/actuator/gateway/routes";
const NEW: &str = r#"{"uri":"http://x","predicates":["Path=/new"]}"#;

fn check_status(api: &Api, method: &str, target: &str, expected: u16) {
    let answer = api.send(method, target, &[], "");
    assert_eq!(answer.status, expected, "{method} {target}: {answer:?}");
}

#[test]
fn bodies_have_bounds() {
    let limits = Limits {
        body_bytes_max: 100,
        import_bytes_max: 200,
        import_routes_max: 3,
        ..Limits::default()
    };
    let api = start(SiteOptions { limits, ..SiteOptions::admin(rules()) }, &[]);
    let long = format!("{{\"uri\":\"http://{}\"}}", "x".repeat(100));
    assert_eq!(api.post("/actuator/gateway/routes/a", &long).status, 413);
    let chunked = format!(
        "POST /actuator/gateway/routes/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    assert_eq!(api.raw(chunked.as_bytes()).status, 413);
    let many: Vec<Value> = (0..4).map(|n| json!({ "id": n, "uri": "a://b" })).collect();
    assert_eq!(api.post(ROUTES, &Value::from(many).to_string()).status, 400);
    let line = "{\"id\":\"a\",\"uri\":\"a://b\"}\n".repeat(4);
    assert_eq!(
        api.send("POST", ROUTES, &["Content-Type: application/x-ndjson"], &line).status,
        400
    );
    let long = format!("[{{\"id\":\"a\",\"uri\":\"http://{}\"}}]", "x".repeat(200));
    assert_eq!(api.post(ROUTES, &long).status, 413);
    assert!(api.ids().is_empty());
}

#[test]
fn the_audit_log_names_who_did_what() {
    let rules = AccessRules { token: Some("s3cret".into()), ..rules() };
    let api = start(SiteOptions::admin(rules), &[]);
    api.post("/actuator/gateway/routes/a", NEW);
    let lines = ["Content-Type: application/json", "Authorization: Bearer s3cret"];
    api.send("POST", "/actuator/gateway/routes/a", &lines, NEW);
    api.delete("/actuator/gateway/routes/a");
    let log = api.get("/actuator/gateway/audit").json();
    let told: Vec<Value> = log
        .as_array()
        .expect("a list")
        .iter()
        .map(|e| json!([e["sequence"], e["action"], e["who"], e["ids"], e["count"], e["revision"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!([3, "delete", "127.0.0.1", ["a"], 1, 3]),
            json!([2, "replace", "127.0.0.1 token", ["a"], 1, 2]),
            json!([1, "create", "127.0.0.1", ["a"], 1, 1]),
        ]
    );
    let older = api.get("/actuator/gateway/audit?before=3&count=1").json();
    assert_eq!(older[0]["sequence"], 2);
    check_status(&api, "GET", "/actuator/gateway/audit?count=x", 400);
    assert!(!api.get("/actuator/gateway/audit").body.contains("s3cret"));
}

#[test]
fn access_is_decided_before_the_body_is_read() {
    let rules = AccessRules { loopback_only: false, token: Some("s3cret".into()), ..rules() };
    let api = start(SiteOptions::admin(rules), &[]);
    let send = |lines: &[&str]| {
        let mut all = vec!["Content-Type: application/json"];
        all.extend(lines);
        api.send("POST", "/actuator/gateway/routes/a", &all, NEW)
    };
    let wrong = send(&["Authorization: Bearer nope"]);
    assert_eq!((wrong.status, wrong.header("www-authenticate")), (401, Some("Bearer")));
    assert!(!wrong.body.contains("nope"));
    assert_eq!(send(&["X-Forwarded-For: 1.2.3.4"]).status, 401);
    assert_eq!(send(&["Host: evil.example"]).status, 403);
    assert_eq!(send(&["Origin: http://evil.example"]).status, 403);
    assert_eq!(send(&["Authorization: Bearer s3cret", "X-Forwarded-For: 1.2.3.4"]).status, 201);
    let unread = "POST /actuator/gateway/routes/a HTTP/1.1\r\nHost: evil.example\r\n\
                  Connection: close\r\nContent-Length: 1000\r\n\r\n";
    assert_eq!(api.raw(unread.as_bytes()).status, 403);
    assert_eq!(api.send("GET", ROUTES, &["Host: evil.example"], "").status, 403);
    assert_eq!(api.send("GET", "/openapi.json", &["Host: evil.example"], "").status, 403);
    assert_eq!(api.send("GET", "/actuator/health", &["Host: evil.example"], "").status, 200);
}

#[test]
fn a_public_address_without_a_token_serves_reads_only() {
    let api = start(SiteOptions::admin(AccessRules { loopback_only: false, ..rules() }), &[]);
    let refused = api.post("/actuator/gateway/routes/a", NEW);
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("weir.admin.token"), "{refused:?}");
    assert_eq!(api.get(ROUTES).status, 200);
}

#[test]
fn read_only_access_drops_what_changes() {
    let options = SiteOptions { gateway: Access::ReadOnly, ..SiteOptions::admin(rules()) };
    let api = start(options, &[("a", "http://x")]);
    assert_eq!(api.ids(), ["a"]);
    assert_eq!(api.post("/actuator/gateway/routes/new", NEW).status, 405);
    check_status(&api, "DELETE", "/actuator/gateway/routes/a", 405);
    check_status(&api, "POST", "/actuator/gateway/refresh", 404);
    let options = SiteOptions { gateway: Access::None, ..SiteOptions::admin(rules()) };
    check_status(&start(options, &[]), "GET", ROUTES, 404);
}

#[test]
fn the_main_port_serves_what_is_exposed_and_changes_nothing() {
    let api = start(SiteOptions::main(), &[("a", "http://x")]);
    let health = api.send("GET", "/actuator/health", &["Host: shop.example"], "");
    assert_eq!(health.status, 200);
    check_status(&api, "GET", ROUTES, 404);
    check_status(&api, "GET", "/openapi.json", 404);
    let index = api.get("/actuator").json();
    let names: Vec<&String> = index["_links"].as_object().expect("links").keys().collect();
    assert_eq!(names, ["self", "health", "health-path"]);
    let options = SiteOptions { exposure: Exposure::all(), ..SiteOptions::main() };
    let api = start(options, &[("a", "http://x")]);
    assert_eq!(api.send("GET", ROUTES, &["Host: shop.example"], "").status, 200);
    assert_eq!(api.post("/actuator/gateway/routes/new", NEW).status, 405);
    check_status(&api, "DELETE", "/actuator/gateway/routes/a", 405);
    check_status(&api, "POST", "/actuator/gateway/refresh", 405);
    assert_eq!(api.post("/actuator/loggers/weir_server", "{}").status, 405);
    for name in ENDPOINTS {
        check_status(&api, "GET", &format!("/actuator/{name}"), 200);
    }
    check_status(&api, "DELETE", "/actuator/caches", 405);
    let index = api.get("/actuator").json();
    let linked = |name: &&str| index["_links"].get(*name).is_some();
    assert!(ENDPOINTS.iter().all(linked), "{index}");
}

#[test]
fn another_base_path_moves_everything() {
    let options = SiteOptions { base_path: "/manage".into(), ..SiteOptions::admin(rules()) };
    let api = start(options, &[("a", "http://x")]);
    assert_eq!(api.get("/manage/gateway/routes").status, 200);
    check_status(&api, "GET", ROUTES, 404);
    assert_eq!(api.get("/manage/gateway").json()[0]["href"], "/manage/gateway/routedefinitions");
}

#[test]
fn the_openapi_document_is_what_the_router_serves() {
    let api = admin(&[("a", "http://x")]);
    let document = api.get("/openapi.json").json();
    assert_eq!(document, weir_admin::openapi());
    let all = ["GET", "POST", "PUT", "DELETE"];
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let target = path.replace("{id}", "nope").replace("{name}", "nope");
        for method in all {
            let documented = methods.get(method.to_ascii_lowercase());
            // A body of another type changes nothing, and distinguishes 405 from any other answer.
            let answer = api.send(method, &target, &["Content-Type: text/plain"], "x");
            assert_eq!(answer.status != 405, documented.is_some(), "{method} {path}: {answer:?}");
            if let Some(operation) = documented {
                let answers = operation["responses"].as_object().expect("answers");
                assert!(
                    answers.contains_key(&answer.status.to_string()),
                    "{method} {path} {answer:?}"
                );
            }
        }
    }
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().expect("a name");
        assert!(document["components"]["schemas"].get(name).is_some(), "{name} is not defined");
    }
}

#[test]
fn settings_decide_what_is_served_where() {
    let check = |yaml: &str, main: bool, served: &[&str], local: Option<bool>| {
        let settings = common::read(yaml).settings;
        let options = match main {
            true => SiteOptions::main_of(&settings),
            false => SiteOptions::admin_of(&settings),
        };
        let names = ["health", "info", "gateway"].into_iter();
        let found: Vec<&str> = names.filter(|name| options.exposure.includes(name)).collect();
        assert_eq!(found, served, "{yaml}");
        let loopback_only = match &options.kind {
            Kind::Admin(rules) => Some(rules.loopback_only),
            Kind::Main => None,
        };
        assert_eq!(loopback_only, local, "{yaml}");
    };
    let all = ["health", "info", "gateway"];
    check("server.port: 0", false, &all, Some(true));
    check("server.port: 0", true, &["health"], None);
    let exposed = "management.endpoints.web.exposure.include: health,gateway";
    check(exposed, false, &all, Some(true));
    check(exposed, true, &["health", "gateway"], None);
    check("management.server.port: 0", false, &["health"], Some(false));
    check(
        &format!("{exposed}\nmanagement.server.port: 0"),
        false,
        &["health", "gateway"],
        Some(false),
    );
    check("management.server.address: 127.0.0.1", false, &["health"], Some(true));
    let settings = common::read("weir.admin: { token: s3cret, hosts: [ gw.example ] }").settings;
    let Kind::Admin(rules) = SiteOptions::admin_of(&settings).kind else { panic!("not admin") };
    assert_eq!((rules.token.as_deref(), rules.hosts), (Some("s3cret"), vec!["gw.example".into()]));
}

#[test]
fn the_base_path_may_be_the_root_or_odd() {
    let options = SiteOptions { base_path: "/".into(), ..SiteOptions::admin(rules()) };
    let api = start(options, &[]);
    check_status(&api, "GET", "/health", 200);
    check_status(&api, "GET", "/", 404);
    let options = SiteOptions { base_path: "a{b}".into(), ..SiteOptions::admin(rules()) };
    check_status(&start(options, &[]), "GET", "/a{b}/health", 200);
}
