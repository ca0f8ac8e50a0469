//! Consul's keys and values, as its documentation has its answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_testkit::{Answer, Origin, Received};

use crate::server::{Server, State, json};
use crate::{PORTS, gateway, route, status, until};

fn answer(received: &Received, state: &State) -> Answer {
    let target = received.target();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let key = path.trim_start_matches("/v1/kv/").replace("%2C", ",");
    let recurses = query.contains("recurse=true");
    let found = state.texts.iter().filter(|(name, _)| match recurses {
        true => name.starts_with(&key),
        false => **name == key,
    });
    let found: Vec<serde_json::Value> = found
        .map(|(name, text)| serde_json::json!({ "Key": name, "Value": STANDARD.encode(text) }))
        .collect();
    let index = format!("X-Consul-Index: {}", state.index);
    let body = serde_json::Value::from(found.clone()).to_string();
    let answer = match found.is_empty() {
        true => Answer::status(404, &[&index], ""),
        false => json(&[&index], &body),
    };
    // A query that waits for a change is answered a moment later, changed or not.
    let waits = query.contains(&format!("index={}&", state.index));
    let pause = std::time::Duration::from_millis(if waits { 50 } else { 0 });
    Answer::nothing().rest(pause).and(answer)
}

fn config(server: &Server, rest: &str) -> String {
    let address = server.origin.address();
    format!(
        "{PORTS}spring:\n  config.import: 'consul:{address}'\n  cloud.consul.config:\n    \
         acl-token: canary-4711\n    watch.delay: 100ms\n{rest}"
    )
}

#[tokio::test]
async fn each_key_is_a_property_and_changes_come_by_held_queries() {
    let (origin, server) = (Origin::start().await, Server::start(answer).await);
    let routes = "config/gate/spring/cloud/gateway/server/webflux/routes[0]";
    server.put(&format!("{routes}/id"), "r");
    server.put(&format!("{routes}/uri"), "${upstream}");
    server.put(&format!("{routes}/predicates[0]"), "Path=/a");
    server.put("config/application/upstream", &origin.uri());
    let gateway = gateway(&[("application.yml", &config(&server, ""))]).await;
    assert_eq!(status(&gateway, "/a").await, 200);
    server.put(
        "config/gate,default/spring.cloud.gateway.server.webflux.x-forwarded.enabled",
        "false",
    );
    server.put(&format!("{routes}/predicates[0]"), "Path=/b");
    until(gateway.address(), "/b", 200).await;
    let token = server.origin.requests()[0].field("x-consul-token");
    assert_eq!(token.as_deref(), Some("canary-4711"));
    assert!(!gateway.output().contains("canary-4711"), "{}", gateway.output());
}

#[tokio::test]
async fn values_may_be_texts_or_files() {
    let (origin, server) = (Origin::start().await, Server::start(answer).await);
    server.put("config/gate/data", &route("/yaml", &origin.uri()));
    server.put("config/gate.yml", &route("/file", &origin.uri()));
    for (format, path) in [("YAML", "/yaml"), ("FILES", "/file")] {
        let config = config(&server, &format!("    format: {format}\n"));
        let gateway = gateway(&[("application.yml", &config)]).await;
        assert_eq!(status(&gateway, path).await, 200, "{format}");
    }
}
