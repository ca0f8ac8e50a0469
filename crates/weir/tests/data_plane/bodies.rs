//! Bodies in both directions: framing, size, trailers, interim responses, early answers.

use std::time::Duration;

use weir_testkit::{Answer, Client, Gate, Gateway, Origin};

use crate::{gateway, with_routes};

#[tokio::test]
async fn bodies_of_any_size_and_framing_arrive_whole() {
    for buffers in [
        "",
        "weir.server.read-buffer-size: 4KB",
        "weir.server: { receive-buffer-size: 4KB, send-buffer-size: 4KB }",
        "weir.server.read-buffer-size: 1MB",
        "weir.server.splice: false",
    ] {
        arrive_whole(buffers).await;
    }
}

async fn arrive_whole(buffers: &str) {
    let origin = Origin::answering(|_| Answer::echo()).await;
    let gateway = gateway(&origin, buffers);
    let mut client = Client::connect(gateway.address()).await;
    for size in [0, 1, 1_000, 70_000, 3_000_000] {
        let body: Vec<u8> = (0..size).map(|n: u32| (n % 251) as u8).collect();
        let mut request =
            format!("POST /{size} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n")
                .into_bytes();
        request.extend_from_slice(&body);
        assert!(client.exchange(&request).await.body == body, "{size} by length, {buffers}");
        let mut request =
            format!("POST /{size} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                .into_bytes();
        for piece in body.chunks(10_000) {
            request.extend_from_slice(format!("{:x};ext=1\r\n", piece.len()).as_bytes());
            request.extend_from_slice(piece);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        assert!(client.exchange(&request).await.body == body, "{size} chunked, {buffers}");
    }
}

#[tokio::test]
async fn a_chunked_response_stays_chunked_with_its_trailers() {
    let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
               3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n";
    let origin = Origin::answering(move |_| Answer::raw(raw)).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let response = client.get("/").await;
    assert_eq!(response.text(), "abcde");
    assert_eq!(response.trailers, [("X-Sum".to_owned(), "5".to_owned())]);
    let old = client.exchange("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(old.text(), "abcde");
    assert_eq!(old.field("transfer-encoding"), None);
    client.expect_closed().await;
}

#[tokio::test]
async fn a_response_without_length_ends_with_its_connection() {
    let origin =
        Origin::answering(|_| Answer::raw("HTTP/1.0 200 OK\r\n\r\nuntil close").close()).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/").await.text(), "until close");
    assert_eq!(client.get("/").await.text(), "until close");
}

#[tokio::test]
async fn so_does_a_large_one_that_is_spliced() {
    let origin =
        Origin::answering(|_| Answer::raw("HTTP/1.0 200 OK\r\n\r\n").repeat(piece(), 64).close())
            .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let response = client.exchange("GET / HTTP/1.0\r\n\r\n").await;
    assert!(response.body == piece().repeat(64));
}

#[tokio::test]
async fn head_204_and_304_have_no_body() {
    let origin = Origin::answering(|got| match got.target().as_str() {
        "/204" => Answer::raw("HTTP/1.1 204 No Content\r\n\r\n"),
        "/304" => Answer::raw("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"),
        _ => Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
    })
    .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let head = client.read_response_to("HEAD").await;
    assert_eq!(head.field("content-length").as_deref(), Some("10"));
    assert_eq!(client.get("/204").await.status, 204);
    assert_eq!(client.get("/304").await.field("etag").as_deref(), Some("\"1\""));
    assert_eq!(client.get("/204").await.status, 204);
}

#[tokio::test]
async fn a_hundred_continue_is_relayed_before_the_body_is_sent() {
    let origin = Origin::answering(|_| {
        Answer::raw("HTTP/1.1 100 Continue\r\n\r\n")
            .early()
            .read_body()
            .write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
    })
    .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .await;
    assert!(client.read_interim().await.head.starts_with("HTTP/1.1 100"));
    client.send("abc").await;
    assert_eq!(client.read_response().await.text(), "done");
    assert_eq!(origin.wait_for_requests(1).await[0].body, b"abc");
}

#[tokio::test]
async fn a_refusal_instead_of_100_does_not_poison_what_follows() {
    let refused = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n";
    let origin = Origin::with([Answer::raw(refused).early()]).await;
    let gateway = gateway(&origin, "weir.server.workers: 1");
    let mut client = Client::connect(gateway.address()).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .await;
    assert_eq!(client.read_response().await.status, 417);
    client.expect_closed().await;
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/next").await.text(), "ok");
    assert_eq!(origin.connections(), 2);
}

#[tokio::test]
async fn early_hints_reach_a_1_1_client_only() {
    let raw = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let origin = Origin::answering(move |_| Answer::raw(raw)).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let response = client.get("/").await;
    assert_eq!((response.status, response.interim.len()), (200, 1));
    let old = client.exchange("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!((old.status, old.interim.len()), (200, 0));
}

#[tokio::test]
async fn a_flood_of_interim_responses_is_cut_off() {
    let origin =
        Origin::answering(|_| Answer::nothing().repeat("HTTP/1.1 102 Processing\r\n\r\n", 100_000))
            .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let response = client.exchange("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(response.status, 502);
}

#[tokio::test]
async fn an_early_answer_is_relayed_while_the_upload_goes_on() {
    let origin = Origin::answering(|_| Answer::status(403, &[], "no").early()).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc").await;
    let response = client.read_response().await;
    assert_eq!((response.status, response.text()), (403, "no".into()));
    assert!(response.closes);
}

#[tokio::test]
async fn events_arrive_one_by_one() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| {
        Answer::raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 20\r\n\r\ndata: one\n")
            .pause(&held)
            .write("data: two\n")
    })
    .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut seen = Vec::new();
    while !seen.ends_with(b"data: one\n") {
        seen.extend(client.read_exactly(1).await);
    }
    gate.open();
    assert_eq!(client.read_exactly(10).await, b"data: two\n");
}

/// The repeated piece of spliced bodies: its length is no multiple of a page or of a buffer.
fn piece() -> Vec<u8> {
    (0..65_521_u32).map(|n| (n % 251) as u8).collect()
}

/// Pipes that the gateway has open, its standard streams included.
fn pipes(gateway: &Gateway) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", gateway.pid())).expect("its files");
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("pipe:")).count()
}

/// The system moves them, through a pipe that is there only as long as it holds something.
#[tokio::test]
async fn large_bodies_are_spliced() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 67093504\r\n\r\n";
    let origin = Origin::answering(move |_| Answer::raw(head).repeat(piece(), 1_024)).await;
    let gateway = gateway(&origin, "");
    let (before, piece) = (pipes(&gateway), piece());
    for leaves in [false, true, false] {
        let mut client = Client::connect(gateway.address()).await;
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        client.read_exactly(head.len()).await;
        let mut seen = false;
        for n in 0..1_024 {
            assert!(client.read_exactly(piece.len()).await == piece, "piece {n}");
            // The client reads no more than its buffers hold, and the rest waits.
            seen |= pipes(&gateway) > before;
            if leaves && seen {
                break;
            }
        }
        assert!(seen, "no pipe was seen");
        if leaves {
            client.reset();
        }
        for tried in 0.. {
            if pipes(&gateway) == before {
                break;
            }
            assert!(tried < 1_000, "pipes stay open");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn nothing_is_spliced_where_that_is_switched_off() {
    let origin = Origin::answering(|_| Answer::status(200, &[], vec![7; 4_000_000])).await;
    let gateway = gateway(&origin, "weir.server.splice: false");
    let before = pipes(&gateway);
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/").await.body.len(), 4_000_000);
    assert_eq!(pipes(&gateway), before);
}

/// The bytes received before the cut reach the client, whose connection does not end as if the body
/// were complete.
#[tokio::test]
async fn a_spliced_response_may_be_cut_short() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 67093504\r\n\r\n";
    let origin = Origin::answering(move |_| Answer::raw(head).repeat(piece(), 64).close()).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let all = client.read_to_end().await;
    assert_eq!((all.len(), &all[all.len() - 10..]), (head.len() + 64 * 65_521, &piece()[65_511..]));
}

#[tokio::test]
async fn a_slow_reader_holds_the_origin_back() {
    let origin = Origin::answering(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 268435456\r\n\r\n")
            .repeat([7; 65_536], 4_096)
    })
    .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    client.read_exactly(1_000).await;
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).expect("status");
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kib: u64 = rss.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kib < 64 * 1024, "{kib} KiB resident while 256 MiB wait");
    client.reset();
    origin.wait_for_open(0).await;
}

/// Whatever filters do to framing fields, the next message is read from where it begins.
#[tokio::test]
async fn filters_cannot_take_a_body_out_of_its_frame() {
    let origin = Origin::answering(|got| match got.method().as_str() {
        "PUT" => Answer::raw("HTTP/1.1 204 No Content\r\n\r\n"),
        _ => Answer::echo(),
    })
    .await;
    let chains = [
        "'RemoveRequestHeader=Content-Length', 'RemoveResponseHeader=Content-Length'",
        "'RemoveResponseHeader=Transfer-Encoding'",
        "'DedupeResponseHeader=Content-Length', 'RemoveRequestHeader=Transfer-Encoding'",
        "'SetStatus=200'",
    ];
    for filters in chains {
        let uri = origin.uri();
        let route =
            format!("id: a, uri: '{uri}', predicates: [ 'Path=/**' ], filters: [{filters}]");
        let gateway = with_routes(&format!("[ {{ {route} }} ]"), "");
        let mut client = Client::connect(gateway.address()).await;
        for method in ["GET", "POST", "PUT", "POST"] {
            let head = format!("{method} / HTTP/1.1\r\nHost: a\r\n");
            let (length, body) = match method {
                "POST" => ("Content-Length: 5\r\n", "hello"),
                _ => ("", ""),
            };
            let response = client.exchange(format!("{head}{length}\r\n{body}")).await;
            assert_eq!(response.text(), body, "{method} with {filters}");
            let told =
                response.all("content-length").len() + response.all("transfer-encoding").len();
            assert!(told <= 1, "{method} with {filters}: {}", response.head);
        }
        let last = client.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
        assert_eq!(last.text(), "", "{filters}");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_short_never_looks_whole() {
    let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let origin = Origin::answering(move |_| Answer::raw(raw).close()).await;
    let gateway = gateway(&origin, "");
    let mut old = Client::connect(gateway.address()).await;
    old.send("GET / HTTP/1.0\r\n\r\n").await;
    let error = old.try_read_to_end().await.expect_err("a reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    // Chunks delimit themselves, so no sent byte is lost.
    let mut new = Client::connect(gateway.address()).await;
    new.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let got = new.try_read_to_end().await.expect("an end");
    let got = String::from_utf8_lossy(&got).into_owned();
    assert!(got.contains("hello") && !got.ends_with("0\r\n\r\n"), "{got}");
}
