//! WebSocket and other protocol switches.

use weir_testkit::{Answer, Client, Origin};

use crate::gateway;

const ASK: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[tokio::test]
async fn bytes_flow_both_ways_after_a_switch() {
    let origin = Origin::answering(|_| {
        Answer::raw("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhello")
            .close()
    })
    .await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send(ASK).await;
    let all = client.read_to_end().await;
    let text = String::from_utf8_lossy(&all);
    assert!(text.starts_with("HTTP/1.1 101"), "{text}");
    assert!(text.ends_with("\r\n\r\nhello"), "{text}");
    let got = origin.only_request();
    assert_eq!(got.field("upgrade").as_deref(), Some("websocket"));
    assert_eq!(got.field("sec-websocket-key").as_deref(), Some("dGhlIHNhbXBsZSBub25jZQ=="));
}

#[tokio::test]
async fn a_real_websocket_echo_works_through_the_gateway() {
    use weir_origin::{Options, serve};
    let echo = serve(Options { address: ([127, 0, 0, 1], 0).into(), ..Options::default() })
        .expect("an origin");
    let gateway = crate::with_routes(
        &format!("[ {{ id: ws, uri: 'ws://{}', predicates: [ 'Path=/ws' ] }} ]", echo.address()),
        "",
    );
    let stream = tokio::net::TcpStream::connect(gateway.address()).await.expect("a connection");
    let url = format!("ws://{}/ws", gateway.address());
    let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.expect("a handshake");
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    // Large amounts are spliced in a tunnel too; small ones are then read again.
    let long: String = (0..3_000_000_u32).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
    for text in ["one", &long, "two", &long, "three"] {
        socket.send(Message::text(text)).await.expect("sent");
        let echoed = socket.next().await.expect("an answer").expect("a message");
        assert!(echoed == Message::text(text), "{} bytes", text.len());
    }
    socket.close(None).await.expect("closed");
}

#[tokio::test]
async fn an_upgrade_that_is_declined_stays_http() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    client.send(format!("{ASK}GET /next HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    assert_eq!(client.read_response().await.status, 200);
    assert_eq!(client.read_response().await.status, 200);
    let targets: Vec<String> = origin.requests().iter().map(|got| got.target()).collect();
    assert_eq!(targets, ["/ws", "/next"]);
    let requests = origin.requests();
    assert_ne!(requests[0].connection, requests[1].connection, "it is not used again");
}

#[tokio::test]
async fn an_upgrade_with_content_is_not_passed_on() {
    let origin = Origin::answering(|_| Answer::echo()).await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let ask = ASK.replace("GET", "POST").replace("Host: a", "Host: a\r\nContent-Length: 5");
    assert_eq!(client.exchange(&format!("{ask}hello")).await.text(), "hello");
    assert_eq!(origin.only_request().field("upgrade"), None);
}

#[tokio::test]
async fn an_h2c_upgrade_is_not_passed_on() {
    let origin = Origin::start().await;
    let gateway = gateway(&origin, "");
    let mut client = Client::connect(gateway.address()).await;
    let ask = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n";
    assert_eq!(client.exchange(ask).await.status, 200);
    let got = origin.only_request();
    assert_eq!(got.field("upgrade"), None);
    assert_eq!(got.field("http2-settings"), None);
}
