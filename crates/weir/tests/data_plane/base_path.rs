//! `spring.webflux.base-path`, and paths outside of it.

use weir_testkit::{Client, Origin, spawn_weir};

#[tokio::test]
async fn routes_without_a_path_serve_below_the_base_path_only() {
    let origin = Origin::start().await;
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}
weir.admin.port: 0
spring.webflux.base-path: /in
spring.cloud.gateway.server.webflux.routes:
- {{ id: a, uri: '{}', predicates: [ 'Host=**' ] }}
",
        origin.uri(),
    );
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let mut client = Client::connect(gateway.address()).await;
    for (path, expected) in [("/zzz", 404), ("/inner", 404), ("/in/zzz", 200), ("/in", 200)] {
        client.send(&format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n\r\n")).await;
        assert_eq!(client.read_response().await.status, expected, "{path}");
    }
    client.send("GET /actuator/health HTTP/1.1\r\nHost: a.example\r\n\r\n").await;
    assert_eq!(client.read_response().await.status, 200, "probes keep working");
}
