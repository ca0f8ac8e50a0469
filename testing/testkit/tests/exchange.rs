//! Client and origin against each other: each observes the actions of the other.

use weir_testkit::{Answer, Body, Client, Gate, Origin, closed_port};

const GET: &str = "GET /a?b HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\n\r\n";

#[tokio::test]
async fn the_default_answer_keeps_the_connection() {
    let origin = Origin::start().await;
    let mut client = Client::connect(origin.address()).await;
    for _ in 0..2 {
        let response = client.exchange(GET).await;
        assert_eq!((response.status, response.text().as_str()), (200, "ok"));
    }
    let requests = origin.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].head(), GET);
    assert_eq!((requests[1].connection, requests[1].target()), (0, "/a?b".to_owned()));
    assert_eq!(requests[1].all("X-A"), ["1", "2"]);
    assert_eq!(requests[1].field("host").as_deref(), Some("x"));
    assert_eq!(origin.connections(), 1);
    drop(client);
    origin.wait_for_open(0).await;
}

#[tokio::test]
async fn bodies_are_decoded_in_both_directions() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nabc\r\n2;x\r\nde\r\n0\r\nX-T: 1\r\n\r\n";
    let answers = [Answer::echo(), Answer::nothing().write_split(chunked, 3), Answer::echo()];
    let origin = Origin::with(answers).await;
    let mut client = Client::connect(origin.address()).await;
    let upload = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n0\r\nX-U: 2\r\n\r\n";
    client.send_split(upload, 4).await;
    assert_eq!(client.read_response().await.text(), "hello");
    let response = client.exchange(GET).await;
    assert_eq!(response.text(), "abcde");
    assert_eq!(response.trailers, [("X-T".to_owned(), "1".to_owned())]);
    let response =
        client.exchange("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").await;
    assert_eq!(response.text(), "hi");
    let requests = origin.wait_for_requests(3).await;
    assert_eq!(requests[0].trailers, [("X-U".to_owned(), "2".to_owned())]);
    assert_eq!((requests[0].body_state, requests[0].body_bytes), (Body::Complete, 5));
}

#[tokio::test]
async fn interim_responses_come_before_the_final_one() {
    let answer = Answer::raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\n");
    let origin =
        Origin::with([answer.early().read_body().write("HTTP/1.1 204 No Content\r\n\r\n")]).await;
    let mut client = Client::connect(origin.address()).await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n").await;
    assert_eq!(client.read_interim().await.status, 100);
    client.send("hi").await;
    let response = client.read_response().await;
    assert_eq!((response.status, response.interim.len()), (204, 1));
    assert_eq!(origin.only_request().body, b"hi");
}

#[tokio::test]
async fn a_paused_answer_waits_for_its_gate() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
    let origin = Origin::with([Answer::raw(head).pause(&gate).write("cd")]).await;
    let mut client = Client::connect(origin.address()).await;
    client.send(GET).await;
    gate.wait_for(1).await;
    assert_eq!(client.read_exactly(head.len()).await, head.as_bytes());
    gate.open();
    assert_eq!(client.read_exactly(2).await, b"cd");
    assert!(!origin.only_request().abandoned);
}

#[tokio::test]
async fn an_origin_notes_that_its_client_went_away() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held)).await;
    let mut client = Client::connect(origin.address()).await;
    client.send(GET).await;
    gate.wait_for(1).await;
    client.reset();
    origin.wait_until(|origin| origin.only_request().abandoned).await;

    let mut client = Client::connect(origin.address()).await;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf").await;
    drop(client);
    let requests = origin.wait_for_requests(2).await;
    assert_eq!((requests[1].body_state, requests[1].body.as_slice()), (Body::Cut, &b"half"[..]));
    assert_eq!(requests[1].connection, 1);
}

#[tokio::test]
async fn requests_that_are_not_valid_are_recorded_as_such() {
    let origin = Origin::start().await;
    for (bytes, state) in [
        ("GET / HTTP/1.1\r\n\r\n", Body::Malformed),
        ("GET / HT", Body::Cut),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx", Body::Malformed),
    ] {
        let before = origin.requests().len();
        let mut client = Client::connect(origin.address()).await;
        client.send(bytes).await;
        client.finish_sending().await;
        client.expect_closed().await;
        let requests = origin.wait_for_requests(before + 1).await;
        assert_eq!(requests.last().unwrap().body_state, state, "{bytes:?}");
    }
}

#[tokio::test]
async fn cut_responses_tell_how_far_they_came() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let origin = Origin::with([
        Answer::raw(head).write("he").close(),
        Answer::raw("HTTP/1.1 200").close(),
        Answer::nothing().reset(),
        Answer::raw("HTTP/1.0 200 OK\r\n\r\nall").close(),
        Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX"),
    ])
    .await;
    let mut outcomes = Vec::new();
    for _ in 0..5 {
        let mut client = Client::connect(origin.address()).await;
        client.send(GET).await;
        outcomes.push(client.try_read_response_to("GET").await);
    }
    let cut = outcomes[0].clone().unwrap_err();
    assert_eq!((cut.reason.as_str(), cut.response.unwrap().text()), ("closed", "he".to_owned()));
    assert_eq!(outcomes[1].clone().unwrap_err().rest, "HTTP/1.1 200");
    assert!(outcomes[2].clone().unwrap_err().reason.contains("reset"));
    assert_eq!(outcomes[3].clone().unwrap().text(), "all");
    let broken = outcomes[4].clone().unwrap_err();
    assert!(broken.reason.contains("data longer than its size"), "{broken}");
}

#[tokio::test]
async fn close_is_seen_as_the_end() {
    let origin = Origin::with([Answer::ok().close(), Answer::raw("x").close()]).await;
    let mut client = Client::connect(origin.address()).await;
    assert_eq!(client.get("/").await.status, 200);
    client.expect_closed().await;
    let mut client = Client::connect(origin.address()).await;
    client.send(GET).await;
    assert_eq!(client.try_read_to_end().await.unwrap(), b"x");
    let mut client = Client::connect(origin.address()).await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(client.read_to_end().await.ends_with(b"\r\n\r\nok"));
}

#[tokio::test]
async fn nothing_listens_on_a_closed_port() {
    assert!(tokio::net::TcpStream::connect(closed_port()).await.is_err());
}

#[tokio::test]
#[should_panic(expected = "bytes before the end: \"x\"")]
async fn expecting_the_end_panics_on_bytes() {
    let origin = Origin::with([Answer::raw("x").close()]).await;
    let mut client = Client::connect(origin.address()).await;
    client.send(GET).await;
    client.expect_closed().await;
}
