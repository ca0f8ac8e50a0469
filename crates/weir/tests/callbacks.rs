//! Callbacks and webhooks of mocks, from the request that sets them off to the server that gets
//! them.

use std::process::{Command, Output};
use std::time::Instant;

use serde_json::{Value, json};
use weir_testkit::{Answer, Client, Gateway, Origin, PATIENCE, Response, closed_port};

const BINARY: &str = env!("CARGO_BIN_EXE_weir");
const SHOP: &str = r"
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths:
  /orders:
    post:
      responses: { '201': { description: d, content: { application/json: { example: { n: 1 } } } } }
      callbacks:
        paid:
          '{$request.body#/to}':
            post:
              requestBody: { content: { application/json: {
                schema: { type: object, required: [ amount ], properties: {
                  amount: { type: integer, minimum: 3 } } } } } }
              responses: { '200': { description: d } }
webhooks:
  restocked:
    post:
      requestBody: { content: { application/json: {
        schema: { type: object }, example: { item: 5 } } } }
";

fn mock(args: &[&str]) -> Gateway {
    let all = [&["mock", "--port", "0", "--seed", "1"], args, &["{config}"]].concat();
    Gateway::launch(Command::new(BINARY), &all, &[("shop.yaml", SHOP.as_bytes())])
}

/// `weir run` with the definition in its store as `shop`.
async fn gateway(allow: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         weir.mock.callbacks.allow: [ {allow} ]\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: a, uri: 'mock://store', predicates: [ 'Path=/**' ] }}\n"
    );
    let files = [("weir.yaml", config.as_bytes()), ("shop.yaml", SHOP.as_bytes())];
    let gateway = Gateway::launch(
        Command::new(BINARY),
        &["run", "--log", "info,weir::mock=debug", "{config}"],
        &files,
    );
    let added = apis(&gateway, &["add", "shop", "shop.yaml"]).await;
    assert!(added.status.success(), "{added:?}");
    gateway
}

async fn apis(gateway: &Gateway, args: &[&str]) -> Output {
    let admin = format!("http://{}", gateway.admin());
    let mut weir = Command::new(BINARY);
    weir.arg("apis").args(args).args(["--admin", &admin]).current_dir(gateway.directory());
    // The receivers answer meanwhile.
    let output = tokio::task::spawn_blocking(move || weir.output()).await;
    output.expect("no panic").expect("an output")
}

/// Waits until the gateway has said `text`, while the receivers answer.
async fn said(gateway: &Gateway, text: &str) {
    let start = Instant::now();
    while !gateway.output().contains(text) {
        assert!(start.elapsed() < PATIENCE, "{text}: {}", gateway.output());
        tokio::task::yield_now().await;
    }
}

async fn order(gateway: &Gateway, to: &str, field: &str) -> Response {
    let body = json!({ "to": to }).to_string();
    let post = format!(
        "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{field}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    Client::connect(gateway.address()).await.exchange(post).await
}

async fn receiver(answer: fn(usize) -> u16) -> Origin {
    let mut count = 0;
    Origin::answering(move |_| {
        count += 1;
        Answer::nothing().read_body().and(Answer::status(answer(count), &[], "thanks"))
    })
    .await
}

#[tokio::test]
async fn a_callback_goes_where_the_request_says() {
    let origin = receiver(|_| 204).await;
    let gateway = mock(&["--callbacks", "http://127.0.0.1:*,https://*.example.org"]);
    let answer = order(&gateway, &format!("{}/hook?a=b", origin.uri()), "").await;
    assert_eq!((answer.status, answer.text().as_str()), (201, r#"{"n":1}"#));
    let sent = origin.wait_for_requests(1).await.remove(0);
    assert_eq!(sent.line(), "POST /hook?a=b HTTP/1.1");
    assert_eq!(sent.body, br#"{"amount":3}"#);
    assert_eq!(sent.field("content-type").as_deref(), Some("application/json"));
    assert_eq!(sent.field("host"), Some(origin.address().to_string()));
    let told = format!("callback shop: paid: POST {}/hook → 204", origin.uri());
    said(&gateway, &told).await;
}

#[tokio::test]
async fn nothing_is_sent_unless_it_is_allowed() {
    let origin = receiver(|_| 200).await;
    for (args, told) in [
        (&[][..], "not sent: callbacks are off"),
        (&["--callbacks", "https://127.0.0.1:*"], "not sent: weir.mock.callbacks.allow"),
    ] {
        let gateway = mock(args);
        assert_eq!(order(&gateway, &origin.uri(), "").await.status, 201);
        said(&gateway, told).await;
    }
    let gateway = mock(&["--callbacks", "http://127.0.0.1:*"]);
    let field = "Weir-Mock-Callback: 1\r\n";
    assert_eq!(order(&gateway, &origin.uri(), field).await.status, 201);
    said(&gateway, "not sent: the request is a callback itself").await;
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn neither_the_admin_api_nor_credentials_of_clouds_are_reached() {
    let gateway =
        gateway("'http://localhost:*', 'http://127.0.0.1:*', 'http://169.254.169.254'").await;
    let admin = gateway.admin();
    for host in ["127.0.0.1", "localhost"] {
        let to = format!("http://{host}:{}/weir/apis/evil", admin.port());
        assert_eq!(order(&gateway, &to, "").await.status, 201);
        let told = format!(
            "callback shop: paid: POST http://{host}:{}/weir/apis/evil not deliv",
            admin.port()
        );
        said(&gateway, &told).await;
    }
    assert!(gateway.output().contains("it leads to 127.0.0.1"), "{}", gateway.output());
    assert_eq!(order(&gateway, "http://169.254.169.254/latest", "").await.status, 201);
    said(&gateway, "where machines in clouds get their credentials").await;
    let to = format!("http://{admin}/actuator/health");
    let fired = apis(&gateway, &["fire", "shop", "restocked", "--to", &to]).await;
    let told = String::from_utf8_lossy(&fired.stderr).into_owned();
    assert!(!fired.status.success() && told.contains("the admin API of this gateway"), "{told}");
}

#[tokio::test]
async fn a_callback_that_fails_is_sent_again_and_counted() {
    let gateway = gateway("'http://127.0.0.1:*'").await;
    let origin = receiver(|count| if count < 3 { 503 } else { 200 }).await;
    assert_eq!(order(&gateway, &origin.uri(), "").await.status, 201);
    said(&gateway, "→ 200 (sample of the schema, try 3)").await;
    assert_eq!(origin.requests().len(), 3);
    let picky = receiver(|_| 400).await;
    assert_eq!(order(&gateway, &picky.uri(), "").await.status, 201);
    said(&gateway, "→ 400 (sample of the schema)").await;
    let away = format!("http://{}", closed_port());
    assert_eq!(order(&gateway, &away, "").await.status, 201);
    said(&gateway, "cannot be reached").await;
    let output = gateway.output();
    let level = |part: &str| {
        output.lines().find(|line| line.contains(part)).map(|line| line.contains(" WARN "))
    };
    assert_eq!(level("→ 200 ("), Some(false), "{output}");
    assert_eq!(level("→ 400 ("), Some(true), "{output}");
    assert_eq!(level("cannot be reached"), Some(true), "{output}");
    let get = "GET /actuator/prometheus HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let metrics = Client::connect(gateway.admin()).await.exchange(get).await.text();
    for row in ["accepted\"} 1", "rejected\"} 1", "failed\"} 1", "dropped\"} 0", "retried\"} 4"] {
        let row = format!("weir_mock_callbacks_total{{outcome=\"{row}\n");
        assert!(metrics.contains(&row), "{row}{metrics}");
    }
}

#[tokio::test]
async fn webhooks_are_sent_on_demand() {
    let origin = receiver(|_| 202).await;
    let gateway = gateway("'http://127.0.0.1:*'").await;
    let to = format!("{}/hook", origin.uri());
    let fired = apis(&gateway, &["fire", "shop", "restocked", "--to", &to]).await;
    let told = String::from_utf8_lossy(&fired.stdout).into_owned();
    assert!(fired.status.success(), "{fired:?}");
    assert!(told.contains("{\"item\":5}") && told.ends_with("202\nthanks\n"), "{told}");
    let sent = origin.only_request();
    assert_eq!((sent.line().as_str(), &*sent.body), ("POST /hook HTTP/1.1", &b"{\"item\":5}"[..]));
    for (args, part) in [
        (["shop", "restocked", "--to", "http://other"], "callbacks.allow does not list"),
        (["shop", "none", "--to", &to], "there are restocked"),
        (["none", "restocked", "--to", &to], "there is no definition `none`"),
    ] {
        let refused = apis(&gateway, &[&["fire"][..], &args].concat()).await;
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(1) && told.contains(part), "{told}");
    }
    let shown = apis(&gateway, &["show", "shop"]).await.stdout;
    let shown: Value = serde_json::from_slice(&shown).expect("JSON");
    assert_eq!(shown["webhooks"], json!(["restocked"]));
}

#[tokio::test]
async fn a_mock_of_files_sends_webhooks_too() {
    let origin = receiver(|_| 200).await;
    let gateway = mock(&["--callbacks", "http://127.0.0.1:*"]);
    let post = format!(
        "POST /__weir/webhooks/restocked?to={}/hook HTTP/1.1\r\nHost: a\r\n\
         Content-Length: 0\r\n\r\n",
        origin.uri()
    );
    let answer = Client::connect(gateway.address()).await.exchange(post).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let sent = origin.wait_for_requests(1).await.remove(0);
    assert_eq!((sent.line().as_str(), &*sent.body), ("POST /hook HTTP/1.1", &b"{\"item\":5}"[..]));
}

#[test]
fn a_list_that_means_nothing_is_refused_with_its_place() {
    let config = "weir.mock.callbacks:\n  allow: [ 'http://a/b' ]\n  alow: x\n";
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("weir.yaml");
    std::fs::write(&path, config).expect("a file");
    let output = Command::new(BINARY).arg("check").arg(&path).output().expect("an output");
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    for part in ["weir.yaml:2:", "names a path", "did you mean `allow`?"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
