//! Filters that change bodies, end to end.

use std::io::Write;

use weir_testkit::{Answer, Client, Gateway, Origin, spawn_weir};

fn gateway(origin: &Origin, filters: &str) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         spring.http.codecs.max-in-memory-size: 10KB\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - id: a\n  uri: '{}'\n  predicates: [ 'Path=/a/**' ]\n  filters:\n{filters}\n",
        origin.uri()
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}

const EDIT: &str =
    "  - name: EditRequestBody\n    args: { remove: [ /password ], set: { /by: gateway } }";

fn post(fields: &str, body: &str) -> String {
    format!("POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{fields}\r\n{body}")
}

#[tokio::test]
async fn request_bodies_are_changed_and_what_follows_is_not() {
    let origin = Origin::answering(|_| Answer::nothing().read_body().and(Answer::ok())).await;
    let gateway = gateway(&origin, EDIT);
    let mut client = Client::connect(gateway.address()).await;
    let body = r#"{"user":"a","password":"p"}"#;
    let first = post(&format!("Content-Length: {}\r\n", body.len()), body);
    let second = post("Transfer-Encoding: chunked\r\n", "5\r\n{\"n\":\r\n2\r\n1}\r\n0\r\n\r\n");
    let third = "GET /a/3 HTTP/1.1\r\nHost: a\r\n\r\n";
    // Sent together, each message is separated from the next.
    client.send(first + &second + third).await;
    for _ in 0..3 {
        assert_eq!(client.read_response().await.status, 200);
    }
    let got = origin.requests();
    let bodies: Vec<_> =
        got.iter().map(|one| String::from_utf8_lossy(&one.body).into_owned()).collect();
    assert_eq!(bodies, [r#"{"user":"a","by":"gateway"}"#, r#"{"n":1,"by":"gateway"}"#, ""]);
    assert_eq!(got[0].all("content-length"), ["27"]);
    assert_eq!(
        (got[1].all("content-length"), got[1].field("transfer-encoding")),
        (vec!["22".to_owned()], None)
    );
}

#[tokio::test]
async fn request_bodies_that_cannot_be_changed() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, EDIT);
    let mut client = Client::connect(gateway.address()).await;
    let answer = client.exchange(post("Content-Length: 1\r\n", "{")).await;
    assert_eq!(answer.status, 500);
    let long = format!("{{\"n\":\"{}\"}}", "x".repeat(11_000));
    let mut client = Client::connect(gateway.address()).await;
    let answer = client.exchange(post(&format!("Content-Length: {}\r\n", long.len()), &long)).await;
    assert_eq!(answer.status, 413);
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn other_types_are_left_alone() {
    let origin = Origin::answering(|_| Answer::echo()).await;
    let gateway = gateway(&origin, EDIT);
    let mut client = Client::connect(gateway.address()).await;
    let head =
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\n";
    let answer = client.exchange(format!("{head}{{\"password\":1}}")).await;
    assert_eq!(answer.text(), "{\"password\":1}");
}

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).expect("memory");
    gzip.finish().expect("memory")
}

#[tokio::test]
async fn responses_are_changed_whatever_their_coding() {
    let origin = Origin::answering(|request| {
        let json = "Content-Type: application/json";
        match request.target().as_str() {
            "/a/gzip" => {
                Answer::status(200, &[json, "Content-Encoding: gzip"], gzip("{\"id\":1,\"n\":2}"))
            }
            "/a/zstd" => {
                let coded = zstd::encode_all(b"{\"id\":1,\"n\":2}".as_slice(), 3).expect("memory");
                Answer::status(200, &[json, "Content-Encoding: zstd"], coded)
            }
            "/a/chunked" => Answer::raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: \
                 chunked\r\n\r\n8\r\n{\"id\":1,\r\n6\r\n\"n\":2}\r\n0\r\n\r\n",
            ),
            "/a/close" => Answer::raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"id\":1,\"n\":2}",
            )
            .close(),
            "/a/cut" => Answer::raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
            )
            .close(),
            "/a/long" => Answer::status(200, &[json], "1".repeat(11_000)),
            "/a/none" => Answer::status(204, &[json], ""),
            _ => Answer::status(200, &["Content-Type: text/plain"], "{\"id\":1}"),
        }
    })
    .await;
    let filters = "  - RemoveJsonAttributesResponseBody=id\n  - AddResponseHeader=X-Own, 1";
    let gateway = gateway(&origin, filters);
    let mut client = Client::connect(gateway.address()).await;
    let get = |path: &str| format!("GET /a/{path} HTTP/1.1\r\nHost: a\r\n\r\n");
    for path in ["gzip", "zstd", "chunked", "close"] {
        let answer = client.exchange(get(path)).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "{\"n\":2}"), "{path}");
        assert_eq!(
            (answer.field("content-encoding"), answer.field("x-own").as_deref()),
            (None, Some("1"))
        );
        assert_eq!(answer.all("content-length"), ["7"], "{path}");
    }
    for (path, status) in [("long", 500), ("cut", 502), ("none", 204)] {
        assert_eq!(client.exchange(get(path)).await.status, status, "{path}");
    }
    let answer = client.exchange(get("other")).await;
    assert_eq!(answer.text(), "{\"id\":1}");
    let answer = client.exchange("HEAD /a/gzip HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
}

/// The response to a client that accepts this coding: its coding and its content.
async fn fetched(gateway: &Gateway, path: &str, accepted: &str) -> (Option<String>, Vec<u8>) {
    let get = format!("GET /a/{path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {accepted}\r\n\r\n");
    let answer = Client::connect(gateway.address()).await.exchange(get).await;
    assert_eq!(answer.status, 200, "{path}");
    (answer.field("content-encoding"), answer.body)
}

fn unzipped(content: &[u8]) -> String {
    let mut text = String::new();
    let mut reader = flate2::read::GzDecoder::new(content);
    std::io::Read::read_to_string(&mut reader, &mut text).expect("gzip");
    text
}

#[tokio::test]
async fn responses_are_compressed_as_clients_like() {
    let text = "all work and no play ".repeat(20_000);
    let body = text.clone();
    let origin = Origin::answering(move |request| {
        let html = "Content-Type: text/html";
        match request.target().as_str() {
            "/a/long" => Answer::status(200, &[html, "ETag: \"1\""], &body),
            "/a/short" => Answer::status(200, &[html], "short"),
            "/a/image" => Answer::status(200, &["Content-Type: image/png"], &body),
            _ => {
                let chunk = format!("{:x}\r\n{body}\r\n", body.len());
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: \
                            chunked\r\n\r\n";
                Answer::raw([head, &chunk, "3\r\nend\r\n0\r\n\r\n"].concat())
            }
        }
    })
    .await;
    let gateway = gateway(&origin, "  - Compress=");
    let (coding, content) = fetched(&gateway, "long", "gzip, br;q=0.5").await;
    assert_eq!((coding.as_deref(), unzipped(&content) == text), (Some("gzip"), true));
    assert!(content.len() < text.len() / 20, "{}", content.len());
    let (coding, content) = fetched(&gateway, "chunked", "gzip").await;
    assert_eq!((coding.as_deref(), unzipped(&content)), (Some("gzip"), text.clone() + "end"));
    let (coding, content) = fetched(&gateway, "long", "gzip, br").await;
    assert_eq!(coding.as_deref(), Some("br"));
    assert!(!content.is_empty() && content.len() < text.len() / 20);
    for path in ["long", "chunked"] {
        let (coding, content) = fetched(&gateway, path, "gzip;q=0.8, zstd").await;
        assert_eq!(coding.as_deref(), Some("zstd"));
        assert!(!content.is_empty() && content.len() < text.len() / 20);
        let content = zstd::decode_all(content.as_slice()).expect("zstd");
        assert!(content.starts_with(text.as_bytes()));
    }
    for (path, accepted) in [("short", "gzip"), ("image", "gzip"), ("long", "identity")] {
        assert_eq!(fetched(&gateway, path, accepted).await.0, None, "{path}");
    }
    // HTTP/1.0 has no chunks.
    let old = "GET /a/long HTTP/1.0\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n";
    let answer = Client::connect(gateway.address()).await.exchange(old).await;
    assert_eq!((answer.field("content-encoding"), answer.body.len()), (None, text.len()));
}

#[tokio::test]
async fn a_compressed_stream_is_passed_on_as_it_comes() {
    let gate = weir_testkit::Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: \
                    chunked\r\n\r\n5\r\nfirst\r\n";
        let rest = Answer::raw("6\r\nsecond\r\n0\r\n\r\n");
        Answer::raw(head).pause(&held).and(rest)
    })
    .await;
    let gateway = gateway(&origin, "  - Compress=");
    let mut client = Client::connect(gateway.address()).await;
    client.send("GET /a HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n").await;
    // The first part can be decoded before the second one has arrived.
    let mut seen = Vec::new();
    loop {
        seen.extend(client.read_exactly(1).await);
        let start = seen.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        let chunk = start.and_then(|start| seen.get(start..)).unwrap_or_default();
        let line = chunk.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let content = line.and_then(|line| chunk.get(line..)).unwrap_or_default();
        let mut text = [0; 5];
        let mut reader = flate2::read::GzDecoder::new(content);
        if std::io::Read::read_exact(&mut reader, &mut text).is_ok() {
            assert_eq!(&text, b"first");
            break;
        }
    }
    gate.open();
}

/// The field `x-route` of the response to each of `requests`, or the status without one.
async fn served_by(gateway: &Gateway, requests: &[String]) -> Vec<String> {
    let mut client = Client::connect(gateway.address()).await;
    let mut routes = Vec::new();
    for request in requests {
        let answer = client.exchange(request.clone()).await;
        routes.push(answer.field("x-route").unwrap_or_else(|| answer.status.to_string()));
    }
    routes
}

#[tokio::test]
async fn the_body_chooses_the_route() {
    let origin = Origin::answering(|_| Answer::nothing().read_body().and(Answer::ok())).await;
    let route = |id: &str, body: &str| {
        format!(
            "- {{ id: {id}, uri: '{}', predicates: [ Path=/a{body} ], filters: [ \
             'AddResponseHeader=X-Route, {id}' ] }}\n",
            origin.uri()
        )
    };
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         spring.http.codecs.max-in-memory-size: 10KB\n\
         spring.cloud.gateway.server.webflux.routes:\n{}{}{}\
         - {{ id: on, uri: 'forward:/a', predicates: [ Path=/on ] }}\n",
        route("gold", ", 'ReadBody=/o/type, gold'"),
        route("any", ", 'ReadBody=/o'"),
        route("other", ""),
    );
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let sized = |body: &str| post(&format!("Content-Length: {}\r\n", body.len()), body);
    let gold = r#"{"o":{"type":"gold"}}"#;
    let long = format!("{{\"o\":{{\"type\":\"gold\"}},\"x\":\"{}\"}}", "x".repeat(11_000));
    let requests = [
        sized(gold),
        sized(r#"{"o":{"type":"golden"}}"#),
        sized(r#"{"o":null}"#),
        sized(r#"{"p":1}"#),
        sized("gold"),
        sized(&long),
        sized(""),
        post("Transfer-Encoding: chunked\r\n", "5\r\n{\"o\":\r\n2\r\n1}\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "5\r\n{\"o\":\r\n0\r\n\r\n"),
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        sized(gold).replace("/a", "/on"),
        sized("{}").replace("/a", "/on"),
    ];
    let routes = served_by(&gateway, &requests).await;
    assert_eq!(
        routes,
        [
            "gold", "any", "any", "other", "other", "other", "other", "any", "other", "other",
            "gold", "other"
        ]
    );
    let got = origin.requests();
    assert_eq!(got[0].body, gold.as_bytes(), "it is sent on as it came");
    assert_eq!(got[5].body.len(), long.len(), "also one that is too long to look at");
}

#[tokio::test]
async fn a_coded_body_chooses_the_route_and_goes_on_as_it_came() {
    let origin = Origin::answering(|_| Answer::nothing().read_body().and(Answer::ok())).await;
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: gold, uri: '{}', predicates: [ 'Path=/a', 'ReadBody=/type, gold' ] }}\n",
        origin.uri()
    );
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let text = "{\"type\":\"gold\"}";
    let zstd = zstd::encode_all(text.as_bytes(), 3).expect("memory");
    for (coding, coded) in [("gzip", gzip(text)), ("zstd", zstd)] {
        let head = post(
            &format!(
                "Content-Encoding: {coding}\r\nExpect: 100-continue\r\nContent-Length: {}\r\n",
                coded.len()
            ),
            "",
        );
        let mut client = Client::connect(gateway.address()).await;
        client.send(head).await;
        assert_eq!(client.read_interim().await.status, 100, "the body is asked for");
        client.send(coded.clone()).await;
        assert_eq!(client.read_response().await.status, 200);
        assert_eq!(origin.requests().last().expect("a request").body, coded);
    }
    let mut client = Client::connect(gateway.address()).await;
    let cut = post("Content-Encoding: gzip\r\nContent-Length: 4\r\n", "\x1f\x0bxx");
    assert_eq!(client.exchange(cut).await.status, 404, "what cannot be decoded does not match");
}
