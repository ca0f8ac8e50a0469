//! Kubernetes: answers of lists and watches in the form of its API reference, and recorded ones of
//! an API server of version 1.34 (`cargo xtask peers registries --record`).

use std::sync::{Arc, Mutex};

use serde_json::json;
use weir_testkit::{Answer, Gate, Origin, Received};

use crate::{gateway, route, services, until};

/// Head of an answer that lasts as long as its connection.
const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn slice(version: u32, ports_of_ready: &[u16], not_ready: &[u16]) -> serde_json::Value {
    // One slice has one port for all of its endpoints, so each endpoint has a slice's shape here.
    let port = ports_of_ready.first().or(not_ready.first()).copied().unwrap_or(1);
    let endpoint = |ready: bool, n: usize| {
        json!({ "addresses": ["127.0.0.1"], "conditions": { "ready": ready },
                "targetRef": { "kind": "Pod", "uid": format!("pod-{ready}-{n}") } })
    };
    let ready = (0..ports_of_ready.len()).map(|n| endpoint(true, n));
    let endpoints: Vec<_> = ready.chain((0..not_ready.len()).map(|n| endpoint(false, n))).collect();
    json!({
        "metadata": { "namespace": "shop", "name": "orders-x7", "resourceVersion":
            version.to_string(), "labels": { "kubernetes.io/service-name": "orders" } },
        "addressType": "IPv4",
        "ports": [{ "name": "web", "port": port, "protocol": "TCP" }],
        "endpoints": endpoints,
    })
}

fn event(kind: &str, object: &serde_json::Value) -> String {
    format!("{}\n", json!({ "type": kind, "object": object }))
}

fn list(version: u32, items: &[serde_json::Value]) -> Answer {
    let body = json!({ "metadata": { "resourceVersion": version.to_string() }, "items": items });
    Answer::status(200, &["Content-Type: application/json"], body.to_string())
}

fn service() -> serde_json::Value {
    json!({ "metadata": { "namespace": "shop", "name": "orders", "resourceVersion": "1",
                "labels": { "app": "orders" } },
            "spec": { "type": "ClusterIP", "ports": [{ "name": "web", "port": 80 }] } })
}

/// An API server whose lists and watches of slices are these, in order; then it holds watches.
async fn server(slices: Vec<Answer>) -> Origin {
    server_of(|| list(1, &[service()]), slices).await
}

/// The same with this list of services.
async fn server_of(services: impl Fn() -> Answer + Send + 'static, slices: Vec<Answer>) -> Origin {
    let script = Arc::new(Mutex::new(slices.into_iter()));
    Origin::answering(move |received: &Received| {
        let target = received.target();
        let holds = || Answer::raw(STREAM).rest(weir_testkit::PATIENCE);
        match target.split(['?', '/']).any(|part| part == "services") {
            true if target.contains("watch=1") => holds(),
            true => services(),
            false => script.lock().expect("no panic").next().unwrap_or_else(holds),
        }
    })
    .await
}

fn config(server: &Origin, folder: &std::path::Path) -> String {
    format!(
        "spring.cloud.kubernetes.client.master-url: {}\n\
         weir.discovery.kubernetes.account-directory: '{}'\n{}",
        server.uri(),
        folder.display(),
        route("orders"),
    )
}

fn account() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("token"), "account-token").expect("a file");
    std::fs::write(folder.path().join("namespace"), "shop").expect("a file");
    folder
}

/// The watches of slices so far, each by the version that it starts from.
fn watched(server: &Origin) -> Vec<String> {
    let targets = server.requests().into_iter().map(|received| received.target());
    let watches = targets.filter(|t| t.contains("endpointslices") && t.contains("watch=1"));
    let version = |target: String| {
        let (_, rest) = target.split_once("resourceVersion=").expect("a version");
        rest.split('&').next().unwrap_or_default().to_owned()
    };
    watches.map(version).collect()
}

#[tokio::test]
async fn changes_are_watched_and_a_cut_watch_goes_on_where_it_was() {
    let origin = Origin::start().await;
    let port = origin.address().port();
    let (added, changed) = (Gate::new(), Gate::new());
    let bookmark = json!({ "metadata": { "resourceVersion": "12" } });
    let modified = event("MODIFIED", &slice(13, &[], &[port]));
    let (half, rest) = modified.split_at(40);
    let server = server(vec![
        list(10, &[]),
        Answer::raw(STREAM)
            .pause(&added)
            .write(chunk(&event("ADDED", &slice(11, &[port], &[]))))
            .write(chunk(&event("BOOKMARK", &bookmark)))
            // The connection breaks within a line.
            .write(chunk(half))
            .close(),
        Answer::raw(STREAM)
            .pause(&changed)
            .write(chunk(half))
            .write(chunk(rest))
            .rest(weir_testkit::PATIENCE),
    ])
    .await;
    let folder = account();
    let gateway = gateway(&config(&server, folder.path())).await;
    until(gateway.address(), "/x", |status, _| status == 503).await;
    added.open();
    until(gateway.address(), "/x", |status, _| status == 200).await;
    server.wait_until(|server| watched(server).len() == 2).await;
    assert_eq!(watched(&server), ["10", "12"]);
    changed.open();
    until(gateway.address(), "/x", |status, _| status == 503).await;
    let shown = services(&gateway, "/orders").await;
    assert_eq!(shown["registry"], "kubernetes");
    assert_eq!(shown["instances"][0]["why"], "the registry does not report it as up");
    assert_eq!(shown["instances"][0]["metadata"]["app"], "orders");
    let first = server.requests().into_iter().next().expect("a request");
    assert!(first.target().contains("/namespaces/shop/"), "{}", first.target());
    assert_eq!(first.field("authorization").as_deref(), Some("Bearer account-token"));
}

#[tokio::test]
async fn what_the_server_no_longer_knows_is_listed_again() {
    let origin = Origin::start().await;
    let port = origin.address().port();
    let gone = json!({ "kind": "Status", "code": 410, "reason": "Expired" });
    let deleted = event("DELETED", &slice(31, &[], &[]));
    let (first, second) = (Gate::new(), Gate::new());
    let server = server(vec![
        list(10, &[slice(9, &[port], &[])]),
        Answer::raw(STREAM).pause(&first).write(chunk(&event("ERROR", &gone))).close(),
        list(30, &[slice(30, &[], &[port])]),
        Answer::raw(STREAM).pause(&second).write(chunk(&deleted)).rest(weir_testkit::PATIENCE),
    ])
    .await;
    let folder = account();
    let config = config(&server, folder.path()) + "weir.discovery.empty-grace: 0\n";
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    first.open();
    until(gateway.address(), "/x", |status, _| status == 503).await;
    assert_eq!(watched(&server).first().map(String::as_str), Some("10"));
    let listed = services(&gateway, "/orders").await;
    assert_eq!(listed["instances"].as_array().map(Vec::len), Some(1));
    second.open();
    let path = "/actuator/gateway/services/orders";
    until(gateway.admin(), path, |status, _| status == 404).await;
    assert_eq!(watched(&server), ["10", "30"]);
}

#[tokio::test]
async fn garbage_and_a_refusal_leave_the_last_list() {
    let origin = Origin::start().await;
    let port = origin.address().port();
    let (first, second) = (Gate::new(), Gate::new());
    let server = server(vec![
        list(10, &[slice(9, &[port], &[])]),
        Answer::raw(STREAM).pause(&first).write(chunk("{\"type\": 7\n")).close(),
        Answer::nothing().pause(&second).and(Answer::status(403, &[], "no")),
        list(20, &[slice(19, &[], &[port])]),
    ])
    .await;
    let folder = account();
    let gateway = gateway(&config(&server, folder.path())).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    first.open();
    let all = "/actuator/gateway/services";
    until(gateway.admin(), all, |_, text| text.contains("its answer is not understood")).await;
    second.open();
    let text = until(gateway.admin(), all, |_, text| text.contains("403")).await;
    assert!(text.contains("endpointslices in the namespace `shop`"), "{text}");
    until(gateway.address(), "/x", |status, _| status == 200).await;
    // The next list is believed again.
    until(gateway.address(), "/x", |status, _| status == 503).await;
}

/// What a real API server answered; its instance has this port.
fn recorded(name: &str, port: u16) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/discovery/recorded/kubernetes");
    let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("a recording");
    text.replace("7777", &port.to_string())
}

/// A list, a watch with changes, a deletion, a watch from a version that the server has forgotten,
/// and a refusal.
#[tokio::test]
async fn answers_of_a_real_server() {
    let origin = Origin::start().await;
    let port = origin.address().port();
    let recorded = |name: &str| recorded(name, port);
    let answer = |status, name| Answer::status(status, &[], recorded(name));
    let watched_lines = recorded("watch.jsonl");
    let last = watched_lines.lines().last().expect("an event");
    let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["type"], "DELETED");
    let version = last["object"]["metadata"]["resourceVersion"].as_str().expect("a version");
    let (first, second, third) = (Gate::new(), Gate::new(), Gate::new());
    let server = server_of(
        move || Answer::status(200, &[], self::recorded("services.json", port)),
        vec![
            answer(200, "slices.json"),
            Answer::raw(STREAM).pause(&first).write(chunk(&watched_lines)).close(),
            Answer::raw(STREAM).pause(&second).write(chunk(&recorded("gone.jsonl"))).close(),
            answer(200, "slices.json"),
            Answer::raw(STREAM).pause(&third).close(),
            answer(403, "forbidden.json"),
        ],
    )
    .await;
    let folder = account();
    let config = config(&server, folder.path())
        + "weir.discovery.empty-grace: 0\n\
           spring.cloud.kubernetes.discovery.primary-port-name: http\n";
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    let shown = services(&gateway, "/orders").await;
    assert_eq!(shown["instances"][0]["metadata"]["team"], "sales");
    assert_eq!(shown["instances"][0]["metadata"]["zone"], "east");
    first.open();
    until(gateway.address(), "/x", |status, _| status == 503).await;
    server.wait_until(|server| watched(server).len() == 2).await;
    assert_eq!(watched(&server)[1], version);
    second.open();
    until(gateway.address(), "/x", |status, _| status == 200).await;
    third.open();
    let told = |_: u16, text: &str| text.contains("403 Forbidden for endpointslices");
    until(gateway.admin(), "/actuator/gateway/services", told).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
}
