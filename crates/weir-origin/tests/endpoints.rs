//! Every endpoint through a raw client.

use std::net::{Ipv4Addr, SocketAddr};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use weir_origin::{Options, Running, Stats, serve};
use weir_testkit::{Client, PATIENCE};

fn start(options: Options) -> Running {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    serve(Options { address, ..options }).unwrap()
}

/// Waits until `holds` is true of what `origin` counts.
async fn wait_until(origin: &Running, holds: impl Fn(Stats) -> bool) {
    let waiting = async {
        while !holds(origin.stats()) {
            tokio::task::yield_now().await;
        }
    };
    let done = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(done.is_ok(), "waited in vain: {}", origin.stats());
}

/// Checks status and body of GET requests on one connection.
async fn check(cases: &[(&str, u16, &str)]) {
    let origin = start(Options::default());
    let mut client = Client::connect(origin.address()).await;
    for (target, status, body) in cases {
        let response = client.get(target).await;
        assert_eq!((response.status, response.text().as_str()), (*status, *body), "{target}");
    }
    assert_eq!(origin.stats().connections_total, 1);
    assert_eq!(origin.stats().requests, cases.len() as u64);
}

async fn json_of(request: &str) -> Value {
    let origin = start(Options::default());
    let response = Client::connect(origin.address()).await.exchange(request).await;
    assert_eq!(response.field("content-type").as_deref(), Some("application/json"));
    serde_json::from_slice(&response.body).unwrap()
}

#[tokio::test]
async fn fixed_answers() {
    check(&[
        ("/ok", 200, "ok\n"),
        ("/ok/a/b?c", 200, "ok\n"),
        ("/okay", 404, "nothing here; / tells what there is\n"),
        ("/hello/0", 200, "Welcome to reactive world ~"),
        ("/hello/1", 200, "Welcome to reactive world ~"),
        ("/hello/x", 400, "milliseconds expected\n"),
        ("/delay/x", 400, "seconds expected\n"),
        ("/delay/-1", 400, "seconds expected\n"),
        ("/delay/NaN", 400, "seconds expected\n"),
        ("/status/200", 200, ""),
        ("/status/418", 418, ""),
        ("/status/204", 204, ""),
        ("/status/100", 400, "a status from 200 to 999 expected\n"),
        ("/status/x", 400, "a status from 200 to 999 expected\n"),
        ("/bytes/0", 200, ""),
        ("/bytes/28", 200, "abcdefghijklmnopqrstuvwxyzab"),
        ("/bytes/x", 400, "a number of bytes expected\n"),
        (
            "/sse?interval=1&count=2",
            200,
            "id: 0\ndata: {\"id\": 0}\n\nid: 1\ndata: {\"id\": 1}\n\n",
        ),
        ("/sse?count=0&interval=0", 200, ""),
        ("/sse?count=x", 400, "numbers expected\n"),
        ("/post", 405, "another method expected\n"),
        ("/ws", 426, "this is for WebSocket\n"),
    ])
    .await;
}

#[tokio::test]
async fn the_route_asked_for_is_told() {
    let origin = start(Options::default());
    let mut client = Client::connect(origin.address()).await;
    let request = "GET /ok/1 HTTP/1.1\r\nHost: a\r\nX-Benchmark-RouteId: r7\r\n\r\n";
    let response = client.exchange(request).await;
    assert_eq!(response.field("x-mock-server-routeId").as_deref(), Some("r7"));
    assert_eq!(client.get("/ok/1").await.field("x-mock-server-routeId"), None);
}

#[tokio::test]
async fn requests_are_reflected() {
    let request = "PUT /anything/a%20b?x=1&y=%41+b&x=2&z HTTP/1.1\r\nHost: a:1\r\nX-one: p\r\n\
        x-One: q\r\nContent-Length: 8\r\n\r\n{\"k\": 1}";
    assert_eq!(
        json_of(request).await,
        json!({
            "method": "PUT",
            "url": "http://a:1/anything/a%20b?x=1&y=%41+b&x=2&z",
            "args": { "x": ["1", "2"], "y": "A b", "z": "" },
            "headers": { "Host": "a:1", "X-One": "p,q", "Content-Length": "8" },
            "origin": "127.0.0.1",
            "data": "{\"k\": 1}",
            "json": { "k": 1 },
        })
    );
    let chunked = "POST /post HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
        2\r\nhi\r\n0\r\n\r\n";
    assert_eq!(json_of(chunked).await["data"], "hi");
    let delayed = json_of("GET /delay/0.001?a=b HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(delayed["args"], json!({ "a": "b" }));
    let fields = json_of("GET /headers HTTP/1.1\r\nHost: a\r\nAccept: b\r\n\r\n").await;
    assert_eq!(fields, json!({ "headers": { "Host": "a", "Accept": "b" } }));
    let get = json_of("GET /get HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!((&get["method"], &get["json"]), (&json!("GET"), &Value::Null));
}

#[tokio::test]
async fn streams_are_chunked_and_bytes_are_not() {
    let origin = start(Options::default());
    let mut client = Client::connect(origin.address()).await;
    let response = client.get("/stream/3?a=b").await;
    assert_eq!(response.field("transfer-encoding").as_deref(), Some("chunked"));
    let lines: Vec<Value> =
        response.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines.iter().map(|line| line["id"].as_u64().unwrap()).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!(lines[2]["args"], json!({ "a": "b" }));
    let response = client.get("/bytes/200000").await;
    assert_eq!(response.field("content-length").as_deref(), Some("200000"));
    assert_eq!(response.body.len(), 200_000);
    let response = client.get("/sse?count=1").await;
    assert_eq!(response.field("content-type").as_deref(), Some("text/event-stream"));
}

#[tokio::test]
async fn http_10_is_served_and_kept_alive_on_request() {
    let origin = start(Options::default());
    let mut client = Client::connect(origin.address()).await;
    let kept = client.exchange("GET /ok HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
    assert_eq!((kept.text().as_str(), kept.closes), ("ok\n", false));
    let streamed = client.exchange("GET /stream/1 HTTP/1.0\r\n\r\n").await;
    assert_eq!(streamed.field("transfer-encoding"), None);
    assert!(streamed.text().ends_with("}\n"));
    client.expect_closed().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let origin = start(Options::default());
    let mut client = Client::connect(origin.address()).await;
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
    client.send(get("/status/201") + &get("/hello/2") + &get("/status/202")).await;
    assert_eq!(client.read_response().await.status, 201);
    assert_eq!(client.read_response().await.text(), "Welcome to reactive world ~");
    assert_eq!(client.read_response().await.status, 202);
}

/// Largest amount of memory this process has had, in bytes.
fn memory_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_large_body_that_nobody_reads_is_not_collected() {
    const BODY_BYTES: u64 = 512 * 1024 * 1024;
    let origin = start(Options::default());
    let mut reader = Client::connect(origin.address()).await;
    reader.send(format!("GET /bytes/{BODY_BYTES} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    wait_until(&origin, |stats| stats.requests == 1).await;
    let mut client = Client::connect(origin.address()).await;
    assert_eq!(client.get("/ok").await.status, 200);
    assert!(memory_max() < BODY_BYTES / 2);
}

#[tokio::test]
async fn blocking_threads_and_their_queue_are_bounded() {
    let options = Options { blocking: true, threads: 2, queue: 1, ..Options::default() };
    let origin = start(options);
    let mut waiting = Vec::new();
    for count in 1..=3 {
        let mut client = Client::connect(origin.address()).await;
        client.send("GET /hello/600000 HTTP/1.1\r\nHost: a\r\n\r\n").await;
        waiting.push(client);
        wait_until(&origin, |stats| stats.threads_busy + stats.queued == count).await;
    }
    let mut client = Client::connect(origin.address()).await;
    let refused = client.get("/hello/0").await;
    assert_eq!((refused.status, refused.text().as_str()), (503, "all threads are busy\n"));
    assert_eq!(client.get("/delay/0").await.status, 503);
    assert_eq!(client.get("/ok").await.status, 200);
    let stats: Value = serde_json::from_slice(&client.get("/stats").await.body).unwrap();
    assert_eq!(
        stats,
        json!({
            "connections": 4, "connections_total": 4, "connections_most": 4, "requests": 7,
            "threads_busy": 2, "threads": 2, "threads_most": 2, "queued": 1, "refused": 2,
        })
    );
    assert_eq!(
        origin.stats().to_string(),
        "connections 4 (most 4), requests 7, threads 2 busy of 2 (most 2), queued 1, refused 2"
    );
}

#[tokio::test]
async fn blocking_threads_are_used_again() {
    let options = Options { blocking: true, threads: 5, queue: 0, ..Options::default() };
    let origin = start(options);
    let mut client = Client::connect(origin.address()).await;
    for _ in 0..3 {
        assert_eq!(client.get("/hello/0").await.status, 200);
        wait_until(&origin, |stats| stats.threads_busy == 0).await;
    }
    assert_eq!(origin.stats().threads_most, 1);
}

#[tokio::test]
async fn websockets_echo_on_any_path() {
    let origin = start(Options::default());
    for path in ["/ws", "/any/path?a"] {
        let stream = TcpStream::connect(origin.address()).await.unwrap();
        let uri = format!("ws://{}{path}", origin.address());
        let (mut socket, response) = tokio_tungstenite::client_async(uri, stream).await.unwrap();
        assert_eq!(response.status(), 101);
        for message in [Message::text("a"), Message::binary(vec![0, 255])] {
            socket.send(message.clone()).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), message);
        }
        socket.send(Message::Ping("p".into())).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong("p".into()));
        socket.close(None).await.unwrap();
        assert!(matches!(socket.next().await, Some(Ok(Message::Close(None)))));
    }
    let fields = "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket";
    let mut client = Client::connect(origin.address()).await;
    let keyless = client.exchange(format!("GET /ws HTTP/1.1\r\n{fields}\r\n\r\n")).await;
    assert_eq!(keyless.status, 400);
    let more = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Protocol: p1, p2";
    let opened = client.exchange(format!("GET /ws HTTP/1.1\r\n{fields}\r\n{more}\r\n\r\n")).await;
    assert_eq!(opened.status, 101);
    // The example of RFC 6455 section 1.3.
    let accept = opened.field("sec-websocket-accept");
    assert_eq!(accept.as_deref(), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(opened.field("sec-websocket-protocol").as_deref(), Some("p1"));
}

#[tokio::test]
async fn every_worker_listens_and_all_stop_when_dropped() {
    let origin = start(Options { workers: 3, ..Options::default() });
    let address = origin.address();
    let mut clients = Vec::new();
    for _ in 0..12 {
        let mut client = Client::connect(address).await;
        assert_eq!(client.get("/ok").await.status, 200);
        clients.push(client);
    }
    assert_eq!(origin.stats().connections, 12);
    drop(origin);
    for client in &mut clients {
        client.expect_closed().await;
    }
    assert!(TcpStream::connect(address).await.is_err());
}

/// Its own workers share a port; another origin would silently get a part of the requests.
#[test]
fn one_origin_is_at_many_addresses() {
    let also = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
    let origin = start(Options { workers: 2, also: also.clone(), ..Options::default() });
    for ip in also {
        let address = SocketAddr::new(ip, origin.address().port());
        assert!(std::net::TcpStream::connect(address).is_ok(), "{address}");
    }
    let other = SocketAddr::new([127, 0, 0, 4].into(), origin.address().port());
    assert!(std::net::TcpStream::connect(other).is_err(), "only where it was told to");
}

#[test]
fn a_port_that_is_taken_is_not_shared() {
    let origin = start(Options { workers: 2, ..Options::default() });
    let again = serve(Options { address: origin.address(), ..Options::default() });
    let kind = again.map(drop).map_err(|error| error.kind());
    assert_eq!(kind, Err(std::io::ErrorKind::AddrInUse));
}
