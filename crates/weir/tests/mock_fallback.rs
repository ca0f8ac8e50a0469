//! `MockFallback` end to end: a definition answers what an upstream does not have yet.

use std::process::Command;

use weir_testkit::{Answer, Client, Gateway, Origin, closed_port};

const METRICS: &str = "GET /actuator/prometheus HTTP/1.1\r\nHost: localhost\r\n\r\n";
const PETS: &str = include_str!("../../../examples/petstore.yaml");

fn gateway(uri: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}
weir.admin.port: 0
weir.mock.apis: [ pets.yaml ]
spring.cloud.discovery.client.simple.instances: {{ other: [ {{ uri: '{uri}' }} ] }}
spring.cloud.gateway.server.webflux:
  routes:
  - {{ id: nobody, uri: 'lb://absent', predicates: [ 'Path=/nobody/**' ],
      filters: [ StripPrefix=1, MockFallback=pets ] }}
  - {{ id: some, uri: '{uri}', predicates: [ 'Path=/some/**' ],
      filters: [ StripPrefix=1,
        {{ name: MockFallback, args: {{ definition: pets, causes: '503' }} }} ] }}
  - {{ id: broken, uri: '{uri}', predicates: [ 'Path=/guarded/**' ],
      filters: [ StripPrefix=1, CircuitBreaker=pets, MockFallback=pets ] }}
  - {{ id: meta, uri: '{uri}', predicates: [ 'Path=/meta/**' ], filters: [ StripPrefix=1 ],
      metadata: {{ fallback: mock }} }}
  - {{ id: pets, uri: '{uri}', predicates: [ 'Path=/**' ], filters: [ MockFallback=pets ] }}
"
    );
    let files = [("a.yml", config.as_bytes()), ("pets.yaml", PETS.as_bytes())];
    Gateway::launch(Command::new(env!("CARGO_BIN_EXE_weir")), &["run", "{config}"], &files)
}

/// An upstream that answers everything with this status once it has the body.
async fn origin(status: u16) -> Origin {
    let answer = move || Answer::status(status, &["X-From: upstream"], "real");
    Origin::answering(move |_| Answer::nothing().read_body().and(answer())).await
}

fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn what_the_upstream_lacks_is_mocked() {
    for status in [404, 501] {
        let origin = origin(status).await;
        let gateway = gateway(&origin.uri());
        let mut client = Client::connect(gateway.address()).await;
        for path in ["/pets/1", "/guarded/pets/1", "/meta/pets/1"] {
            let answer = client.get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.field("weir-mock-fallback"), Some(status.to_string()));
            assert!(answer.text().contains("Tom") && answer.field("x-from").is_none());
            assert!(answer.field("weir-mock").is_some_and(|why| why.contains("getPet")));
        }
        assert_eq!(origin.requests().len(), 3, "the upstream was asked first");
        let page = Client::connect(gateway.admin()).await.exchange(METRICS).await;
        assert!(page.text().contains("weir_mock_fallbacks_total 3\n"));
    }
}

#[tokio::test]
async fn what_the_definition_lacks_or_the_upstream_has_is_not() {
    let origin = origin(404).await;
    let gateway = gateway(&origin.uri());
    let mut client = Client::connect(gateway.address()).await;
    // No such path, no such method, and a cause that is not listed.
    for request in ["GET /other", "PATCH /pets/1", "GET /some/pets/1"] {
        let answer = client.exchange(format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        assert_eq!((answer.status, answer.text().as_str()), (404, "real"), "{request}");
        assert_eq!(answer.field("weir-mock-fallback"), None);
    }
    let origin = self::origin(200).await;
    let gateway = self::gateway(&origin.uri());
    let answer = Client::connect(gateway.address()).await.get("/pets/1").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "real"));
}

#[tokio::test]
async fn the_body_reaches_the_mock() {
    let origin = origin(404).await;
    let gateway = gateway(&origin.uri());
    let mut client = Client::connect(gateway.address()).await;
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(100_000));
    for (path, body, status) in [
        ("/pets", r#"{"name":"Tom"}"#, 201),
        ("/guarded/pets", r#"{"name":"Tom"}"#, 201),
        ("/pets", &long, 201),
        // The mock sees what is wrong with it.
        ("/pets", r#"{"tag":"cow"}"#, 422),
    ] {
        let answer = client.exchange(post(path, body)).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert_eq!(answer.field("weir-mock-fallback").as_deref(), Some("404"));
        let got = origin.requests();
        assert_eq!(got.last().map(|one| one.body.as_slice()), Some(body.as_bytes()));
    }
}

#[tokio::test]
async fn a_body_too_long_to_keep_is_not_mocked() {
    let origin = origin(404).await;
    let gateway = gateway(&origin.uri());
    let mut client = Client::connect(gateway.address()).await;
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(300_000));
    let answer = client.exchange(post("/pets", &long)).await;
    assert_eq!((answer.status, answer.text().as_str()), (404, "real"));
    assert_eq!(origin.only_request().body.len(), long.len());
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_mocked() {
    let gateway = gateway(&format!("http://{}", closed_port()));
    let mut client = Client::connect(gateway.address()).await;
    for path in ["/pets", "/nobody/pets", "/guarded/pets", "/meta/pets"] {
        let answer = client.exchange(post(path, r#"{"name":"Tom"}"#)).await;
        assert_eq!(answer.status, 201, "{path}: {}", answer.text());
        assert_eq!(answer.field("weir-mock-fallback").as_deref(), Some("unreachable"));
    }
    let unlisted = client.get("/some/pets/1").await;
    assert!(unlisted.status >= 500 && unlisted.field("weir-mock-fallback").is_none());
    assert!(client.get("/nobody/other").await.status >= 500);
}
