//! Spring Cloud Config, in the shape of the recordings.

use serde_json::{Value, json};
use weir_testkit::{Answer, Gateway, Origin, Received, closed_port};

use crate::server::{self, Server, State};
use crate::{PORTS, gateway, launch, refresh, refusal, said, status, until, weir};

/// Stands in every secret and nowhere else.
const CANARY: &str = "canary-4711";

/// `/{application}/{profiles}` has the property sources of that name, the first of which wins.
fn answer(received: &Received, state: &State) -> Answer {
    match state.texts.get(received.target().trim_start_matches('/')) {
        Some(text) => server::json(&[], text),
        None => Answer::status(404, &[], "{}"),
    }
}

async fn config_server() -> Server {
    Server::start(answer).await
}

/// An answer of the server: sources by name, each with flat keys.
fn sources(list: &[(&str, Value)]) -> String {
    let sources: Vec<Value> = list
        .iter()
        .map(|(name, source)| json!({ "name": format!("file:/config/{name}"), "source": source }))
        .collect();
    json!({ "name": "gate", "profiles": ["default"], "label": null, "version": null,
        "state": null, "propertySources": sources })
    .to_string()
}

/// A route as the server flattens it.
fn route(path: &str) -> Value {
    json!({
        "spring.cloud.gateway.server.webflux.routes[0].id": "r",
        "spring.cloud.gateway.server.webflux.routes[0].uri": "${upstream}",
        "spring.cloud.gateway.server.webflux.routes[0].predicates[0]": format!("Path={path}"),
        "db.password": CANARY,
    })
}

fn application(server: &Server, rest: &str) -> String {
    let address = server.origin.address();
    format!("{PORTS}spring.config.import: 'configserver:http://user:{CANARY}@{address}'\n{rest}")
}

#[tokio::test]
async fn routes_come_from_the_server_and_change_when_refreshed() {
    let (origin, server) = (Origin::start().await, config_server().await);
    server.put("gate/default", &sources(&[("gate.yml", route("/a"))]));
    // The uri of the server's route is a property of the file.
    let config = application(&server, &format!("upstream: {}\n", origin.uri()));
    let gateway = gateway(&[("application.yml", &config)]).await;
    assert_eq!((status(&gateway, "/a").await, status(&gateway, "/b").await), (200, 404));
    // `user:canary-4711` in Base64.
    assert_eq!(server.asked()[0], "GET /gate/default Basic dXNlcjpjYW5hcnktNDcxMQ==");

    let same = refresh(&gateway).await;
    assert_eq!((same.status, same.text().as_str()), (200, "[]"));
    let mut changed = route("/b");
    changed["db.password"] = json!(format!("{CANARY}-2"));
    changed["new.property"] = json!(7);
    server.put("gate/default", &sources(&[("gate.yml", changed)]));
    let names = refresh(&gateway).await;
    let names: Value = serde_json::from_str(&names.text()).expect("JSON");
    let predicate = "spring.cloud.gateway.server.webflux.routes[0].predicates[0]";
    assert_eq!(names, json!(["db.password", "new.property", predicate]));
    assert_eq!((status(&gateway, "/a").await, status(&gateway, "/b").await), (404, 200));
    assert!(!gateway.output().contains(CANARY), "{}", gateway.output());
}

#[tokio::test]
async fn garbage_and_bad_routes_leave_the_old_table_in_place() {
    let (origin, server) = (Origin::start().await, config_server().await);
    let rest = format!("upstream: {}\n", origin.uri());
    server.put("gate/default", &sources(&[("gate.yml", route("/a"))]));
    let gateway = gateway(&[("application.yml", &application(&server, &rest))]).await;

    server.put("gate/default", &sources(&[("gate.yml", route("nonsense{"))]));
    let refused = refresh(&gateway).await;
    assert_eq!((refused.status, status(&gateway, "/a").await), (500, 200));
    let place = format!("{}/gate/default#gate.yml:3:", server.origin.uri());
    assert!(gateway.output().contains(&place), "{}", gateway.output());

    server.is_broken(true);
    let broken = refresh(&gateway).await;
    assert_eq!((broken.status, status(&gateway, "/a").await), (500, 200));
    assert!(broken.text().contains("it is not JSON (line 1, column 1)"), "{}", broken.text());

    // A refused answer does not replace the last good one while the server fails.
    gateway.hang_up();
    let gateway = said(gateway, "its last answer stays in use").await;
    server.is_broken(false);
    server.put("gate/default", &sources(&[("gate.yml", route("/c"))]));
    assert_eq!((refresh(&gateway).await.status, status(&gateway, "/c").await), (200, 200));
    assert!(!gateway.output().contains(CANARY), "{}", gateway.output());
}

#[tokio::test]
async fn a_server_that_is_away_is_needed_unless_it_is_optional() {
    let away = closed_port();
    let config =
        format!("{PORTS}spring.config.import: 'configserver:http://user:{CANARY}@{away}'\n");
    let told = refusal(&[("application.yml", &config)]).await;
    assert!(told.contains("application.yml:5:23"), "{told}");
    assert!(
        told.contains(&format!("configserver:http://{away}/gate/default: it cannot")),
        "{told}"
    );
    assert!(told.contains("start the server or mend `spring.cloud.config.uri`"), "{told}");
    assert!(!told.contains(CANARY), "{told}");

    let optional = config.replace("configserver:", "optional:configserver:");
    let gateway = gateway(&[("application.yml", &optional)]).await;
    assert_eq!(status(&gateway, "/a").await, 404);
    assert!(gateway.output().contains("warning[import-failed]"), "{}", gateway.output());

    let fast = format!(
        "{optional}spring.cloud.config.fail-fast: true\nspring.cloud.config.retry: {{ \
                        max-attempts: 3, initial-interval: 1, max-interval: 1 }}\n"
    );
    let told = refusal(&[("application.yml", &fast)]).await;
    assert!(told.contains("failed=2") && !told.contains("failed=3"), "{told}");
}

#[tokio::test]
async fn an_optional_server_that_comes_later_is_read_then() {
    let (origin, server) = (Origin::start().await, config_server().await);
    server.put("gate/default", &sources(&[("gate.yml", route("/a"))]));
    server.is_broken(true);
    let config = application(&server, &format!("upstream: {}\n", origin.uri()));
    let config = config.replace("'configserver:", "'optional:configserver:");
    let gateway = gateway(&[("application.yml", &config)]).await;
    assert_eq!(status(&gateway, "/a").await, 404);
    server.is_broken(false);
    until(gateway.address(), "/a", 200).await;
}

#[tokio::test]
async fn the_last_answer_is_on_disk_for_a_start_while_the_server_is_away() {
    let (origin, server) = (Origin::start().await, config_server().await);
    server.put("gate/default", &sources(&[("gate.yml", route("/a"))]));
    let config = application(&server, &format!("upstream: {}\n", origin.uri()));
    let data = tempfile::tempdir().expect("a folder");
    let path = data.path().display().to_string();
    let config = config.replace("weir.store.path: data", &format!("weir.store.path: '{path}'"));
    let mut first = gateway(&[("application.yml", &config)]).await;
    let file = data.path().join("configuration.json");
    assert_eq!(status(&first, "/a").await, 200);
    first.kill();
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&file).expect("a file").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    server.is_broken(true);
    let second = gateway(&[("application.yml", &config)]).await;
    assert_eq!(status(&second, "/a").await, 200);
    assert!(second.output().contains("its last answer serves"), "{}", second.output());
}

#[tokio::test]
async fn profiles_labels_and_fallbacks_are_asked_as_spring_asks() {
    let (origin, server) = (Origin::start().await, config_server().await);
    let all = [
        ("gate-prod.yml", json!({ "upstream": origin.uri() })),
        ("gate.yml", route("/a")),
        ("application.yml", json!({ "upstream": "http://127.0.0.1:1" })),
    ];
    server.put("gate/prod,eu/feature%28%5F%29x", &sources(&all));
    server.put("gate/prod,eu/feature%28_%29x", &sources(&all));
    let config = format!(
        "{PORTS}spring:\n  config.import: 'configserver:'\n  profiles.active: prod,eu\n  \
         cloud.config:\n    uri: [ 'http://{}', '{}' ]\n    label: none, feature/x\n    token: \
         {CANARY}\n    headers: {{ X-Team: shop }}\nupstream: http://127.0.0.1:2\n",
        closed_port(),
        server.origin.uri(),
    );
    let gateway = gateway(&[("application.yml", &config)]).await;
    assert_eq!(status(&gateway, "/a").await, 200);
    let requests = server.origin.requests();
    assert_eq!(requests[0].target(), "/gate/prod,eu/none");
    let fields = ["x-config-token", "x-team"].map(|name| requests[0].field(name));
    assert_eq!(fields, [Some(CANARY.to_owned()), Some("shop".to_owned())]);
}

#[tokio::test]
async fn a_bootstrap_file_is_enough() {
    let (origin, server) = (Origin::start().await, config_server().await);
    let mut all = route("/a");
    all["upstream"] = json!(origin.uri());
    server.put("gate/default", &sources(&[("gate.yml", all)]));
    let bootstrap = format!("spring.cloud.config.uri: {}\n", server.origin.uri());
    let gateway = gateway(&[("application.yml", PORTS), ("bootstrap.yml", &bootstrap)]).await;
    assert_eq!(status(&gateway, "/a").await, 200);
}

#[tokio::test]
async fn a_watched_server_needs_no_refresh() {
    let (origin, server) = (Origin::start().await, config_server().await);
    server.put("gate/default", &sources(&[("gate.yml", route("/a"))]));
    let rest = format!(
        "upstream: {}\nspring.cloud.config.watch: {{ enabled: true, delay: 100ms }}\n",
        origin.uri()
    );
    let gateway = gateway(&[("application.yml", &application(&server, &rest))]).await;
    server.put("gate/default", &sources(&[("gate.yml", route("/b"))]));
    until(gateway.address(), "/b", 200).await;
    assert!(gateway.output().contains("a change at a configuration server"));
}

#[tokio::test]
async fn check_and_explain_stay_off_the_network_unless_told() {
    let (origin, server) = (Origin::start().await, config_server().await);
    server.put("gate/default", &sources(&[("gate.yml", route("/a"))]));
    let rest = format!("upstream: {}\n", origin.uri());
    let gateway: Gateway = launch(&[("application.yml", &application(&server, &rest))]).await;
    let gateway = said(gateway, "listening").await;
    let before = server.asked().len();
    let name = format!("configserver:{}/gate/default", server.origin.uri());
    let (code, told) = weir(&gateway, &["check", "application.yml"]).await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("Not read without --online: {name}")), "{told}");
    let (_, told) = weir(&gateway, &["explain", "application.yml", "/a"]).await;
    assert!(told.contains(&format!("not read, as only local files are: {name}")), "{told}");
    assert_eq!(server.asked().len(), before);
    let (code, told) = weir(&gateway, &["check", "--online", "application.yml"]).await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("fine: 1 route,"), "{told}");
    assert!(told.contains(&format!("  - {}\n", origin.address())), "{told}");
    assert!(!told.contains(CANARY), "{told}");
}
