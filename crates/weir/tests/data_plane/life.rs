//! Start, reload, logs, probes and shutdown of a gateway.

use weir_testkit::{Answer, Client, Gate, Gateway, Origin};

use crate::{gateway, with_routes};

#[tokio::test]
async fn a_drain_finishes_what_runs_and_closes_what_is_idle() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |got| match got.target().as_str() {
        "/held" => {
            Answer::nothing().pause(&held).write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
        }
        _ => Answer::ok(),
    })
    .await;
    let mut gateway = gateway(&origin, "");
    let mut idle = Client::connect(gateway.address()).await;
    idle.get("/").await;
    let mut busy = Client::connect(gateway.address()).await;
    busy.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n").await;
    origin.wait_until(|origin| origin.requests().len() == 2).await;
    gateway.terminate();
    idle.expect_closed().await;
    gate.open();
    let response = busy.read_response().await;
    assert_eq!(response.text(), "done");
    assert!(response.closes);
    assert!(gateway.wait_for_exit().success());
    assert!(gateway.output().contains("every request was answered"), "{}", gateway.output());
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held)).await;
    let mut gateway = gateway(&origin, "");
    let mut busy = Client::connect(gateway.address()).await;
    busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    origin.wait_until(|origin| origin.requests().len() == 1).await;
    gateway.terminate();
    gateway.wait_for_output("draining");
    gateway.terminate();
    gateway.wait_for_exit();
    assert!(gateway.output().contains("1 connections were cut"), "{}", gateway.output());
}

#[tokio::test]
async fn a_reload_changes_routes_and_a_broken_file_changes_nothing() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/").await.status, 200);
    let before = std::fs::read_to_string(gateway.config()).expect("the configuration");
    std::fs::write(gateway.config(), before.replace("Path=/**", "Pth=/**")).expect("written");
    gateway.hang_up();
    gateway.wait_for_output("not reloaded");
    assert_eq!(client.get("/").await.status, 200);
    std::fs::write(gateway.config(), before.replace("Path=/**", "Path=/other")).expect("written");
    gateway.hang_up();
    gateway.wait_for_output("reloaded routes=1");
    assert_eq!(client.get("/").await.status, 404);
    assert_eq!(client.get("/other").await.status, 200);
}

#[tokio::test]
async fn a_reload_tells_what_it_cannot_change() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "");
    let before = std::fs::read_to_string(gateway.config()).expect("the configuration");
    let more =
        "weir.server: { workers: 1, splice: false, head-timeout: 9s }\nweir.admin.token: t\n";
    std::fs::write(gateway.config(), format!("{before}{more}")).expect("written");
    gateway.hang_up();
    gateway.wait_for_output(
        "changed settings need a restart: weir.admin.*, weir.server.splice, weir.server.workers",
    );
}

#[tokio::test]
async fn a_changed_file_is_noticed() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "");
    let before = std::fs::read_to_string(gateway.config()).expect("the configuration");
    std::fs::write(gateway.config(), before.replace("Path=/**", "Path=/other/**"))
        .expect("written");
    gateway.wait_for_output("reloaded routes=1");
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/").await.status, 404);
}

#[tokio::test]
async fn probes_are_answered_on_the_main_port() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let health = client.get("/actuator/health").await;
    assert_eq!(health.status, 200);
    assert!(health.text().contains("\"status\":\"UP\""), "{}", health.text());
    assert_eq!(client.get("/actuator/health/readiness").await.status, 200);
    assert!(origin.requests().is_empty());
    // As in SCG, paths of endpoints that are not exposed are matched against the routes.
    assert_eq!(client.get("/actuator/gateway/routes").await.text(), "ok");
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn the_access_log_has_a_line_for_each_request() {
    let origin = Origin::start().await;
    let mut gateway =
        gateway(&origin, "weir.access-log: { enabled: true, format: json, path: access.log }");
    let mut client = Client::connect(gateway.address()).await;
    client.get("/a?b=1").await;
    client.exchange("BAD\r\n\r\n").await;
    gateway.terminate();
    gateway.wait_for_exit();
    let log = std::fs::read_to_string(gateway.directory().join("access.log")).expect("a log");
    assert_eq!(log.lines().count(), 2, "{log}");
    let first: serde_json::Value =
        serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["path"], "/a");
    assert_eq!(first["query"], "b=1");
    assert_eq!(first["status"], 200);
    assert_eq!(first["route"], "all");
}

#[tokio::test]
async fn an_occupied_port_is_said_with_a_remedy() {
    let origin = Origin::start().await;
    let running = gateway(&origin, "");
    let config = format!(
        "server: {{ address: 127.0.0.1, port: {} }}\nweir.admin.port: 0\n",
        running.address().port()
    );
    let mut second = Gateway::start(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    assert!(!second.wait_for_exit().success());
    assert!(second.output().contains("choose another with server.port"), "{}", second.output());
}

#[tokio::test]
async fn a_refused_configuration_does_not_start() {
    let mut gateway = Gateway::start(
        env!("CARGO_BIN_EXE_weir"),
        &["run", "{config}"],
        "spring.cloud.gateway.routes:\n  - id: a\n    uri: http://a\n    predicates: [ Nope=1 ]\n",
    );
    assert!(!gateway.wait_for_exit().success());
    assert!(gateway.output().contains("refused"), "{}", gateway.output());
}

#[tokio::test]
async fn routes_are_told_apart_by_the_whole_table() {
    let origin = Origin::start().await;
    let gateway = with_routes(
        &format!(
            "[ {{ id: post, uri: '{0}', predicates: [ 'Path=/a', 'Method=POST' ], filters: [ 'SetPath=/posted' ] }},
               {{ id: host, uri: '{0}', predicates: [ 'Path=/a', 'Host=b.example' ], filters: [ 'SetPath=/hosted' ] }},
               {{ id: rest, uri: '{0}', predicates: [ 'Path=/**' ] }} ]",
            origin.uri()
        ),
        "",
    );
    let mut client = Client::connect(gateway.address()).await;
    client.exchange("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").await;
    client.exchange("GET /a HTTP/1.1\r\nHost: b.example\r\n\r\n").await;
    client.exchange("GET /a HTTP/1.1\r\nHost: c.example\r\n\r\n").await;
    let targets: Vec<String> = origin.requests().iter().map(|got| got.target()).collect();
    assert_eq!(targets, ["/posted", "/hosted", "/a"]);
}

#[tokio::test]
async fn requests_of_many_clients_at_once_do_not_mix_in_a_large_table() {
    let origin = Origin::answering(|_| Answer::ok()).await;
    let route = |n| {
        format!(
            "{{ id: r{n}, uri: '{0}', predicates: [ 'Path=/r{1}/*', 'Host=h{2}.example' ], \
             filters: [ 'AddResponseHeader=x-route, r{n}' ] }}",
            origin.uri(),
            n / 2,
            n % 2
        )
    };
    let routes: Vec<String> = (0..3_000).map(route).collect();
    let gateway = with_routes(&format!("[ {} ]", routes.join(", ")), "weir.server.workers: 1");
    let mut clients = Vec::new();
    for _ in 0..40 {
        clients.push(Client::connect(gateway.address()).await);
    }
    for round in 0..5 {
        let asked = |at: usize| (at * 71 + round * 13) % 3_000;
        for (at, client) in clients.iter_mut().enumerate() {
            let (path, host) = (asked(at) / 2, asked(at) % 2);
            let head = format!("GET /r{path}/x HTTP/1.1\r\nHost: h{host}.example\r\n\r\n");
            client.send(head).await;
        }
        for (at, client) in clients.iter_mut().enumerate() {
            let route = client.read_response().await.field("x-route");
            assert_eq!(route, Some(format!("r{}", asked(at))), "client {at}, round {round}");
        }
    }
}
