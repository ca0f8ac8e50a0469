//! Nacos, with the answers in its documentation: version 1 with held requests, and version 3.

use weir_testkit::{Answer, Origin, Received};

use crate::server::{Server, State, json};
use crate::{PORTS, gateway, refusal, route, said, status, until};

/// The server's checksum of a text: any string that differs where the text does.
fn sum(text: &str) -> String {
    format!("{:032x}", text.bytes().fold(7_u64, |sum, b| sum.wrapping_mul(31) ^ u64::from(b)))
}

fn value(query: &str, name: &str) -> String {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(known, _)| *known == name).map(|(_, value)| value);
    found.unwrap_or_default().replace("%2E", ".").replace("%2D", "-").replace("%5F", "_")
}

fn version_1(received: &Received, state: &State) -> Answer {
    let target = received.target();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    match path {
        "/nacos/v1/auth/login" => {
            return json(&[], r#"{"accessToken":"secret-token","tokenTtl":18000}"#);
        }
        _ if !query.contains("accessToken=secret") => return Answer::status(403, &[], "denied"),
        "/nacos/v1/cs/configs/listener" => {
            // A held request is answered a moment later, whether anything has changed or not.
            let pause = std::time::Duration::from_millis(50);
            return Answer::nothing().rest(pause).and(Answer::status(200, &[], ""));
        }
        _ => {}
    }
    let name = format!("{}@{}", value(query, "group"), value(query, "dataId"));
    match state.texts.get(&name) {
        Some(text) => Answer::status(200, &[&format!("Content-MD5: {}", sum(text))], text),
        None => Answer::status(404, &[], "config data not exist"),
    }
}

fn version_3(received: &Received, state: &State) -> Answer {
    let target = received.target();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    if path != "/nacos/v3/client/cs/config" {
        return Answer::status(410, &[], "<html>gone</html>");
    }
    let name = format!("{}@{}", value(query, "groupName"), value(query, "dataId"));
    match state.texts.get(&name) {
        Some(text) => {
            let data = serde_json::json!({ "content": text, "md5": sum(text) });
            json(&[], &serde_json::json!({ "code": 0, "data": data }).to_string())
        }
        None => Answer::status(404, &[], r#"{"code":20004,"message":"resource not found"}"#),
    }
}

fn array(path: &str, uri: &str) -> String {
    serde_json::json!([{ "id": "r", "uri": uri, "predicates": [
        { "name": "Path", "args": { "pattern": path } }] }])
    .to_string()
}

#[tokio::test]
async fn an_import_is_read_with_a_login_and_watched_by_held_requests() {
    let (origin, server) = (Origin::start().await, Server::start(version_1).await);
    server.put("G@gate.yaml", &route("/a", &origin.uri()));
    let config = format!(
        "{PORTS}spring:\n  config.import: 'nacos:gate.yaml?group=G'\n  cloud.nacos:\n    \
         config.server-addr: {}\n    username: nacos\n    password: canary-4711\n",
        server.origin.address()
    );
    let gateway = gateway(&[("application.yml", &config)]).await;
    assert_eq!(status(&gateway, "/a").await, 200);
    // It listens for changes of what it has read.
    let start = std::time::Instant::now();
    while !server.origin.requests().iter().any(|one| one.target().contains("listener")) {
        assert!(start.elapsed() < weir_testkit::PATIENCE, "nobody listens");
        tokio::task::yield_now().await;
    }
    server.put("G@gate.yaml", &route("/b", &origin.uri()));
    until(gateway.address(), "/b", 200).await;
    let held = server.origin.requests();
    let held = held.iter().find(|received| received.target().contains("listener"));
    let held = held.expect("a held request");
    let body =
        format!("Listening-Configs=gate%2Eyaml%02G%02{}%01", sum(&route("/a", &origin.uri())));
    assert_eq!(String::from_utf8_lossy(&held.body), body);
    assert_eq!(held.field("long-pulling-timeout").as_deref(), Some("30000"));
    let media = held.field("content-type");
    assert_eq!(media.as_deref(), Some("application/x-www-form-urlencoded"));

    // A text that is no YAML is refused with its place, and the old configuration stays in use.
    server.put("G@gate.yaml", "a: [\n");
    let gateway = said(gateway, "not reloaded").await;
    assert_eq!(status(&gateway, "/b").await, 200);
    let place = format!("nacos:{}/gate.yaml@G:", server.origin.address());
    assert!(gateway.output().contains(&place), "{}", gateway.output());
    for secret in ["secret-token", "canary-4711"] {
        assert!(!gateway.output().contains(secret), "{}", gateway.output());
    }
}

#[tokio::test]
async fn routes_in_one_data_id_come_beside_those_of_files() {
    let (origin, server) = (Origin::start().await, Server::start(version_1).await);
    server.put("DEFAULT_GROUP@routes", &array("/a", &origin.uri()));
    let config = format!(
        "{PORTS}spring.cloud.nacos:\n  server-addr: {}\n  discovery.enabled: false\n  username: \
         n\n  password: p\nweir.config.nacos.routes: {{ data-id: routes }}\n{}",
        server.origin.address(),
        route("/file", &origin.uri()).replace("id: r", "id: file")
    );
    let gateway = gateway(&[("application.yml", &config)]).await;
    assert_eq!((status(&gateway, "/a").await, status(&gateway, "/file").await), (200, 200));
    server.put("DEFAULT_GROUP@routes", &array("/b", &origin.uri()));
    until(gateway.address(), "/b", 200).await;
    assert_eq!((status(&gateway, "/a").await, status(&gateway, "/file").await), (404, 200));
    // An empty text is no list of routes: the last one serves on.
    server.put("DEFAULT_GROUP@routes", "");
    let gateway = said(gateway, "its last answer stays in use").await;
    assert_eq!(status(&gateway, "/b").await, 200);
}

#[tokio::test]
async fn version_3_is_found_and_what_is_not_there_is_told() {
    let (origin, server) = (Origin::start().await, Server::start(version_3).await);
    let config = format!(
        "{PORTS}spring.config.import: nacos:gate.json\nspring.cloud.nacos.config.server-addr: \
         {}\n",
        server.origin.address()
    );
    let told = refusal(&[("application.yml", &config)]).await;
    let text = "it has nothing under the data id `gate.json` in the group `DEFAULT_GROUP`";
    assert!(told.contains(text), "{told}");
    server.put("DEFAULT_GROUP@gate.json", &array("/a", &origin.uri()));
    let gateway = gateway(&[("application.yml", &config)]).await;
    assert_eq!(status(&gateway, "/a").await, 200);
}

#[tokio::test]
async fn a_bootstrap_file_reads_shared_and_own_data_ids() {
    let (origin, server) = (Origin::start().await, Server::start(version_1).await);
    server.put("DEFAULT_GROUP@common.yaml", "upstream: http://127.0.0.1:1\ngate.path: /common\n");
    server.put("DEFAULT_GROUP@gate.yaml", &route("${gate.path}", "${upstream}"));
    let own = format!("upstream: {}\n", origin.uri());
    server.put("DEFAULT_GROUP@gate-default.yaml", &own);
    let bootstrap = format!(
        "spring.cloud.nacos:\n  username: n\n  password: p\n  config:\n    server-addr: {}\n    \
         file-extension: yaml\n    shared-configs: [ {{ data-id: common.yaml }} ]\n",
        server.origin.address()
    );
    let files = [("application.yml", PORTS), ("bootstrap.yml", bootstrap.as_str())];
    let gateway = gateway(&files).await;
    assert_eq!(status(&gateway, "/common").await, 200);
    server.put("DEFAULT_GROUP@gate-default.yaml", &format!("{own}gate.path: /own\n"));
    until(gateway.address(), "/own", 200).await;
}
