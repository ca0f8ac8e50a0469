//! Filters that take part of a message's framing away: the next message starts where it should.

use weir_testkit::{Answer, Client, Origin, spawn_weir};

const WEIR: &str = env!("CARGO_BIN_EXE_weir");

/// A gateway whose only route has `filters`, in front of an origin with `answers`.
async fn start(filters: &str, answers: Vec<Answer>) -> (weir_testkit::Gateway, Origin) {
    let origin = Origin::with(answers).await;
    let config = format!(
        "server: {{ port: 0, address: 127.0.0.1 }}\nmanagement.server.port: -1\n\
         spring.cloud.gateway.server.webflux.routes:\n- id: all\n  uri: {}\n  \
         predicates: [ 'Path=/**' ]\n  filters: [ {filters} ]\n",
        origin.uri()
    );
    (spawn_weir(WEIR, &["run", "{config}"], &config), origin)
}

#[tokio::test]
async fn a_request_without_its_length_is_sent_chunked() {
    let (gateway, origin) = start("RemoveRequestHeader=Content-Length", Vec::new()).await;
    let mut client = Client::connect(gateway.address()).await;
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let length = smuggled.len();
    let post = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{smuggled}");
    assert_eq!(client.exchange(post).await.status, 200);
    assert_eq!(client.get("/next").await.status, 200);
    let requests = origin.requests();
    let lines: Vec<_> = requests.iter().map(weir_testkit::Received::target).collect();
    assert_eq!(lines, ["/", "/next"]);
    assert_eq!(requests[0].body, smuggled.as_bytes());
    assert_eq!(requests[0].field("transfer-encoding").as_deref(), Some("chunked"));
}

#[tokio::test]
async fn a_response_without_its_length_gets_it_back() {
    let answers = vec![Answer::status(200, &[], "hello"), Answer::ok()];
    let (gateway, _origin) = start("RemoveResponseHeader=Content-Length", answers).await;
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/").await.text(), "hello");
    assert_eq!(client.get("/next").await.text(), "ok");
}

#[tokio::test]
async fn a_status_with_content_on_a_response_without_is_empty() {
    let not_modified = "HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n";
    let no_content = "HTTP/1.1 204 No Content\r\n\r\n";
    let answers = vec![Answer::raw(not_modified), Answer::raw(no_content), Answer::ok()];
    let (gateway, _origin) = start("SetStatus=200", answers).await;
    let mut client = Client::connect(gateway.address()).await;
    for expected in ["", "", "ok"] {
        let response = client.get("/").await;
        assert_eq!((response.status, response.text().as_str()), (200, expected));
    }
}

#[tokio::test]
async fn a_status_without_content_drops_what_the_upstream_sent() {
    let answers = vec![Answer::status(200, &[], "hello"), Answer::status(200, &[], "again")];
    let (gateway, _origin) = start("SetStatus=204", answers).await;
    let mut client = Client::connect(gateway.address()).await;
    for _ in 0..2 {
        let response = client.get("/").await;
        assert_eq!((response.status, response.field("content-length")), (204, None));
    }
}
