//! The admin API over sockets: SCG's shapes and statuses, and what weir adds.

mod common;

use std::sync::atomic::Ordering;

use common::http::{Api, admin, rules, start};
use serde_json::{Value, json};
use weir_admin::{AccessRules, Exposure, GatewayAccess, Limits, SiteOptions};

const ROUTES: &str = "/actuator/gateway/routes";
const NEW: &str = r#"{"uri":"http://x","predicates":["Path=/new"]}"#;

fn check_status(api: &Api, method: &str, target: &str, expected: u16) {
    let answer = api.send(method, target, &[], "");
    assert_eq!(answer.status, expected, "{method} {target}: {answer:?}");
}

#[test]
fn a_route_is_made_shown_replaced_and_deleted() {
    let api = admin(&[("fixed", "http://files.example/ignored")]);
    let made = api.post("/actuator/gateway/routes/new", NEW);
    assert_eq!((made.status, made.header("location")), (201, Some("/routes/new")));
    assert_eq!((made.header("etag"), made.header("content-length")), (Some("\"1\""), Some("0")));
    assert_eq!(api.ids(), ["fixed", "new"]);
    let shown = api.get("/actuator/gateway/routes/new");
    assert_eq!((shown.status, shown.header("etag")), (200, Some("\"1\"")));
    assert_eq!(shown.header("content-type"), Some("application/json"));
    let keys: Vec<String> = shown.json().as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, ["predicate", "route_id", "filters", "uri", "order"]);
    assert_eq!(shown.json()["uri"], "http://x:80");
    let fixed = api.get("/actuator/gateway/routes/fixed");
    assert_eq!(
        (fixed.json()["uri"].as_str(), fixed.header("etag")),
        (Some("http://files.example:80/ignored"), None)
    );
    let again =
        api.send("PUT", "/actuator/gateway/routes/new", &["Content-Type: application/json"], NEW);
    assert_eq!((again.status, again.header("etag")), (201, Some("\"2\"")));
    let gone = api.delete("/actuator/gateway/routes/new");
    assert_eq!((gone.status, gone.body.as_str()), (200, ""));
    let gone = api.delete("/actuator/gateway/routes/new");
    assert_eq!((gone.status, gone.body.as_str()), (404, ""));
    let fixed = api.delete("/actuator/gateway/routes/fixed");
    assert_eq!((fixed.status, fixed.body.as_str()), (404, ""));
    assert_eq!(api.get("/actuator/gateway/routes/new").status, 404);
    assert_eq!(api.get("/actuator/gateway/routes/new").body, "");
}

#[test]
fn the_id_of_the_path_counts_and_may_be_any_text() {
    let api = admin(&[]);
    let body = r#"{"id":"body","uri":"http://x"}"#;
    let made = api.post("/actuator/gateway/routes/a%2Fb%20%C3%BC", body);
    assert_eq!(made.header("location"), Some("/routes/a%2Fb%20%C3%BC"));
    assert_eq!(api.ids(), ["a/b ü"]);
    assert_eq!(api.get("/actuator/gateway/routes/a%2Fb%20%C3%BC").status, 200);
    assert_eq!(api.delete("/actuator/gateway/routes/a%2Fb%20%C3%BC").status, 200);
    check_status(&api, "GET", "/actuator/gateway/routes/%FF", 400);
}

#[test]
fn a_bad_definition_is_refused_with_every_problem() {
    let api = admin(&[]);
    let target = "/actuator/gateway/routes/bad";
    let refused = api.post(target, r#"{"uri":"http://x","predicates":["Path"],"order":"x"}"#);
    assert_eq!(refused.status, 400);
    let body = refused.json();
    assert_eq!(body["error"], "Bad Request");
    assert_eq!((&body["status"], &body["path"]), (&json!(400), &json!(target)));
    let places: Vec<&Value> =
        body["problems"].as_array().expect("problems").iter().map(|p| &p["at"]).collect();
    assert_eq!(places, ["predicates[0]", "order"]);
    let refused = api.post(target, r#"{"uri":"example.org"}"#).json();
    assert_eq!(
        refused["problems"],
        json!([{ "at": "uri", "message": "no scheme", "help": "write http://…" }])
    );
    for broken in ["", "{\"uri\":", "nonsense", "[]", "null", "5"] {
        assert_eq!(api.post(target, broken).status, 400, "{broken}");
    }
    let deep =
        format!("{{\"uri\":\"http://x\",\"metadata\":{}{}}}", "[".repeat(500), "]".repeat(500));
    assert_eq!(api.post(target, &deep).status, 400);
    assert!(api.ids().is_empty());
}

#[test]
fn other_media_types_are_refused() {
    let api = admin(&[]);
    let send = |lines: &[&str]| api.send("POST", "/actuator/gateway/routes/a", lines, NEW);
    for lines in [&["Content-Type: text/plain"][..], &[], &["Content-Type: application/x-ndjson"]] {
        let refused = send(lines);
        assert_eq!(refused.status, 415, "{lines:?}");
        let keys: Vec<String> =
            refused.json().as_object().expect("an object").keys().cloned().collect();
        assert_eq!(keys, ["timestamp", "path", "status", "error", "requestId"]);
    }
    assert_eq!(send(&["Content-Type: application/json;charset=UTF-8"]).status, 201);
    let form = ["Content-Type: application/x-www-form-urlencoded"];
    assert_eq!(api.send("POST", ROUTES, &form, "a=b").status, 415);
    let html = api.send("GET", ROUTES, &["Accept: text/html"], "");
    assert_eq!(html.status, 406);
    let browser = ["Accept: text/html,application/xhtml+xml,*/*;q=0.8"];
    assert_eq!(api.send("GET", ROUTES, &browser, "").status, 200);
    assert_eq!(api.send("GET", ROUTES, &["Accept: application/*"], "").status, 200);
}

#[test]
fn revisions_guard_changes() {
    let api = admin(&[]);
    let put = |line: &str| {
        let lines = ["Content-Type: application/json", line];
        api.send("POST", "/actuator/gateway/routes/a", &lines, NEW)
    };
    assert_eq!(put("If-Match: *").status, 412);
    assert_eq!(put("If-None-Match: *").status, 201);
    let refused = put("If-None-Match: *");
    assert_eq!((refused.status, refused.header("etag")), (412, Some("\"1\"")));
    assert_eq!(put("If-Match: \"7\"").status, 412);
    assert_eq!(put("If-Match: W/\"1\"").status, 412);
    assert_eq!(put("If-Match: \"7\", \"1\"").header("etag"), Some("\"2\""));
    assert_eq!(put("If-None-Match: \"2\"").status, 400);
    let delete = |line| api.send("DELETE", "/actuator/gateway/routes/a", &[line], "").status;
    assert_eq!(delete("If-Match: \"1\""), 412);
    assert_eq!(delete("If-Match: \"2\""), 200);
    assert_eq!(delete("If-Match: *"), 412);
}

#[test]
fn many_routes_are_written_at_once_or_not_at_all() {
    let api = admin(&[]);
    assert_eq!(api.post(ROUTES, "[]").status, 200);
    let two = r#"[{"id":"a","uri":"http://x"},{"id":"b","uri":"http://x"}]"#;
    let done = api.post(ROUTES, two);
    assert_eq!((done.status, done.body.as_str()), (200, ""));
    assert_eq!(
        (done.header("x-weir-created"), done.header("x-weir-replaced")),
        (Some("2"), Some("0"))
    );
    let bad = r#"[{"id":"c","uri":"http://x"},{"uri":"http://x"},{"id":"d","uri":"x"},5]"#;
    let refused = api.post(ROUTES, bad);
    assert_eq!(refused.status, 400);
    let places: Vec<String> = refused.json()["problems"]
        .as_array()
        .expect("problems")
        .iter()
        .map(|problem| problem["at"].as_str().expect("a place").to_owned())
        .collect();
    assert_eq!(places, ["[1].id", "route 'd': uri", "[3]"]);
    assert_eq!(api.ids(), ["a", "b"]);
    for broken in [r#"{"id":"a","uri":"http://x"}"#, "[{}", "[] []", ""] {
        assert_eq!(api.post(ROUTES, broken).status, 400, "{broken}");
    }
    let lines = "{\"id\":\"b\",\"uri\":\"http://y\"}\n\n{\"id\":\"c\",\"uri\":\"http://y\"}\n";
    let done = api.send("POST", ROUTES, &["Content-Type: application/x-ndjson"], lines);
    assert_eq!(
        (done.header("x-weir-created"), done.header("x-weir-replaced")),
        (Some("1"), Some("1"))
    );
    let broken = "{\"id\":\"e\",\"uri\":\"http://y\"}\n{\n";
    let refused = api.send("POST", ROUTES, &["Content-Type: application/x-ndjson"], broken);
    assert_eq!(refused.status, 400);
    assert_eq!(api.ids(), ["a", "b", "c"]);
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
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
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
fn lists_are_paged_and_searched() {
    let api = admin(&[("f", "http://files")]);
    let routes: Vec<Value> = (0..5)
        .map(|n| {
            json!({ "id": format!("r{n}"), "uri": format!("http://host{}", n % 2),
                    "predicates": [format!("Path=/p{n}")], "metadata": { "n": n } })
        })
        .collect();
    assert_eq!(api.post(ROUTES, &Value::from(routes).to_string()).status, 200);
    let check = |query: &str, ids: &[&str], total: &str, link: Option<&str>| {
        let answer = api.get(&format!("{ROUTES}?{query}"));
        let found = answer.json();
        let found: Vec<&str> = found
            .as_array()
            .expect("a list")
            .iter()
            .map(|route| route["route_id"].as_str().expect("an id"))
            .collect();
        assert_eq!(found, ids, "{query}");
        assert_eq!(answer.header("x-total-count"), Some(total), "{query}");
        assert_eq!(answer.header("link"), link, "{query}");
    };
    check("", &["f", "r0", "r1", "r2", "r3", "r4"], "6", None);
    check(
        "size=2",
        &["f", "r0"],
        "6",
        Some("</actuator/gateway/routes?page=1&size=2>; rel=\"next\""),
    );
    check(
        "page=1&size=2&q=http",
        &["r1", "r2"],
        "6",
        Some(
            "</actuator/gateway/routes?page=0&size=2&q=http>; rel=\"prev\", \
              </actuator/gateway/routes?page=2&size=2&q=http>; rel=\"next\"",
        ),
    );
    check(
        "page=2&size=2",
        &["r3", "r4"],
        "6",
        Some("</actuator/gateway/routes?page=1&size=2>; rel=\"prev\""),
    );
    check(
        "page=9&size=2",
        &[],
        "6",
        Some("</actuator/gateway/routes?page=8&size=2>; rel=\"prev\""),
    );
    check("uri=HOST1", &["r1", "r3"], "2", None);
    check("path=%2Fp4", &["r4"], "1", None);
    check(
        "id=r&uri=host0&size=1",
        &["r0"],
        "3",
        Some("</actuator/gateway/routes?page=1&size=1&id=r&uri=host0>; rel=\"next\""),
    );
    check("metadata=n:3", &["r3"], "1", None);
    check("q=nowhere", &[], "0", None);
    for bad in ["page=x", "size=0", "size=-1", "metadata=n", "nonsense=1"] {
        check_status(&api, "GET", &format!("{ROUTES}?{bad}"), 400);
    }
}

#[test]
fn a_removal_needs_a_condition() {
    let api = admin(&[("f", "http://x")]);
    for id in ["a1", "a2", "b"] {
        api.post(&format!("{ROUTES}/{id}"), NEW);
    }
    for bad in ["", "?all=false", "?nonsense=1", "?q=a&page=1", "?size=1"] {
        check_status(&api, "DELETE", &format!("{ROUTES}{bad}"), 400);
    }
    assert_eq!(api.ids(), ["f", "a1", "a2", "b"]);
    assert_eq!(api.delete(&format!("{ROUTES}?id=a")).json(), json!({ "deleted": 2 }));
    assert_eq!(api.ids(), ["f", "b"]);
    assert_eq!(api.delete(&format!("{ROUTES}?all=true")).json(), json!({ "deleted": 1 }));
    assert_eq!(api.ids(), ["f"]);
}

#[test]
fn an_id_that_is_there_twice_is_an_error_to_ask_for() {
    let api = admin(&[("twin", "http://x"), ("twin", "http://y")]);
    check_status(&api, "GET", "/actuator/gateway/routes/twin", 500);
    let combined = api.get("/actuator/gateway/routes/twin/combinedfilters");
    assert_eq!(combined.json().as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn combined_filters_are_the_route_in_words() {
    let api = admin(&[]);
    let body = r#"{"uri":"http://x","order":3,"metadata":{"tag":"blue","n":{"a":1}}}"#;
    api.post("/actuator/gateway/routes/a", body);
    let combined = api.get("/actuator/gateway/routes/a/combinedfilters").json();
    let (text, order) = combined.as_object().and_then(|map| map.iter().next()).expect("an entry");
    assert!(text.starts_with("Route{id='a', uri=http://x:80, order=3, predicate="), "{text}");
    assert!(text.ends_with("gatewayFilters=[], metadata={tag=blue, n={a=1}}}"), "{text}");
    assert_eq!(order, 3);
    assert_eq!(api.get("/actuator/gateway/routes/none/combinedfilters").json(), json!({}));
}

#[test]
fn definitions_are_shown_as_written() {
    let api = admin(&[("f", "http://x/y")]);
    api.post("/actuator/gateway/routes/a", r#"{"uri":"http://x","filters":["StripPrefix=1"]}"#);
    let definitions = api.get("/actuator/gateway/routedefinitions");
    let expected = r#"[{"enabled":true,"filters":[],"id":"f","metadata":{},"order":0,"predicates":[],"uri":"http://x/y"},{"enabled":true,"filters":[{"args":{"_genkey_0":"1"},"name":"StripPrefix"}],"id":"a","metadata":{},"order":0,"predicates":[],"uri":"http://x"}]"#;
    assert_eq!(definitions.body, expected);
    let options = SiteOptions { is_verbose: false, ..SiteOptions::admin(rules()) };
    let api = start(options, &[("f", "http://x/y")]);
    check_status(&api, "GET", "/actuator/gateway/routedefinitions", 404);
    let bare = r#"{"enabled":true,"filters":[],"id":"f","metadata":{},"order":0,"predicates":[],"uri":"http://x/y"}"#;
    assert_eq!(api.get("/actuator/gateway/routes/f").body, bare);
    let list = format!(r#"[{{"route_id":"f","route_definition":{bare},"order":0}}]"#);
    assert_eq!(api.get(ROUTES).body, list);
}

#[test]
fn the_indexes_list_what_is_there() {
    let api = admin(&[("f", "http://x")]);
    let index = api.send("GET", "/actuator", &["Host: gw.example"], "");
    assert_eq!(index.header("content-type"), Some("application/vnd.spring-boot.actuator.v3+json"));
    let links = index.json()["_links"].clone();
    let names: Vec<&String> = links.as_object().expect("links").keys().collect();
    let expected = [
        "self",
        "info",
        "health",
        "health-path",
        "loggers",
        "loggers-name",
        "prometheus",
        "gateway",
    ];
    assert_eq!(names, expected);
    assert_eq!(links["self"]["href"], "http://gw.example/actuator");
    let path = json!({ "href": "http://gw.example/actuator/health/{*path}", "templated": true });
    assert_eq!(links["health-path"], path);
    let index = api.get("/actuator/gateway").json();
    let paths: Vec<&str> = index
        .as_array()
        .expect("a list")
        .iter()
        .map(|link| link["href"].as_str().expect("a path"))
        .collect();
    assert!(paths.contains(&"/actuator/gateway/routes/f"), "{paths:?}");
    assert_eq!(index[4], json!({ "href": "/actuator/gateway/routes", "methods": ["POST", "GET"] }));
    check_status(&api, "GET", "/actuator/gateway/", 404);
    check_status(&api, "GET", "/actuator/gateway/nope", 404);
    check_status(&api, "GET", "/actuator/env", 404);
    check_status(&api, "PUT", ROUTES, 405);
    check_status(&api, "POST", "/actuator/health", 405);
}

#[test]
fn factories_and_global_filters_are_listed() {
    let api = admin(&[]);
    let global = api.get("/actuator/gateway/globalfilters").json();
    assert_eq!(global.as_object().map(serde_json::Map::len), Some(10));
    assert_eq!(api.get("/actuator/gateway/routefilters").status, 200);
    assert_eq!(api.get("/actuator/gateway/routepredicates").status, 200);
    let refreshed = api.send("POST", "/actuator/gateway/refresh?metadata=a:b", &[], "");
    assert_eq!((refreshed.status, refreshed.body.as_str()), (200, ""));
}

#[test]
fn health_follows_readiness() {
    let api = admin(&[]);
    let health = api.get("/actuator/health");
    assert_eq!(health.body, r#"{"groups":["liveness","readiness"],"status":"UP"}"#);
    assert_eq!(health.header("content-length"), Some("49"));
    assert_eq!(api.get("/actuator/health/readiness").body, r#"{"status":"UP"}"#);
    let head = api.send("HEAD", "/actuator/health", &[], "");
    assert_eq!(
        (head.status, head.header("content-length"), head.body.as_str()),
        (200, Some("49"), "")
    );
    api.ready.store(false, Ordering::Release);
    let out = api.get("/actuator/health/readiness");
    assert_eq!((out.status, out.body.as_str()), (503, r#"{"status":"OUT_OF_SERVICE"}"#));
    assert_eq!(api.get("/actuator/health").status, 503);
    assert_eq!(api.get("/actuator/health/liveness").body, r#"{"status":"UP"}"#);
    check_status(&api, "GET", "/actuator/health/none", 404);
}

#[test]
fn process_endpoints_come_from_the_hooks() {
    let api = admin(&[]);
    assert_eq!(api.get("/actuator/info").json(), json!({ "build": { "name": "weir" } }));
    let metrics = api.get("/actuator/prometheus");
    assert_eq!(metrics.body, "requests_total 5\n");
    assert_eq!(metrics.header("content-type"), Some("text/plain;version=0.0.4;charset=utf-8"));
    let stats = api.get("/actuator/gateway/stats").json();
    assert_eq!(stats["dataPlane"], json!({ "connections": 3 }));
    assert_eq!(stats["store"]["open"], true);
}

#[test]
fn log_levels_are_shown_and_set() {
    let api = admin(&[]);
    let one = "/actuator/loggers/weir_server";
    assert_eq!(api.get(one).json(), json!({ "effectiveLevel": "INFO" }));
    assert_eq!(api.post(one, r#"{"configuredLevel":"debug"}"#).status, 204);
    let set = json!({ "configuredLevel": "DEBUG", "effectiveLevel": "DEBUG" });
    assert_eq!(api.get(one).json(), set);
    assert_eq!(api.get("/actuator/loggers").json()["loggers"]["weir_server"], set);
    assert_eq!(api.post(one, r#"{"configuredLevel":null}"#).status, 204);
    assert_eq!(api.get(one).json(), json!({ "effectiveLevel": "INFO" }));
    assert_eq!(api.post(one, r#"{"configuredLevel":"LOUD"}"#).status, 400);
    assert_eq!(api.post("/actuator/loggers/none", r#"{"configuredLevel":"INFO"}"#).status, 400);
    check_status(&api, "GET", "/actuator/loggers/none", 404);
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
    let options = SiteOptions { gateway: GatewayAccess::ReadOnly, ..SiteOptions::admin(rules()) };
    let api = start(options, &[("a", "http://x")]);
    assert_eq!(api.ids(), ["a"]);
    assert_eq!(api.post("/actuator/gateway/routes/new", NEW).status, 405);
    check_status(&api, "DELETE", "/actuator/gateway/routes/a", 405);
    check_status(&api, "POST", "/actuator/gateway/refresh", 404);
    let options = SiteOptions { gateway: GatewayAccess::None, ..SiteOptions::admin(rules()) };
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
    for (path, expected) in [
        ("/actuator", true),
        ("/actuator/health", true),
        ("/actuator/health/liveness", true),
        ("/actuator/gateway/routes", false),
        ("/actuator/healthy", false),
        ("/actuators", false),
        ("/", false),
    ] {
        assert_eq!(api.site.owns(path), expected, "{path}");
    }
    let options = SiteOptions { exposure: Exposure::all(), ..SiteOptions::main() };
    let api = start(options, &[("a", "http://x")]);
    assert_eq!(api.send("GET", ROUTES, &["Host: shop.example"], "").status, 200);
    assert_eq!(api.post("/actuator/gateway/routes/new", NEW).status, 405);
    check_status(&api, "DELETE", "/actuator/gateway/routes/a", 405);
    check_status(&api, "POST", "/actuator/gateway/refresh", 404);
    assert_eq!(api.post("/actuator/loggers/weir_server", "{}").status, 405);
    assert!(api.site.owns("/actuator/gateway/routes"));
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
    assert_eq!(document["openapi"], "3.1.0");
    let all = ["GET", "POST", "PUT", "DELETE"];
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let target = path.replace("{id}", "nope").replace("{name}", "nope");
        for method in all {
            let documented = methods.get(method.to_ascii_lowercase());
            // A body of another type changes nothing, and tells 405 from all that is served.
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
fn writers_at_once_are_all_answered_and_all_durable() {
    let api = admin(&[]);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let api = &api;
            scope.spawn(move || {
                for n in 0..10 {
                    let target = format!("{ROUTES}/w{writer}-{n}");
                    assert_eq!(api.post(&target, NEW).status, 201);
                }
            });
        }
    });
    assert_eq!(api.ids().len(), 80);
    let Api { server, control, site, directory, .. } = api;
    drop((server, site, control));
    assert_eq!(common::ids(&common::control(&directory, &[])).len(), 80);
}

#[test]
fn a_long_list_is_whole() {
    let api = admin(&[]);
    let routes: Vec<Value> = (0..3000)
        .map(|n| json!({ "id": format!("r{n:04}"), "uri": format!("http://h{n}/{}", "x".repeat(50)) }))
        .collect();
    assert_eq!(api.post(ROUTES, &Value::from(routes).to_string()).status, 200);
    let ids = api.ids();
    assert_eq!(ids.len(), 3000);
    assert!(ids.is_sorted());
}
