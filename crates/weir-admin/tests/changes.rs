//! Changing routes over HTTP: definitions, revisions, lists, removals.

mod common;

use common::http::{Api, admin};
use serde_json::{Value, json};

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
        json!([{ "at": "uri", "message": "the uri has no scheme",
                 "help": "put a scheme in front: `http://example.org`" }])
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
fn a_removal_needs_a_condition() {
    let api = admin(&[("f", "http://x")]);
    for id in ["a1", "a2", "b"] {
        api.post(&format!("{ROUTES}/{id}"), NEW);
    }
    for bad in ["", "?all=false", "?nonsense=1", "?q=a&page=1", "?size=1", "?from=store"] {
        check_status(&api, "DELETE", &format!("{ROUTES}{bad}"), 400);
    }
    assert_eq!(api.ids(), ["f", "a1", "a2", "b"]);
    assert_eq!(api.delete(&format!("{ROUTES}?id=a")).json(), json!({ "deleted": 2 }));
    assert_eq!(api.ids(), ["f", "b"]);
    assert_eq!(api.delete(&format!("{ROUTES}?all=true")).json(), json!({ "deleted": 1 }));
    assert_eq!(api.ids(), ["f"]);
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
