//! `weir mock` end to end.

use std::process::Command;

use weir_testkit::{Client, Gateway, Response};

const PETS: &str = include_str!("../../../examples/petstore.yaml");

fn mock(args: &[&str]) -> Gateway {
    let binary = env!("CARGO_BIN_EXE_weir");
    let mut all = vec!["mock", "--port", "0"];
    all.extend(args);
    all.push("{config}");
    Gateway::launch(Command::new(binary), &all, &[("pets.yaml", PETS.as_bytes())])
}

async fn ask(gateway: &Gateway, request: &str) -> Response {
    Client::connect(gateway.address()).await.exchange(request).await
}

#[tokio::test]
async fn requests_are_validated_and_answered_on_one_connection() {
    let gateway = mock(&[]);
    let mut client = Client::connect(gateway.address()).await;
    let list = client.get("/pets").await;
    assert_eq!(list.status, 200);
    assert_eq!(list.field("content-type").as_deref(), Some("application/json"));
    let wrong = "POST /pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                 Content-Length: 13\r\n\r\n{\"tag\":\"cow\"}";
    let refused = client.exchange(wrong).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("\"location\":[\"body\",\"tag\"]"), "{}", refused.text());
    let chunked = "POST /pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                   Transfer-Encoding: chunked\r\n\r\n8\r\n{\"name\":\r\n6\r\n\"Tom\"}\r\n0\r\n\r\n";
    assert_eq!(client.exchange(chunked).await.status, 201);
    let head = "HEAD /pets HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(head).await;
    assert_eq!(client.read_response_to("HEAD").await.status, 200);
    assert_eq!(client.get("/nothing").await.status, 404);
    assert_eq!(
        client.get("/pets/1?__example=dog").await.text(),
        r#"{"id":2,"name":"Rex","tag":"dog"}"#
    );
}

#[tokio::test]
async fn browsers_may_ask_unless_that_is_switched_off() {
    let preflight = "OPTIONS /pets HTTP/1.1\r\nHost: a\r\nOrigin: http://page\r\n\
                     Access-Control-Request-Method: POST\r\n\r\n";
    let granted = ask(&mock(&[]), preflight).await.field("access-control-allow-origin");
    assert_eq!(granted.as_deref(), Some("http://page"));
    let refused = ask(&mock(&["--cors", "false"]), preflight).await;
    assert_eq!(refused.field("access-control-allow-origin"), None);
}

#[tokio::test]
async fn a_seed_gives_the_same_answers_after_a_restart() {
    let get = "GET /pets HTTP/1.1\r\nHost: a\r\n\r\n";
    let args = ["--dynamic", "--seed", "7"];
    let first = ask(&mock(&args), get).await;
    let again = ask(&mock(&args), get).await;
    assert_eq!(first.text(), again.text());
    assert_ne!(first.text(), ask(&mock(&["--dynamic", "--seed", "8"]), get).await.text());
}

#[test]
fn what_is_no_definition_is_said_and_nothing_starts() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("x.yaml");
    std::fs::write(&file, "openapi: 3.1.0\npaths: { pets: {} }\n").expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_weir")).arg("mock").arg(&file).output();
    let output = output.expect("weir runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("x.yaml#/paths/pets"), "{text}");
}
