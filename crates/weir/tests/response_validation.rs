//! `ValidateResponse` end to end: responses of upstreams are validated against a definition.

use std::io::Write;
use std::process::Command;

use weir_testkit::{Answer, Client, Gateway, Origin, Response};

const METRICS: &str = "GET /actuator/prometheus HTTP/1.1\r\nHost: localhost\r\n\r\n";
const PETS: &str = include_str!("../../../examples/petstore.yaml");

/// Headers too: `X-Left` must be there and a number.
const COUNTED: &str = "openapi: 3.1.0
info: { title: Counted, version: '1' }
paths:
  /left:
    get:
      responses:
        '204':
          description: nothing
          headers: { X-Left: { required: true, schema: { type: integer } } }
";

fn gateway(origin: &Origin) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}
weir.admin.port: 0
weir.mock.apis: [ pets.yaml, counted.yaml ]
spring.http.codecs.max-in-memory-size: 1KB
spring.cloud.gateway.server.webflux:
  routes:
  - {{ id: told, uri: '{uri}', predicates: [ 'Path=/told/**' ],
      filters: [ StripPrefix=1, 'ValidateResponse=pets, report' ] }}
  - {{ id: counted, uri: '{uri}', predicates: [ Path=/left ],
      filters: [ ValidateResponse=counted ] }}
  - {{ id: strict, uri: '{uri}', predicates: [ 'Path=/**' ],
      filters: [ ValidateResponse=pets, 'AddResponseHeader=X-Through, yes' ] }}
",
        uri = origin.uri()
    );
    let files = [
        ("a.yml", config.as_bytes()),
        ("pets.yaml", PETS.as_bytes()),
        ("counted.yaml", COUNTED.as_bytes()),
    ];
    Gateway::launch(Command::new(env!("CARGO_BIN_EXE_weir")), &["run", "{config}"], &files)
}

fn json(status: u16, body: impl AsRef<[u8]>) -> Answer {
    Answer::status(status, &["Content-Type: application/json"], body)
}

const SOUND: &str = r#"{"id":1,"name":"Tom"}"#;
const WRONG: &str = r#"{"id":0,"name":"Tom","tag":"cow"}"#;

/// The response at the client when the upstream sends `answer` at `path`.
async fn pass(path: &str, answer: Answer) -> (Response, Gateway) {
    let origin = Origin::with([answer]).await;
    let gateway = gateway(&origin);
    (Client::connect(gateway.address()).await.get(path).await, gateway)
}

async fn counted(gateway: &Gateway, result: &str) -> bool {
    let page = Client::connect(gateway.admin()).await.exchange(METRICS).await.text();
    page.contains(&format!("weir_filter_comparisons_total{{result=\"{result}\"}} 1\n"))
}

#[tokio::test]
async fn sound_responses_are_passed_on() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(SOUND.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let coded = ["Content-Type: application/json", "Content-Encoding: gzip"];
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\
                   \r\n\r\n5\r\n{\"id\"\r\n10\r\n:1,\"name\":\"Tom\"}\r\n0\r\n\r\n";
    for (answer, body) in [
        (json(200, SOUND), SOUND.as_bytes()),
        (Answer::status(200, &coded, &gzip), &gzip),
        (Answer::raw(chunked), SOUND.as_bytes()),
    ] {
        let (response, gateway) = pass("/pets/1", answer).await;
        assert_eq!((response.status, response.body.as_slice()), (200, body));
        assert_eq!(response.field("x-through").as_deref(), Some("yes"));
        assert!(counted(&gateway, "sound").await);
    }
}

#[tokio::test]
async fn wrong_responses_are_refused_with_their_places() {
    let html = || Answer::status(200, &["Content-Type: text/html"], "<p>");
    for (path, answer, told) in [
        ("/pets/1", json(200, WRONG), r#""pointer":"/tag""#),
        ("/pets/1", json(200, WRONG), r#""pointer":"/id""#),
        ("/pets/1", json(200, "{"), r#""code":"syntax""#),
        ("/pets/1", json(200, ""), "a body is required"),
        ("/pets/1", html(), "the media type `text/html` is not declared"),
        ("/pets/1", json(202, SOUND), "the status 202 is not declared; there are: 200, 404"),
        ("/left", Answer::raw("HTTP/1.1 204 No Content\r\n\r\n"), "`X-Left` is required"),
        ("/left", Answer::raw("HTTP/1.1 204 No Content\r\nX-Left: no\r\n\r\n"), r#""X-Left"]"#),
    ] {
        let (response, gateway) = pass(path, answer).await;
        assert_eq!(response.status, 502, "{told}");
        let media_type = response.field("content-type");
        assert_eq!(media_type.as_deref(), Some("application/problem+json"));
        assert!(response.text().contains(told), "{told}: {}", response.text());
        assert!(counted(&gateway, "wrong").await);
        gateway.wait_for_output("a response breaks its definition");
    }
}

#[tokio::test]
async fn what_is_not_compared_is_passed_on() {
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(2_000));
    let coded = ["Content-Type: application/json", "Content-Encoding: zstd"];
    let events = ["Content-Type: text/event-stream"];
    for (path, answer, status, result) in [
        ("/pets/1", json(200, &long), 200, Some("unread")),
        ("/pets/1", Answer::status(200, &coded, WRONG), 200, Some("unread")),
        ("/other", json(200, WRONG), 200, Some("unknown")),
        ("/pets/1", json(206, WRONG), 206, None),
        ("/pets/1", Answer::status(200, &events, "data: 1\n\n"), 200, None),
    ] {
        let (response, gateway) = pass(path, answer).await;
        assert_eq!(response.status, status, "{result:?}: {}", response.text());
        assert!(!response.body.is_empty());
        for what in ["sound", "wrong", "unknown", "unread"] {
            assert_eq!(counted(&gateway, what).await, Some(what) == result, "{what}, {result:?}");
        }
    }
}

#[tokio::test]
async fn errors_that_are_not_declared_are_counted_and_passed_on() {
    let (response, gateway) = pass("/pets/1", json(503, "{}")).await;
    assert_eq!((response.status, response.text().as_str()), (503, "{}"));
    assert!(counted(&gateway, "wrong").await);
}

#[tokio::test]
async fn report_tells_and_passes_on() {
    let (response, gateway) = pass("/told/pets/1", json(200, WRONG)).await;
    assert_eq!((response.status, response.text().as_str()), (200, WRONG));
    assert!(counted(&gateway, "wrong").await);
    gateway.wait_for_output("pets: GET /pets/{id}");
}

#[tokio::test]
async fn the_connection_of_a_client_goes_on_behind_a_refusal() {
    let origin = Origin::with([json(200, WRONG), json(200, SOUND)]).await;
    let gateway = gateway(&origin);
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/pets/1").await.status, 502);
    assert_eq!(client.get("/pets/1").await.text(), SOUND);
    let head = "HEAD /pets/1 HTTP/1.1\r\nHost: a\r\n\r\n";
    drop(client);
    let origin = Origin::with([json(200, SOUND)]).await;
    let gateway = self::gateway(&origin);
    let mut client = Client::connect(gateway.address()).await;
    client.send(head).await;
    assert_eq!(client.read_response_to("HEAD").await.status, 200);
}
