//! The access log with bodies: what it has, and the mock that answers from it.

use std::io::Write as _;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use weir_testkit::{Answer, Client, Gateway, Origin};

const BINARY: &str = env!("CARGO_BIN_EXE_weir");
const JSON: &str = "Content-Type: application/json";
/// More than the log keeps of a body.
const LONG: usize = 2_000;

async fn shop() -> Origin {
    Origin::answering(|request| {
        let head = request.head();
        let answer = match head.split(' ').nth(1).unwrap_or_default() {
            "/items/2" => zipped("{\"id\":2}"),
            "/items/9" => Answer::status(404, &[JSON], "{\"error\":\"none\"}"),
            "/long" => Answer::status(200, &["Content-Type: text/plain"], "x".repeat(LONG)),
            "/image" => Answer::status(200, &["Content-Type: image/png"], b"\x89PNG\xff"),
            _ => Answer::status(200, &[JSON, "Set-Cookie: a=s3cret"], "{\"token\":\"s3cret\"}"),
        };
        Answer::nothing().read_body().and(answer)
    })
    .await
}

fn zipped(text: &str) -> Answer {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("to write");
    let coded = encoder.finish().expect("an end");
    Answer::status(200, &[JSON, "Content-Encoding: gzip"], coded)
}

/// What the gateway logs of these requests.
async fn logged(requests: &[&str]) -> String {
    let origin = shop().await;
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         weir.access-log: {{ bodies: 1KB, path: access.log }}\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: shop, uri: '{}', predicates: [ Path=/v1/** ], filters: [ StripPrefix=1 ] }}\n",
        origin.uri()
    );
    let mut gateway = Gateway::start(BINARY, &["run", "{config}"], &config);
    let mut client = Client::connect(gateway.address()).await;
    for request in requests {
        client.exchange(*request).await;
    }
    gateway.terminate();
    gateway.wait_for_exit();
    let file = gateway.directory().join("access.log");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).expect("a log"));
    assert_eq!(mode & 0o777, 0o600, "others must not read it");
    std::fs::read_to_string(file).expect("a log")
}

const REQUESTS: &[&str] = &[
    "GET /v1/items/2 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer hunter2\r\n\r\n",
    "GET /v1/items/9 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /v1/long HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /v1/image HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /v1/login?api_key=hunter2&page=1 HTTP/1.1\r\nHost: a\r\n\
     Content-Type: application/json\r\nContent-Length: 33\r\n\r\n\
     {\"user\":\"a\",\"password\":\"hunter2\"}",
    "GET /nowhere?token=hunter2 HTTP/1.1\r\nHost: a\r\n\r\n",
];

#[tokio::test]
async fn exchanges_are_logged_without_credentials() {
    let log = logged(REQUESTS).await;
    assert!(!log.contains("hunter2") && !log.contains("s3cret"), "{log}");
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let body = |at: usize| lines[at]["response"]["body"].clone();
    assert_eq!(lines.len(), REQUESTS.len(), "{log}");
    assert_eq!(lines[0]["path"], "/v1/items/2");
    assert_eq!(lines[0]["request"]["headers"]["authorization"], "redacted");
    assert_eq!(body(0), json!({ "text": "{\"id\":2}" }));
    assert_eq!(
        (&lines[1]["status"], body(1)["text"].as_str()),
        (&404.into(), Some("{\"error\":\"none\"}"))
    );
    assert_eq!(body(2), json!({ "leftOut": "too long, or in an unknown coding" }));
    assert_eq!(body(3), json!({ "base64": "iVBOR/8=" }));
    assert_eq!(lines[4]["query"], "api_key=redacted&page=1");
    let sent = "{\"user\":\"a\",\"password\":\"redacted\"}";
    assert_eq!(lines[4]["request"]["body"]["text"], sent);
    assert_eq!(lines[4]["response"]["headers"]["set-cookie"], "redacted");
    assert_eq!((&lines[5]["status"], lines[5].get("response")), (&404.into(), None));
}

#[tokio::test]
async fn a_mock_answers_from_the_log() {
    let log = logged(REQUESTS).await;
    let files = [("access.log", log.as_bytes())];
    let mock = Gateway::launch(Command::new(BINARY), &["mock", "--port", "0", "{config}"], &files);
    let mut client = Client::connect(mock.address()).await;
    let found = client.get("/v1/items/2").await;
    assert_eq!((found.status, found.text().as_str()), (200, "{\"id\":2}"));
    let missing = client.get("/v1/items/9").await;
    assert_eq!((missing.status, missing.text().as_str()), (404, "{\"error\":\"none\"}"));
    let sent = "{\"user\":\"a\",\"password\":\"mine\"}";
    let post = format!(
        "POST /v1/login?page=1 HTTP/1.1\r\nHost: a\r\n{JSON}\r\nContent-Length: {}\r\n\r\n{sent}",
        sent.len()
    );
    let entered = client.exchange(post).await;
    assert_eq!((entered.status, entered.text().as_str()), (200, "{\"token\":\"redacted\"}"));
}
