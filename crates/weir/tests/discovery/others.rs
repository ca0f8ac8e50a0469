//! Consul and Nacos: answers in the form of their documentation, and recorded ones of Consul 1.14
//! (`cargo xtask peers registries --record`).

use weir_testkit::{Answer, Client, Origin, Received};

use crate::registry::{Registry, State, json};
use crate::{ended, gateway, route, said, services, until};

fn nacos(received: &Received, state: &mut State) -> Answer {
    let target = received.target();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    if path == "/nacos/v1/auth/login" {
        return json(r#"{"accessToken":"secret-token","tokenTtl":18000}"#);
    }
    if !query.contains("accessToken=secret") {
        return Answer::status(403, &[], "user not found");
    }
    if path != "/nacos/v1/ns/instance/list" || received.method() != "GET" {
        return Answer::status(200, &[], "ok");
    }
    let asked = |name: &str| query.contains(&format!("serviceName={}", name.replace('-', "%2D")));
    let hosts = state.instances.iter().filter(|(name, ..)| asked(name));
    let hosts: Vec<String> = hosts
        .map(|(_, port, _)| {
            format!(
                r#"{{"ip":"127.0.0.1","port":{port},"weight":1.0,"healthy":true,"enabled":true,
                    "ephemeral":true,"clusterName":"DEFAULT","metadata":{{}}}}"#
            )
        })
        .collect();
    json(&format!(r#"{{"name":"DEFAULT_GROUP@@x","hosts":[{}]}}"#, hosts.join(",")))
}

#[tokio::test]
async fn nacos_with_user_and_token() {
    let origin = Origin::start().await;
    let registry = Registry::start(nacos).await;
    registry.list(&[("order-service", origin.address().port())]);
    let config = format!(
        "spring.cloud.nacos.discovery:\n  server-addr: {}\n  username: nacos\n  password: p\n  \
         watch-delay: 100ms\n{}",
        registry.origin.address(),
        route("order-service"),
    );
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    let gateway = said(gateway, "weir is registered").await;
    assert!(registry.was_asked("POST /nacos/v1/ns/instance?serviceName=gate"));
    registry.list(&[]);
    let holds = |_: u16, text: &str| text.contains("\"state\":\"doubted\"");
    until(gateway.admin(), "/actuator/gateway/services", holds).await;
    assert!(!gateway.output().contains("secret-token"));
    ended(gateway).await;
    assert!(registry.was_asked("DELETE /nacos/v1/ns/instance?serviceName=gate"));
}

/// Blocking queries are held until there is a change, as Consul holds them.
fn consul(received: &Received, state: &mut State) -> Answer {
    let target = received.target();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let index = format!("X-Consul-Index: {}", state.index);
    let fields = [index.as_str(), "Content-Type: application/json"];
    if received.method() != "GET" {
        return Answer::status(200, &[], "");
    }
    // A query that waits for a change is answered a moment later, changed or not.
    let hold_ms = state.hold_ms;
    let waits = query.starts_with(&format!("index={}&", state.index));
    let answer = |body: &str| {
        let pause = if waits { hold_ms } else { 0 };
        Answer::nothing()
            .rest(std::time::Duration::from_millis(pause))
            .and(Answer::status(200, &fields, body))
    };
    if path == "/v1/catalog/services" {
        let names: Vec<String> =
            state.instances.iter().map(|(name, ..)| format!(r#""{name}":[]"#)).collect();
        return answer(&format!("{{{}}}", names.join(",")));
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let entries = state.instances.iter().filter(|(known, ..)| known == name);
    let entries: Vec<String> = entries
        .map(|(_, port, status)| {
            let check = if status == "UP" { "passing" } else { "critical" };
            format!(
                r#"{{"Node":{{"Address":"127.0.0.1"}},"Service":{{"ID":"{name}-{port}",
                    "Service":"{name}","Address":"","Port":{port},"Tags":[],"Meta":{{}},
                    "Weights":{{"Passing":1,"Warning":1}}}},"Checks":[{{"Status":"{check}"}}]}}"#
            )
        })
        .collect();
    answer(&format!("[{}]", entries.join(",")))
}

#[tokio::test]
async fn consul_with_blocking_queries_and_checks() {
    let origin = Origin::start().await;
    let registry = Registry::start(consul).await;
    registry.list(&[("svc", origin.address().port())]);
    let address = registry.origin.address();
    let config = format!(
        "spring.cloud.consul:\n  host: {}\n  port: {}\n  token: acl-token\n{}",
        address.ip(),
        address.port(),
        route("svc"),
    );
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    let gateway = said(gateway, "weir is registered").await;
    let first = registry.origin.requests();
    let token = first.first().and_then(|received| received.field("x-consul-token"));
    assert_eq!(token.as_deref(), Some("acl-token"));
    {
        let mut state = registry.state();
        state.instances[0].2 = "DOWN".to_owned();
        state.index += 1;
    }
    until(gateway.address(), "/x", |status, _| status == 503).await;
    let shown = services(&gateway, "/svc").await;
    assert_eq!(shown["instances"][0]["why"], "the registry does not report it as up");
    ended(gateway).await;
    assert!(registry.was_asked("PUT /v1/agent/service/deregister/gate-"));
}

#[tokio::test]
async fn a_service_that_a_new_route_asks_for_is_asked_for_at_once() {
    let origin = Origin::start().await;
    let registry = Registry::start(consul).await;
    registry.list(&[("late", origin.address().port())]);
    // Far longer than the test takes.
    registry.state().hold_ms = 600_000;
    let address = registry.origin.address();
    let config = format!(
        "spring.cloud.consul: {{ host: {}, port: {}, discovery.register: false }}\n{}",
        address.ip(),
        address.port(),
        route("svc"),
    );
    let gateway = gateway(&config).await;
    let body = r#"{"uri":"lb://late","predicates":["Path=/late"]}"#;
    let post = format!(
        "POST /actuator/gateway/routes/late HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(Client::connect(gateway.admin()).await.exchange(post).await.status, 201);
    until(gateway.address(), "/late", |status, _| status == 200).await;
}

#[tokio::test]
async fn of_two_registries_the_one_that_has_an_instance_serves() {
    let origin = Origin::start().await;
    let registry = Registry::start(|_, _| json(r#"{"applications":{"application":[]}}"#)).await;
    let config = format!(
        "eureka.client.service-url.defaultZone: {}/eureka/\neureka.client.register-with-eureka: \
         false\nweir.discovery.dns.services.svc: {}\n{}",
        registry.origin.uri(),
        origin.address(),
        route("svc"),
    );
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    assert_eq!(services(&gateway, "/svc").await["registry"], "dns");
}

/// What a real agent answered: two instances, of which the second one's check is critical.
fn recorded_consul(received: &Received, state: &mut State) -> Answer {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/discovery/recorded/consul");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).expect("a file");
    let target = received.target();
    let fields = ["X-Consul-Index: 17", "Content-Type: application/json"];
    let waits = target.contains("index=17");
    let hold = Answer::nothing().rest(std::time::Duration::from_millis(if waits { 50 } else { 0 }));
    let (_, port, _) = &state.instances[0];
    match target.split('?').next().unwrap_or_default() {
        "/v1/catalog/services" if state.index > 2 => hold.and(Answer::status(200, &fields, "{}")),
        "/v1/catalog/services" => hold.and(Answer::status(200, &fields, read("services.json"))),
        "/v1/health/service/orders" => {
            let body = read("health.json").replace("7777", &port.to_string());
            hold.and(Answer::status(200, &fields, body))
        }
        _ => Answer::status(404, &[], ""),
    }
}

#[tokio::test]
async fn answers_of_a_real_consul() {
    let origin = Origin::start().await;
    let registry = Registry::start(recorded_consul).await;
    registry.list(&[("orders", origin.address().port())]);
    let address = registry.origin.address();
    let config = format!(
        "spring.cloud.consul: {{ host: {}, port: {}, discovery.register: false }}\n{}",
        address.ip(),
        address.port(),
        route("orders"),
    );
    let gateway = gateway(&config).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
    let shown = services(&gateway, "/orders").await;
    let list = shown["instances"].as_array().expect("instances");
    for one in list {
        let is_critical = one["port"] == 7778;
        let why = is_critical.then_some("the registry does not report it as up");
        assert_eq!(one["why"].as_str(), why, "{shown}");
        assert_eq!(one["metadata"]["team"], "sales");
        assert_eq!(one["metadata"]["zone"], "east");
    }
    assert_eq!(list.len(), 2);
    // The token loses its rights: Consul then answers with an empty catalog.
    registry.state().index += 1;
    let told = |_: u16, text: &str| text.contains("not even `consul`");
    until(gateway.admin(), "/actuator/gateway/services", told).await;
    until(gateway.address(), "/x", |status, _| status == 200).await;
}
