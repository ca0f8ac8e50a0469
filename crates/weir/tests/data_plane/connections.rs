//! Keep-alive, pipelining, HTTP/1.0, timeouts and limits of client connections.

use std::time::Duration;

use weir_testkit::{Answer, Client, Gate, Origin, PATIENCE};

use crate::gateway;

#[tokio::test]
async fn one_connection_carries_many_requests_on_either_side() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.server.workers: 1");
    let mut client = Client::connect(gateway.address()).await;
    for n in 0..5 {
        assert_eq!(client.get(&format!("/{n}")).await.text(), "ok");
    }
    assert_eq!(origin.requests().len(), 5);
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let origin = Origin::answering(|got| Answer::status(200, &[], got.target())).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let many: String = (0..20).map(|n| format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    client.send(many).await;
    for n in 0..20 {
        assert_eq!(client.read_response().await.text(), format!("/{n}"));
    }
}

#[tokio::test]
async fn a_post_and_the_request_behind_it_do_not_mix() {
    let origin = Origin::answering(|_| Answer::echo()).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client
        .send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        .await;
    assert_eq!(client.read_response().await.text(), "abc");
    assert_eq!(client.read_response().await.text(), "");
    assert_eq!(origin.requests().len(), 2);
}

#[tokio::test]
async fn http_1_0_closes_unless_asked_to_keep() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let response = client.exchange("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!((response.status, response.text()), (200, "ok".into()));
    client.expect_closed().await;
    let mut client = Client::connect(gateway.address()).await;
    let response = client.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
    assert_eq!(response.field("connection").as_deref(), Some("keep-alive"));
    assert_eq!(client.exchange("GET / HTTP/1.0\r\n\r\n").await.text(), "ok");
    assert!(origin.requests().iter().all(|got| got.line().ends_with("HTTP/1.1")));
}

#[tokio::test]
async fn connection_close_is_honoured_and_announced() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.server.keep-alive-requests-max: 2");
    let mut client = Client::connect(gateway.address()).await;
    let response = client.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert_eq!(response.field("connection").as_deref(), Some("close"));
    client.expect_closed().await;
    let mut client = Client::connect(gateway.address()).await;
    assert!(!client.get("/").await.closes);
    assert!(client.get("/").await.closes);
    client.expect_closed().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_time() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.server.keep-alive-timeout: 200ms");
    let mut client = Client::connect(gateway.address()).await;
    client.get("/").await;
    client.expect_closed().await;
}

#[tokio::test]
async fn a_head_that_never_ends_is_answered_408() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.server.head-timeout: 200ms");
    let mut client = Client::connect(gateway.address()).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-").await;
    assert_eq!(client.read_response().await.status, 408);
    client.expect_closed().await;
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn limits_are_answered_and_nothing_is_sent_on() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.server.body-bytes-max: 10");
    let check = async |request: String, status: u16| {
        let mut client = Client::connect(gateway.address()).await;
        client.send(&request).await;
        let head: String = request.chars().take(40).collect();
        assert_eq!(client.read_response().await.status, status, "{head}");
        client.expect_closed().await;
    };
    check(format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(9_000)), 414).await;
    let large = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(40_000));
    check(large, 431).await;
    let many: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    check(format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431).await;
    check("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n".into(), 413).await;
    assert!(origin.requests().is_empty());
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n";
    check(chunked.into(), 413).await;
}

#[tokio::test]
async fn dedicated_acceptors_serve_as_workers_do() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.server: { workers: 2, acceptors: 1 }");
    for _ in 0..10 {
        let mut client = Client::connect(gateway.address()).await;
        assert_eq!(client.get("/").await.status, 200);
    }
    assert!(gateway.output().contains("2 (1 acceptor)"), "{}", gateway.output());
}

#[tokio::test]
async fn buffers_are_told_as_the_system_grants_them() {
    let origin = Origin::start().await;
    let sizes = "read-buffer-size: 16KB, receive-buffer-size: 32KB, send-buffer-size: 256MB";
    let gateway = gateway(&origin, &format!("weir.server: {{ {sizes} }}"));
    assert_eq!(Client::connect(gateway.address()).await.get("/").await.status, 200);
    let told = gateway.output();
    let line = told.lines().find(|line| line.starts_with("buffers ")).unwrap_or(&told);
    assert!(line.contains("16 KB per read") && line.contains("receive 32 KB"), "{told}");
    let most = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap();
    let cut = most.trim().parse::<usize>().unwrap() < 256 << 20;
    assert_eq!(told.contains("send-buffer-size 262144 KB is cut to "), cut, "{told}");
    assert_eq!(told.contains("raise net.core.wmem_max"), cut, "{told}");
}

/// Whether this machine has a connection between these ports, as far as given, with a running
/// keep-alive timer (`/proc/net/tcp`: columns 2 and 3 are the ends, 6 is the timer).
fn is_watched_over(from: Option<u16>, to: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a list of connections");
    let is_of = |end: Option<&&str>, port: Option<u16>| match port {
        Some(port) => end.is_some_and(|end| end.ends_with(&format!(":{port:04X}"))),
        None => true,
    };
    table.lines().any(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let timer = fields.get(5).is_some_and(|field| field.starts_with("02:"));
        timer && is_of(fields.get(1), from) && is_of(fields.get(2), Some(to))
    })
}

#[tokio::test]
async fn peers_that_vanish_without_a_word_are_found_out() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held)).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let (near, far) = (client.address().port(), origin.address().port());
    let own = Some(gateway.address().port());
    let found = async {
        while !(is_watched_over(own, near) && is_watched_over(None, far)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await;
    assert!(found.is_ok(), "a side is not asked whether it is still there");
}
