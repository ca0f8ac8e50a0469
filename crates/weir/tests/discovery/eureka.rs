//! Eureka, in the shape of the recordings.

use weir_testkit::{Answer, Client, Gateway, Origin, Received, closed_port};

use crate::registry::{Mood, Registry, State, json};
use crate::{ended, gateway, route, said, services, start, until};

async fn eureka() -> Registry {
    Registry::start(answer).await
}

fn answer(received: &Received, state: &mut State) -> Answer {
    match (received.method().as_str(), received.target().as_str()) {
        ("GET", "/eureka/apps") => json(&apps(state)),
        ("GET", _) => Answer::status(404, &[], ""),
        ("POST", _) => Answer::status(204, &[], ""),
        _ => Answer::status(200, &[], ""),
    }
}

fn apps(state: &State) -> String {
    let instance = |(name, port, status): &(String, u16, String)| {
        format!(
            r#"{{"name":"{upper}","instance":[{{"instanceId":"{name}-{port}",
                "hostName":"127.0.0.1","app":"{upper}","ipAddr":"127.0.0.1","status":"{status}",
                "port":{{"$":{port},"@enabled":"true"}},"securePort":{{"$":443,"@enabled":"false"}},
                "vipAddress":"{name}","metadata":{{"edge":"true"}},"actionType":"ADDED"}}]}}"#,
            upper = name.to_uppercase(),
        )
    };
    let all: Vec<String> = state.instances.iter().map(instance).collect();
    format!(
        r#"{{"applications":{{"versions__delta":"1","apps__hashcode":"","application":[{}]}}}}"#,
        all.join(",")
    )
}

fn config(registry: &Registry, rest: &str) -> String {
    format!(
        "eureka.client.service-url.defaultZone: {}/eureka/\n\
         eureka.client.registry-fetch-interval-seconds: 1\n\
         eureka.client.eureka-server-read-timeout-seconds: 1\n{rest}",
        registry.origin.uri()
    )
}

fn port(origin: &Origin) -> u16 {
    origin.address().port()
}

async fn state_of(gateway: &Gateway, wanted: &str) {
    let holds = |_: u16, text: &str| text.contains(&format!("\"state\":\"{wanted}\""));
    until(gateway.admin(), "/actuator/gateway/services", holds).await;
}

#[tokio::test]
async fn instances_come_and_go_without_a_reload() {
    let (one, two) = (Origin::start().await, Origin::start().await);
    let registry = eureka().await;
    registry.list(&[("user-service", port(&one))]);
    let gateway = gateway(&config(&registry, &route("User-Service"))).await;
    assert_eq!(Client::connect(gateway.address()).await.get("/x/1").await.status, 200);
    registry.list(&[("user-service", port(&two))]);
    until(gateway.address(), "/x/2", |_, _| !two.requests().is_empty()).await;
    assert_eq!(one.requests().iter().filter(|r| r.target() == "/x/1").count(), 1);
    assert!(!gateway.output().contains("reload"), "{}", gateway.output());
    let shown = services(&gateway, "/user-service").await;
    assert_eq!(shown["instances"][0]["port"], port(&two));
    assert_eq!(shown["registry"], "eureka");
}

#[tokio::test]
async fn an_instance_that_is_not_up_takes_no_requests_and_is_shown_with_the_reason() {
    let registry = eureka().await;
    registry.list(&[("svc", closed_port().port())]);
    registry.state().instances[0].2 = "OUT_OF_SERVICE".to_owned();
    let gateway = gateway(&config(&registry, &route("svc"))).await;
    assert_eq!(Client::connect(gateway.address()).await.get("/x").await.status, 503);
    let shown = services(&gateway, "/svc").await;
    assert_eq!(shown["instances"][0]["used"], false);
    assert_eq!(shown["instances"][0]["why"], "the registry does not report it as up");
}

#[tokio::test]
async fn a_refused_connection_moves_on_with_the_body_and_the_right_host() {
    let origin = Origin::start().await;
    let registry = eureka().await;
    registry.list(&[("svc", closed_port().port()), ("svc", port(&origin))]);
    let gateway = gateway(&config(&registry, &route("svc"))).await;
    let mut client = Client::connect(gateway.address()).await;
    for n in 0..4 {
        let post = format!("POST /x/{n} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
        assert_eq!(client.exchange(post).await.status, 200);
    }
    for received in origin.requests() {
        assert_eq!(received.body, b"abc");
        assert_eq!(received.field("host"), Some(origin.address().to_string()));
    }
    assert_eq!(origin.requests().len(), 4);
}

#[tokio::test]
async fn a_registry_that_stalls_or_talks_nonsense_or_turns_empty_loses_nothing() {
    let origin = Origin::start().await;
    let registry = eureka().await;
    registry.list(&[("svc", port(&origin))]);
    let gateway = gateway(&config(&registry, &route("svc"))).await;
    let mut client = Client::connect(gateway.address()).await;
    for (mood, state) in [(Mood::Stalled, "away"), (Mood::Well, "up"), (Mood::Garbage, "away")] {
        registry.state().mood = mood;
        state_of(&gateway, state).await;
        assert_eq!(client.get("/x").await.status, 200);
    }
    registry.list(&[]);
    registry.state().mood = Mood::Well;
    state_of(&gateway, "doubted").await;
    assert_eq!(client.get("/x").await.status, 200);
    registry.list(&[("svc", port(&origin))]);
    state_of(&gateway, "up").await;
    assert_eq!(client.get("/x").await.status, 200);
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_taken() {
    let origin = Origin::start().await;
    let registry = eureka().await;
    registry.list(&[("svc", port(&origin))]);
    let bound = "weir.discovery.answer-bytes-max: 4KB\n";
    let gateway = gateway(&config(&registry, &(route("svc") + bound))).await;
    let many: Vec<(String, u16)> = (0..100).map(|n| (format!("svc{n}"), 1)).collect();
    let many: Vec<(&str, u16)> = many.iter().map(|(name, port)| (name.as_str(), *port)).collect();
    registry.list(&many);
    state_of(&gateway, "away").await;
    assert_eq!(Client::connect(gateway.address()).await.get("/x").await.status, 200);
    assert!(
        services(&gateway, "").await["registries"][0]["failure"]
            .as_str()
            .is_some_and(|text| text.contains("weir.discovery.answer-bytes-max"))
    );
}

#[tokio::test]
async fn the_last_list_is_on_disk_for_a_start_while_the_registry_is_away() {
    let origin = Origin::start().await;
    let registry = eureka().await;
    registry.list(&[("svc", port(&origin))]);
    let config = config(&registry, &route("svc"));
    let data = tempfile::tempdir().expect("a folder");
    let whole = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\nweir.store.path: \
         '{}'\n{config}",
        data.path().display()
    );
    let run = |config: &str| start(config.to_owned());
    let mut first = run(&whole).await;
    assert_eq!(Client::connect(first.address()).await.get("/x").await.status, 200);
    let file = data.path().join("services.json");
    let start = std::time::Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < weir_testkit::PATIENCE, "no list on disk");
        tokio::task::yield_now().await;
    }
    first.kill();
    let away = whole.replace(&registry.origin.uri(), &format!("http://{}", closed_port()));
    let second = run(&away).await;
    assert_eq!(Client::connect(second.address()).await.get("/x").await.status, 200);
    assert_eq!(services(&second, "").await["registries"][0]["fromDisk"], true);
}

#[tokio::test]
async fn weir_registers_and_leaves_before_it_drains() {
    let registry = eureka().await;
    let gateway = gateway(&config(&registry, &route("svc"))).await;
    let gateway = said(gateway, "weir is registered").await;
    assert!(registry.was_asked("POST /eureka/apps/GATE"));
    let gateway = ended(gateway).await;
    let address = gateway.address().port();
    let id = format!("gate:{address}");
    let leaves =
        |asked: &String| asked.starts_with("DELETE /eureka/apps/GATE/") && asked.ends_with(&id);
    assert!(registry.state().asked.iter().any(leaves), "{:?}", registry.state().asked);
}

#[tokio::test]
async fn the_locator_makes_and_removes_routes_as_services_come_and_go() {
    let origin = Origin::start().await;
    let registry = eureka().await;
    registry.list(&[("orders", port(&origin))]);
    let locator = "spring.cloud.gateway.discovery.locator:\n  enabled: true\n  \
                   lower-case-service-id: true\n  \
                   include-expression: metadata['edge'] == 'true'\n  \
                   predicates:\n  - name: Path\n    args: { pattern: \"'/s/'+serviceId+'/**'\" }\n  \
                   filters:\n  - name: StripPrefix\n    args: { parts: '2' }\n";
    let gateway = gateway(&config(&registry, locator)).await;
    assert_eq!(Client::connect(gateway.address()).await.get("/s/orders/1").await.status, 200);
    assert_eq!(origin.requests().last().map(Received::target), Some("/1".to_owned()));
    registry.list(&[("users", port(&origin))]);
    until(gateway.address(), "/s/users/2", |status, _| status == 200).await;
    until(gateway.address(), "/s/orders/3", |status, _| status == 404).await;
}

#[tokio::test]
async fn a_service_that_nobody_lists_is_503_or_404() {
    let registry = eureka().await;
    registry.list(&[("other", 1)]);
    for (status, rest) in [(503, ""), (404, "spring.cloud.gateway.loadbalancer.use404: true\n")] {
        let gateway = gateway(&config(&registry, &(route("svc") + rest))).await;
        assert_eq!(Client::connect(gateway.address()).await.get("/x").await.status, status);
    }
}
