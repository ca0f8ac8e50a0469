//! `ValidateRequest` end to end: bodies are compared with a definition, and sent on as they came.

use std::io::Write;
use std::process::Command;

use weir_testkit::{Answer, Client, Gateway, Origin, Response};

const PETS: &str = include_str!("../../../examples/petstore.yaml");

fn gateway(origin: &Origin) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}
weir.admin.port: 0
weir.mock.apis: [ pets.yaml ]
spring.http.codecs.max-in-memory-size: 1KB
spring.cloud.gateway.server.webflux:
  routes:
  - {{ id: told, uri: '{uri}', predicates: [ 'Path=/told/**' ],
      filters: [ StripPrefix=1, 'ValidateRequest=pets, report', PrefixPath=/v2 ] }}
  - {{ id: strict, uri: '{uri}', predicates: [ 'Path=/**' ], filters: [ ValidateRequest=pets ] }}
",
        uri = origin.uri()
    );
    let files = [("a.yml", config.as_bytes()), ("pets.yaml", PETS.as_bytes())];
    Gateway::launch(Command::new(env!("CARGO_BIN_EXE_weir")), &["run", "{config}"], &files)
}

async fn origin() -> Origin {
    Origin::answering(|_| Answer::nothing().read_body().and(Answer::ok())).await
}

fn post(path: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{fields}\r\n");
    [head.as_bytes(), body].concat()
}

async fn ask(gateway: &Gateway, request: Vec<u8>) -> Response {
    Client::connect(gateway.address()).await.exchange(request).await
}

const JSON: &str = "Content-Type: application/json\r\n";
const SOUND: &[u8] = br#"{ "name": "Tom" }"#;
const WRONG: &[u8] = br#"{"tag":"cow"}"#;

#[tokio::test]
async fn sound_bodies_are_sent_on_as_they_came() {
    let origin = origin().await;
    let gateway = gateway(&origin);
    let mut client = Client::connect(gateway.address()).await;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(SOUND).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let chunked = format!(
        "POST /pets HTTP/1.1\r\nHost: a\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n\
         5\r\n{{ \"na\r\nc\r\nme\": \"Tom\" }}\r\n0\r\n\r\n"
    );
    // Sent together, each message is separated from the next.
    client.send(post("/pets", JSON, SOUND)).await;
    client.send(chunked).await;
    client.send(post("/told/pets", &format!("{JSON}Content-Encoding: gzip\r\n"), &gzip)).await;
    client.send("GET /pets HTTP/1.1\r\nHost: a\r\n\r\n").await;
    for _ in 0..4 {
        let answer = client.read_response().await;
        assert_eq!((answer.status, answer.field("sl-violations")), (200, None));
    }
    let got = origin.requests();
    let bodies: Vec<&[u8]> = got.iter().map(|one| one.body.as_slice()).collect();
    assert_eq!(bodies, [SOUND, SOUND, &gzip, b""]);
    assert_eq!(got[1].field("transfer-encoding").as_deref(), Some("chunked"));
    assert_eq!(got[2].field("content-encoding").as_deref(), Some("gzip"));
}

#[tokio::test]
async fn wrong_bodies_are_refused_and_the_connection_goes_on() {
    let origin = origin().await;
    let gateway = gateway(&origin);
    let mut client = Client::connect(gateway.address()).await;
    let refused = client.exchange(post("/pets", JSON, WRONG)).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("\"location\":[\"body\",\"tag\"]"), "{}", refused.text());
    for (fields, body, status) in [
        ("Content-Type: image/png\r\n", SOUND, 415),
        (JSON, b"{".as_slice(), 422),
        (JSON, b"".as_slice(), 422),
        ("Content-Type: application/json\r\nContent-Encoding: compress\r\n", SOUND, 415),
        ("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", SOUND, 415),
        (JSON, &[b' '; 1_025], 413),
    ] {
        let refused = ask(&gateway, post("/pets", fields, body)).await;
        assert_eq!(refused.status, status, "{fields}: {}", refused.text());
    }
    assert!(origin.requests().is_empty(), "nothing wrong reached the upstream");
}

#[tokio::test]
async fn report_tells_and_sends_on() {
    let origin = origin().await;
    let gateway = gateway(&origin);
    let long = [b"{\"name\":\"".as_slice(), &[b'x'; 2_000], b"\"}"].concat();
    for (fields, body, told) in [
        (JSON, WRONG, "[\"body\",\"tag\"]"),
        (JSON, &long, "longer than 1024 bytes"),
        ("Content-Type: image/png\r\n", SOUND, "INVALID_CONTENT_TYPE"),
        ("Content-Type: application/json\r\nContent-Encoding: compress\r\n", SOUND, "compress"),
    ] {
        let answer = ask(&gateway, post("/told/pets", fields, body)).await;
        let violations = answer.field("sl-violations").unwrap_or_default();
        assert_eq!(answer.status, 200);
        assert!(violations.contains(told), "{told}: {violations}");
        let got = origin.requests();
        let last = got.last().expect("it was sent on");
        assert_eq!((last.body.as_slice(), last.target().as_str()), (body, "/v2/pets"));
    }
}

#[tokio::test]
async fn who_waits_for_100_continue_gets_it_once() {
    let origin = origin().await;
    let gateway = gateway(&origin);
    let mut client = Client::connect(gateway.address()).await;
    let fields = format!("{JSON}Expect: 100-continue\r\n");
    let request = post("/pets", &fields, SOUND);
    let (head, body) = request.split_at(request.len() - SOUND.len());
    client.send(head.to_vec()).await;
    assert_eq!(client.read_interim().await.status, 100);
    client.send(body.to_vec()).await;
    let answer = client.read_response().await;
    assert_eq!((answer.status, answer.interim), (200, Vec::new()));
    assert_eq!(origin.only_request().body, SOUND);
}
