//! Upstreams that fail, and clients that go away.

use weir_testkit::{Answer, Client, Gate, Origin};

use crate::{gateway, with_routes};

#[tokio::test]
async fn a_refused_upstream_is_502_and_no_route_404() {
    let gateway = with_routes(
        "[ { id: refused, uri: 'http://127.0.0.1:11', predicates: [ 'Path=/refused' ] },
           { id: nowhere, uri: 'no://op', predicates: [ 'Path=/nowhere' ] } ]",
        "",
    );
    let mut client = Client::connect(gateway.address()).await;
    let response = client.get("/refused").await;
    assert_eq!(response.status, 502);
    assert!(response.text().contains("\"error\":\"Bad Gateway\""), "{}", response.text());
    let nowhere = client.get("/nowhere").await;
    assert_eq!((nowhere.status, nowhere.text()), (200, String::new()));
    assert_eq!(client.get("/else").await.status, 404);
}

#[tokio::test]
async fn instances_of_a_service_take_turns() {
    let (one, two) = (Origin::start().await, Origin::start().await);
    let gateway = with_routes(
        "[ { id: svc, uri: 'lb://svc', predicates: [ 'Path=/**' ] } ]",
        &format!(
            "spring.cloud.discovery.client.simple.instances.svc:\n  - uri: {}\n  - uri: {}\n",
            one.uri(),
            two.uri()
        ),
    );
    let mut client = Client::connect(gateway.address()).await;
    for _ in 0..10 {
        assert_eq!(client.get("/").await.status, 200);
    }
    assert_eq!((one.requests().len(), two.requests().len()), (5, 5));
}

#[tokio::test]
async fn a_response_that_does_not_come_is_504() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held)).await;
    let gateway = with_routes(
        &format!(
            "[ {{ id: own, uri: '{0}', predicates: [ 'Path=/own' ], metadata: {{ response-timeout: 150 }} }},
               {{ id: all, uri: '{0}', predicates: [ 'Path=/**' ] }} ]",
            origin.uri()
        ),
        "spring.cloud.gateway.server.webflux.httpclient.response-timeout: 250ms\n\
         spring.web.error.include-message: always",
    );
    let mut client = Client::connect(gateway.address()).await;
    let response = client.get("/").await;
    assert_eq!(response.status, 504);
    assert!(
        response.text().contains("Response took longer than timeout: PT0.25S"),
        "{}",
        response.text()
    );
    assert!(client.get("/own").await.text().contains("PT0.15S"));
    origin.wait_for_open(0).await;
}

#[tokio::test]
async fn a_cut_response_is_seen_as_cut() {
    let heads = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ];
    let origin = Origin::answering(move |got| {
        let n: usize = got.target().trim_start_matches('/').parse().expect("a number");
        Answer::raw(heads[n]).close()
    })
    .await;
    let gateway = gateway(&origin, "");
    for n in 0..heads.len() {
        let mut client = Client::connect(gateway.address()).await;
        client.send(format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        let cut = client.try_read_response_to("GET").await;
        assert!(cut.is_err(), "{n}: {cut:?}");
    }
}

#[tokio::test]
async fn what_came_before_a_fault_reaches_the_client() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for size in [3, 600, 5000] {
        for head_apart in [false, true] {
            let content = "c".repeat(size);
            let body = format!("{size:x}\r\n{content}\r\nno size\r\n");
            let gate = Gate::new();
            let held = gate.clone();
            let origin = Origin::answering(move |_| match head_apart {
                true => Answer::raw(HEAD).pause(&held).write(&body),
                false => Answer::raw(format!("{HEAD}{body}")),
            })
            .await;
            let gateway = gateway(&origin, "");
            let mut client = Client::connect(gateway.address()).await;
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            if head_apart {
                client.read_exactly(HEAD.len()).await;
                gate.open();
            }
            let got = client.read_to_end().await;
            let got = String::from_utf8_lossy(&got);
            assert!(got.ends_with(&format!("{content}\r\n")), "{size} {head_apart}: {got}");
        }
    }
}

#[tokio::test]
async fn an_upstream_that_answers_nonsense_is_502() {
    let answers = [
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: 1",
    ];
    let origin = Origin::answering(move |got| {
        let n: usize = got.target().trim_start_matches('/').parse().expect("a number");
        Answer::raw(answers[n]).close()
    })
    .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(client.get(&format!("/{n}")).await.status, 502, "{answer:?}");
    }
}

#[tokio::test]
async fn bytes_behind_a_response_reach_nobody() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let origin = Origin::with([Answer::raw(answer)]).await;
    let gateway = gateway(&origin, "weir.server.workers: 1");
    let mut first = Client::connect(gateway.address()).await;
    assert_eq!(first.get("/1").await.text(), "ok");
    let mut second = Client::connect(gateway.address()).await;
    assert_eq!(second.get("/2").await.text(), "ok");
    assert_eq!(origin.connections(), 2);
}

#[tokio::test]
async fn a_stale_connection_costs_a_get_nothing_and_a_post_is_not_sent_twice() {
    // The second request of each connection is read and then reset, unanswered.
    let mut seen = std::collections::HashMap::new();
    let origin = Origin::answering(move |got| {
        let count: &mut usize = seen.entry(got.connection).or_default();
        *count += 1;
        if *count == 2 { Answer::nothing().reset() } else { Answer::ok() }
    })
    .await;
    let gateway = gateway(&origin, "weir.server.workers: 1");
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/1").await.status, 200);
    assert_eq!(client.get("/2").await.status, 200);
    let targets: Vec<String> = origin.requests().iter().map(|got| got.target()).collect();
    assert_eq!(targets, ["/1", "/2", "/2"]);
    let post = "POST /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(client.exchange(post).await.status, 502);
    assert_eq!(origin.requests().iter().filter(|got| got.method() == "POST").count(), 1);
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_upstream_request_with_it() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |got| match got.target().as_str() {
        "/waiting" => Answer::nothing().pause(&held),
        "/reading" => Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").pause(&held),
        _ => Answer::ok(),
    })
    .await;
    let gateway = gateway(&origin, "");
    let requests = [
        "GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /reading HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /sending HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
    ];
    for (n, request) in requests.iter().enumerate() {
        let mut client = Client::connect(gateway.address()).await;
        client.send(request).await;
        origin.wait_until(|origin| origin.requests().len() == n + 1).await;
        client.reset();
        origin.wait_for_open(0).await;
    }
}

#[tokio::test]
async fn a_client_that_sends_a_byte_now_and_then_is_not_waited_for() {
    let origin = Origin::answering(|_| Answer::echo()).await;
    let gateway = gateway(
        &origin,
        "weir.server: { progress-window: 300ms, progress-bytes-per-second-min: 100 }",
    );
    let mut client = Client::connect(gateway.address()).await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc").await;
    assert_eq!(client.read_response().await.status, 408);
    client.expect_closed().await;
    origin.wait_for_open(0).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_interim_responses_is_not_waited_for() {
    let hint = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "a".repeat(500_000));
    let origin = Origin::answering(move |_| Answer::nothing().repeat(&hint, 60)).await;
    let gateway =
        gateway(&origin, "server.max-http-header-size: 1MB\nweir.server.progress-window: 300ms");
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let stream = socket.connect(gateway.address()).await.expect("a connection");
    stream.writable().await.expect("a connection");
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(stream.try_write(request).expect("room for a request"), request.len());
    origin.wait_until(|origin| origin.connections() == 1).await;
    // Only the gateway can end this: the client keeps its connection and reads nothing.
    origin.wait_for_open(0).await;
    drop(stream);
}

#[tokio::test]
async fn a_bounded_pool_queues_and_then_gives_up() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |got| match got.target().as_str() {
        "/held" => {
            Answer::nothing().pause(&held).write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        _ => Answer::ok(),
    })
    .await;
    let gateway = gateway(
        &origin,
        "weir.server.workers: 1\n\
         spring.cloud.gateway.server.webflux.httpclient.pool: { type: FIXED, max-connections: 1, acquire-timeout: 300 }",
    );
    let mut first = Client::connect(gateway.address()).await;
    first.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n").await;
    origin.wait_until(|origin| origin.requests().len() == 1).await;
    let mut second = Client::connect(gateway.address()).await;
    assert_eq!(second.get("/2").await.status, 503);
    gate.open();
    assert_eq!(first.read_response().await.status, 200);
    assert_eq!(second.get("/3").await.status, 200);
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn a_route_that_leads_to_the_gateway_itself_is_508() {
    let port = weir_testkit::closed_port().port();
    let config = format!(
        "server: {{ address: 127.0.0.1, port: {port} }}\nweir.admin.port: 0\n\
         spring.cloud.gateway.routes: [ {{ id: a, uri: 'http://127.0.0.1:{port}', predicates: \
         [ 'Path=/**' ] }} ]\n"
    );
    let gateway =
        weir_testkit::spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/").await.status, 508);
}

#[tokio::test]
async fn requests_and_responses_have_via_if_so_configured() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.forward.via: true");
    let mut client = Client::connect(gateway.address()).await;
    let answer = client.exchange("GET / HTTP/1.1\r\nHost: a\r\nVia: 1.0 fred\r\n\r\n").await;
    let back = answer.field("via").unwrap_or_default();
    assert!(back.starts_with("1.1 weir-"), "{back}");
    let via = origin.only_request().all("via");
    assert_eq!((via.len(), via[0].as_str()), (2, "1.0 fred"));
    assert!(via[1].starts_with("1.1 weir-"), "{via:?}");
    let again = format!("GET / HTTP/1.1\r\nHost: a\r\nVia: 1.0 x, {}\r\n\r\n", via[1]);
    assert_eq!(client.exchange(again).await.status, 508);
}

#[tokio::test]
async fn via_has_a_name_of_ones_choice_and_the_version_received() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "weir.forward.via: edge-1");
    let mut client = Client::connect(gateway.address()).await;
    let answer = client.exchange("GET / HTTP/1.0\r\nHost: a\r\n\r\n").await;
    assert_eq!(answer.field("via").as_deref(), Some("1.1 edge-1"));
    assert_eq!(origin.only_request().all("via"), ["1.0 edge-1"]);
}

#[tokio::test]
async fn the_admin_api_is_not_reached_through_the_gateway() {
    let gateway = with_routes(
        "[ { id: chosen, uri: 'no://op', predicates: [ 'Path=/**' ],
             filters: [ 'RequestHeaderToRequestUri=X-To' ] } ]",
        "",
    );
    let admin = gateway.admin();
    let mapped = format!("[::ffff:{}]:{}", admin.ip(), admin.port());
    for to in [admin.to_string(), format!("localhost:{}", admin.port()), mapped] {
        let body = r#"{"uri":"http://h"}"#;
        let post = format!(
            "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-To: \
             http://{to}/actuator/gateway/routes/evil\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = Client::connect(gateway.address()).await.exchange(post).await;
        assert_eq!(answer.status, 502, "{to}: {}", answer.text());
    }
    let get = "GET /actuator/gateway/routes/evil HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(Client::connect(admin).await.exchange(get).await.status, 404);
    let get = "GET / HTTP/1.1\r\nHost: a\r\nX-To: http://169.254.169.254/latest\r\n\r\n";
    assert_eq!(Client::connect(gateway.address()).await.exchange(get).await.status, 502);
}
