//! Live traffic becomes a definition: `weir apis record` from the start to a mock that answers.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use weir_testkit::{Answer, Client, Gateway, Origin, Received};

const BINARY: &str = env!("CARGO_BIN_EXE_weir");
const JSON: &str = "Content-Type: application/json";
/// Longer than what becomes an example, and long enough to be spliced.
const LONG: usize = 300_000;

fn start(data: &Path, uri: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}
weir.admin.port: 0
spring.cloud.gateway.server.webflux.routes:
- {{ id: shop, uri: '{uri}', predicates: [ Path=/shop/** ], filters: [ StripPrefix=1 ] }}
- id: edited
  uri: '{uri}'
  predicates: [ Path=/edited/** ]
  filters:
  - StripPrefix=1
  - SetResponseHeader=X-Shop, gateway
  - RemoveJsonAttributesResponseBody=name
  - {{ name: Retry, args: {{ retries: 2, statuses: SERVICE_UNAVAILABLE }} }}
- {{ id: mocked, uri: 'mock://store/shop', predicates: [ Path=/mocked/** ],
    filters: [ StripPrefix=1 ] }}
"
    );
    let data = data.to_str().expect("a path");
    let files = [("weir.yaml", config.as_bytes())];
    Gateway::launch(Command::new(BINARY), &["run", "--data", data, "{config}"], &files)
}

/// The upstream that is recorded; `busy` times it is busy first.
async fn shop(mut busy: usize) -> Origin {
    Origin::answering(move |request| {
        let head = request.head();
        let mut words = head.split(' ');
        let line = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let answer = match line {
            ("GET", "/items/7") if busy > 0 => {
                busy -= 1;
                Answer::status(503, &[JSON], "{\"busy\":true}")
            }
            ("GET", "/items/2") => zipped("{\"id\":2,\"name\":\"ink\"}"),
            ("GET", "/items/9") => Answer::status(404, &[JSON], "{\"error\":\"none\"}"),
            ("GET", "/items?page=2") => Answer::status(200, &[JSON], "[3]"),
            ("GET", "/items") => Answer::status(200, &[JSON], "[1,2]"),
            ("GET", "/cached") => Answer::status(304, &[], ""),
            ("GET", "/long") => Answer::status(200, &[JSON], format!("\"{}\"", "x".repeat(LONG))),
            ("GET", _) => {
                let fields = [JSON, "Set-Cookie: sid=s3cret", "X-Shop: upstream"];
                Answer::status(200, &fields, "{\"id\":1,\"name\":\"pen\"}")
            }
            ("POST", _) => Answer::made(|request: &Received| {
                let body =
                    format!("{{\"id\":3,\"token\":\"s3cret\",\"got\":{}}}", request.body.len());
                let length = body.len();
                let head = format!("HTTP/1.1 201 \r\n{JSON}\r\nContent-Length: {length}\r\n\r\n");
                [head.as_bytes(), body.as_bytes()].concat()
            }),
            _ => Answer::status(204, &[], ""),
        };
        Answer::nothing().read_body().and(answer)
    })
    .await
}

/// An answer in gzip, in small chunks.
fn zipped(text: &str) -> Answer {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("to write");
    let coded = encoder.finish().expect("an end");
    let head = format!("HTTP/1.1 200 \r\n{JSON}\r\nContent-Encoding: gzip\r\n");
    let mut bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for part in coded.chunks(5) {
        bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(&[part, b"\r\n"].concat());
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    Answer::raw(bytes)
}

fn record(gateway: &Gateway, args: &[&str]) -> Output {
    let admin = format!("http://{}", gateway.admin());
    let mut weir = Command::new(BINARY);
    weir.args(["apis", "record"]).args(args).args(["--admin", &admin]);
    weir.current_dir(gateway.directory()).output().expect("an output")
}

fn ok(gateway: &Gateway, args: &[&str]) -> String {
    let output = record(gateway, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fails(gateway: &Gateway, args: &[&str], parts: &[&str]) {
    let output = record(gateway, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
    for part in parts {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Waits until a recording has seen so many exchanges: a client has its response a little earlier.
fn wait_for(gateway: &Gateway, name: &str, seen: u64) -> Value {
    loop {
        let told = ok(gateway, &["status", name, "--json"]);
        let status: Value = serde_json::from_str(&told).expect("JSON");
        let so_far = status["seen"].as_u64().expect("a number");
        assert!(so_far <= seen, "{status}");
        if so_far == seen {
            return status;
        }
    }
}

fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: a\r\n{JSON}\r\nContent-Length: {length}\r\n\r\n{body}")
}

async fn check(client: &mut Client, path: &str, status: u16, body: &str) {
    let answer = client.get(path).await;
    assert_eq!((answer.status, answer.text().as_str()), (status, body), "{path}");
}

#[tokio::test]
async fn a_mock_answers_as_the_upstream_did() {
    let data = tempfile::tempdir().expect("a folder");
    let origin = shop(0).await;
    let gateway = start(data.path(), &origin.uri());
    let told = ok(&gateway, &["start", "shop", "--route", "shop"]);
    assert!(told.contains("recording shop") && told.contains("record stop shop"), "{told}");
    ok(&gateway, &["start", "pages", "--path", "/shop/items"]);
    let mut client = Client::connect(gateway.address()).await;
    check(&mut client, "/shop/items/1", 200, "{\"id\":1,\"name\":\"pen\"}").await;
    assert_eq!(client.get("/shop/items/2").await.status, 200);
    gateway.hang_up();
    gateway.wait_for_output("reloaded");
    let mut client = Client::connect(gateway.address()).await;
    check(&mut client, "/shop/items/9", 404, "{\"error\":\"none\"}").await;
    check(&mut client, "/shop/items", 200, "[1,2]").await;
    check(&mut client, "/shop/items?page=2", 200, "[3]").await;
    let pen = "{\"name\":\"nib\",\"password\":\"hunter2\"}";
    assert_eq!(client.exchange(post("/shop/items?api_key=k3y", pen)).await.status, 201);
    assert_eq!(client.get("/shop/items/1").await.status, 200);
    let status = wait_for(&gateway, "shop", 7);
    assert_eq!((&status["exchanges"], &status["state"]), (&6.into(), &"recording".into()));
    wait_for(&gateway, "pages", 3);
    let table = ok(&gateway, &["status"]);
    assert!(table.contains("pages") && table.contains("/shop/items"), "{table}");
    let shown = ok(&gateway, &["stop", "shop", "--dry-run"]);
    for secret in ["s3cret", "hunter2", "k3y"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    let told = ok(&gateway, &["stop", "shop"]);
    assert!(told.starts_with("stored shop, revision 1: 3 operations, 6 examples, 4 "), "{told}");
    // The upstream is not asked any more.
    let asked = origin.requests().len();
    check(&mut client, "/mocked/items/1", 200, "{\"id\":1,\"name\":\"pen\"}").await;
    check(&mut client, "/mocked/items/2", 200, "{\"id\":2,\"name\":\"ink\"}").await;
    check(&mut client, "/mocked/items/9", 404, "{\"error\":\"none\"}").await;
    check(&mut client, "/mocked/items", 200, "[1,2]").await;
    check(&mut client, "/mocked/items?page=2", 200, "[3]").await;
    let created = client.exchange(post("/mocked/items", pen)).await;
    let expected = format!("{{\"id\":3,\"token\":\"redacted\",\"got\":{}}}", pen.len());
    assert_eq!((created.status, created.text()), (201, expected));
    assert_eq!(origin.requests().len(), asked);
    fails(&gateway, &["stop", "shop"], &["no recording `shop`", "record status"]);
    assert!(ok(&gateway, &["stop", "pages", "--json"]).contains("\"operations\":2"));
}

#[tokio::test]
async fn what_the_upstream_said_is_recorded_and_not_what_filters_made_of_it() {
    let data = tempfile::tempdir().expect("a folder");
    let origin = shop(1).await;
    let gateway = start(data.path(), &origin.uri());
    ok(&gateway, &["start", "shop", "--path", "/edited/**", "--path", "/shop/long"]);
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/edited/cached").await.status, 304);
    check(&mut client, "/edited/items/7", 200, "{\"id\":1}").await;
    check(&mut client, "/shop/items/1", 200, "{\"id\":1,\"name\":\"pen\"}").await;
    let long = client.get("/shop/long").await;
    assert_eq!(long.body.len(), LONG + 2);
    let status = wait_for(&gateway, "shop", 2);
    assert_eq!(status["bodies-left-out"], 1);
    let shown: Value =
        serde_json::from_str(&ok(&gateway, &["stop", "shop", "--dry-run"])).expect("JSON");
    let paths = shown["paths"].as_object().expect("paths");
    assert_eq!(paths.keys().collect::<Vec<_>>(), ["/items/{id}", "/long"]);
    let found = &shown["paths"]["/items/{id}"]["get"]["responses"];
    assert_eq!(found["200"]["headers"]["X-Shop"]["example"], "upstream");
    let example = &found["200"]["content"]["application/json"]["examples"]["recorded-1"]["value"];
    assert_eq!(example["name"], "pen");
    assert!(found.get("503").is_none(), "an attempt that was made again: {found}");
    // A definition of that name is not overwritten unless that is wanted.
    ok(&gateway, &["stop", "shop"]);
    ok(&gateway, &["start", "shop", "--route", "shop"]);
    check(&mut client, "/shop/items/1", 200, "{\"id\":1,\"name\":\"pen\"}").await;
    wait_for(&gateway, "shop", 1);
    fails(&gateway, &["stop", "shop"], &["already", "--replace", "goes on"]);
    let told = ok(&gateway, &["stop", "shop", "--replace"]);
    assert!(told.starts_with("stored shop, revision 2: 1 operation, "), "{told}");
}

#[tokio::test]
async fn what_cannot_be_recorded_is_told() {
    let data = tempfile::tempdir().expect("a folder");
    let origin = shop(0).await;
    let mut gateway = start(data.path(), &origin.uri());
    assert!(ok(&gateway, &["status"]).contains("nothing is recorded"));
    let begin = |name, more: &[&'static str]| [&["start", name, "--path", "/**"], more].concat();
    fails(
        &gateway,
        &["start", "a", "--route", "none"],
        &["recording is refused", "no route `none`", "weir routes list"],
    );
    fails(&gateway, &begin("a/b", &[]), &["no name of a definition"]);
    fails(&gateway, &["start", "a", "--path", "items"], &["does not start with `/`"]);
    fails(&gateway, &begin("a", &["--max-body", "2MB"]), &["/max-body", "up to 1MB"]);
    fails(&gateway, &begin("a", &["--for", "soon"]), &["/for", "number and a unit"]);
    fails(&gateway, &begin("a", &["--max-exchanges", "0"]), &["from 1 to 10000"]);
    ok(&gateway, &begin("a", &["--max-exchanges", "1", "--max-body", "10B", "--for", "5m"]));
    fails(&gateway, &begin("a", &[]), &["runs already"]);
    for stop in [&["stop", "a"][..], &["stop", "a", "--dry-run"], &["stop", "a", "-o", "a.json"]] {
        fails(&gateway, stop, &["nothing was recorded"]);
    }
    fails(&gateway, &["cancel", "b"], &["no recording `b`"]);
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/shop/items/1").await.status, 200);
    assert_eq!(client.get("/nowhere").await.status, 404);
    let status = wait_for(&gateway, "a", 1);
    assert!(status["state"].as_str().is_some_and(|state| state.starts_with("full")), "{status}");
    let told = ok(&gateway, &["stop", "a", "-o", "a.json", "--json"]);
    assert!(told.contains("\"written\":\"a.json\"") && told.contains("\"examples\":0"), "{told}");
    let written = std::fs::read_to_string(gateway.directory().join("a.json")).expect("a file");
    assert!(written.contains("/items/{id}") && !written.contains("\"pen\""), "{written}");
    ok(&gateway, &begin("a", &[]));
    ok(&gateway, &["cancel", "a"]);
    // A crash loses the recording and nothing else.
    ok(&gateway, &begin("kept", &[]));
    assert_eq!(client.get("/shop/items/1").await.status, 200);
    wait_for(&gateway, "kept", 1);
    ok(&gateway, &["stop", "kept"]);
    ok(&gateway, &begin("lost", &[]));
    gateway.kill();
    let gateway = start(data.path(), &origin.uri());
    assert_eq!(ok(&gateway, &["status", "--json"]), "[]\n");
    let request = "GET /weir/apis/kept HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(Client::connect(gateway.admin()).await.exchange(request).await.status, 200);
}
