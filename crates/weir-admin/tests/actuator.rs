//! Reading over HTTP, in SCG's shapes and with its statuses.

mod common;

use std::sync::atomic::Ordering;

use common::http::{Api, admin, rules, start};
use serde_json::{Value, json};
use weir_admin::SiteOptions;

const ROUTES: &str = "/actuator/gateway/routes";
const NEW: &str = r#"{"uri":"http://x","predicates":["Path=/new"]}"#;

fn check_status(api: &Api, method: &str, target: &str, expected: u16) {
    let answer = api.send(method, target, &[], "");
    assert_eq!(answer.status, expected, "{method} {target}: {answer:?}");
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

/// A gateway with the route `f` of a file, and `r0` to `r4` in its store.
fn with_routes() -> Api {
    let api = admin(&[("f", "http://files")]);
    let routes: Vec<Value> = (0..5)
        .map(|n| {
            json!({ "id": format!("r{n}"), "uri": format!("http://host{}", n % 2),
                    "predicates": [format!("Path=/p{n}")], "metadata": { "n": n } })
        })
        .collect();
    assert_eq!(api.post(ROUTES, &Value::from(routes).to_string()).status, 200);
    api
}

fn check_list(api: &Api, query: &str, ids: &[&str], total: &str, links: &str) {
    let answer = api.get(&format!("{ROUTES}?{query}"));
    let found = answer.json();
    let found = found.as_array().expect("a list").iter();
    let found: Vec<&str> = found.map(|route| route["route_id"].as_str().expect("an id")).collect();
    assert_eq!(found, ids, "{query}");
    assert_eq!(answer.header("x-total-count"), Some(total), "{query}");
    let link = answer.header("link").unwrap_or("").replace("/actuator/gateway/routes", "");
    assert_eq!(link, links, "{query}");
}

#[test]
fn lists_are_paged() {
    let api = with_routes();
    check_list(&api, "", &["f", "r0", "r1", "r2", "r3", "r4"], "6", "");
    check_list(&api, "size=2", &["f", "r0"], "6", "<?page=1&size=2>; rel=\"next\"");
    let both = "<?page=0&size=2&q=http>; rel=\"prev\", <?page=2&size=2&q=http>; rel=\"next\"";
    check_list(&api, "page=1&size=2&q=http", &["r1", "r2"], "6", both);
    let last = "<?page=1&size=2>; rel=\"prev\"";
    check_list(&api, "page=2&size=2", &["r3", "r4"], "6", last);
    check_list(&api, "page=9&size=2", &[], "6", "<?page=8&size=2>; rel=\"prev\"");
    for bad in ["page=x", "size=0", "size=-1"] {
        check_status(&api, "GET", &format!("{ROUTES}?{bad}"), 400);
    }
}

#[test]
fn lists_are_searched() {
    let api = with_routes();
    check_list(&api, "uri=HOST1", &["r1", "r3"], "2", "");
    check_list(&api, "path=%2Fp4", &["r4"], "1", "");
    let next = "<?page=1&size=1&id=r&uri=host0>; rel=\"next\"";
    check_list(&api, "id=r&uri=host0&size=1", &["r0"], "3", next);
    check_list(&api, "metadata=n:3", &["r3"], "1", "");
    check_list(&api, "q=nowhere", &[], "0", "");
    check_list(&api, "from=file", &["f"], "1", "");
    check_list(&api, "from=store&size=9&q=host0", &["r0", "r2", "r4"], "3", "");
    for bad in ["from=x", "metadata=n", "nonsense=1"] {
        check_status(&api, "GET", &format!("{ROUTES}?{bad}"), 400);
    }
}

#[test]
fn entries_say_where_a_route_comes_from_and_its_revision() {
    let api = with_routes();
    let entry = api.get(&format!("{ROUTES}?form=entry&id=r3")).json();
    assert_eq!((&entry[0]["source"], &entry[0]["revision"]), (&json!("store"), &json!(4)));
    assert_eq!(entry[0]["definition"]["uri"], "http://host1");
    let entry = api.get("/actuator/gateway/routes/f?form=entry").json();
    assert_eq!((&entry["source"], &entry["revision"]), (&json!("file"), &json!(null)));
    check_status(&api, "GET", &format!("{ROUTES}?form=x"), 400);
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
    api.post("/actuator/gateway/routes/a", r#"{"uri":"http://x","predicates":["Host=h"]}"#);
    let definitions = api.get("/actuator/gateway/routedefinitions");
    let shown = |id: &str, name: &str, arg: &str, uri: &str| {
        format!(
            "{{\"enabled\":true,\"filters\":[],\"id\":\"{id}\",\"metadata\":{{}},\"order\":0,\
             \"predicates\":[{{\"args\":{{\"_genkey_0\":\"{arg}\"}},\"name\":\"{name}\"}}],\
             \"uri\":\"{uri}\"}}"
        )
    };
    let of_file = shown("f", "Path", "/f", "http://x/y");
    let expected = format!("[{of_file},{}]", shown("a", "Host", "h", "http://x"));
    assert_eq!(definitions.body, expected);
    let options = SiteOptions { is_verbose: false, ..SiteOptions::admin(rules()) };
    let api = start(options, &[("f", "http://x/y")]);
    check_status(&api, "GET", "/actuator/gateway/routedefinitions", 404);
    assert_eq!(api.get("/actuator/gateway/routes/f").body, of_file);
    let list = format!(r#"[{{"route_id":"f","route_definition":{of_file},"order":0}}]"#);
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
        "caches",
        "circuitbreakers",
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
fn health_shows_its_parts_when_told_to() {
    let options = SiteOptions { health_details: true, ..SiteOptions::admin(rules()) };
    let health = start(options, &[]).get("/actuator/health").json();
    assert_eq!(health["components"]["routeStore"], json!({ "status": "UP" }));
    assert_eq!(health["status"], "UP");
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
    assert_eq!(stats.get("index"), None);
    check_status(&api, "GET", "/actuator/gateway/stats?nonsense=1", 400);
}

#[test]
fn the_shape_of_the_table_names_routes_that_never_match() {
    let api = admin(&[("a", "http://x")]);
    api.post("/actuator/gateway/routes/b", r#"{"uri":"http://x","predicates":["Path=/a"]}"#);
    let shape = api.get("/actuator/gateway/stats?shape=true").json()["index"].clone();
    let never = json!([{ "id": "b", "by": "a", "duplicate": true }]);
    assert_eq!((&shape["shadowed"], &shape["neverMatch"]), (&json!(1), &never));
    assert_eq!(shape["scanned"], 0);
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
fn refresh_tells_names_or_why_not() {
    let api = admin(&[]);
    let done = api.post("/actuator/refresh", "");
    assert_eq!((done.status, done.json()), (200, json!(["a.b", "c[0]"])));
    let refused = api.post("/actuator/refresh", "");
    assert_eq!(refused.status, 500);
    assert_eq!(refused.json()["message"], "not reloaded: it is refused");
    check_status(&api, "GET", "/actuator/refresh", 405);
}

#[test]
fn a_long_list_is_whole() {
    let api = admin(&[]);
    let routes: Vec<Value> = (0..3000)
        .map(|n| json!({ "id": format!("r{n:04}"), "uri": format!("http://h{n}/{n:050}") }))
        .collect();
    assert_eq!(api.post(ROUTES, &Value::from(routes).to_string()).status, 200);
    let ids = api.ids();
    assert_eq!(ids.len(), 3000);
    assert!(ids.is_sorted());
}
