//! Oversized input of every kind.

use weir_testkit::{Answer, Body, Client, Gateway, Origin};

use crate::tally::{Size, Tally};
use crate::weir::{Weir, resident_bytes, settles};

/// Bytes of memory the gateway may grow by, whatever it is sent.
const GROWTH_MAX: u64 = 8 * 1024 * 1024;
const LIMITS: &str = "server.max-http-request-header-size: 16KB\n\
    server.netty.max-initial-line-length: 4KB\n\
    weir.server: { header-count-max: 64, body-bytes-max: 1MB }";

/// One request that is too large in some way.
struct Case {
    name: &'static str,
    /// The bytes sent first,
    start: String,
    /// then again and again.
    more: String,
    status: u16,
}

/// Request line, header, count of headers, all headers together, chunk extension, trailers, body:
/// each has a bound with its status, on a connection that then closes; endless ones too, in bounded
/// memory. A response head that is too large is 502.
pub(crate) async fn everything(weir: Weir, size: Size) -> Tally {
    let origin = Origin::answering(|got| match got.target().as_str() {
        "/large-head" => Answer::raw("HTTP/1.1 200 OK\r\n").repeat("X-A: 1234567890\r\n", 10_000),
        _ => Answer::ok(),
    })
    .await;
    let gateway = weir.before(origin.address(), LIMITS);
    let mut tally = Tally::default();
    let before = resident_bytes(&gateway);
    for _ in 0..size.of(1, 20) {
        for case in cases() {
            // Beyond each bound, and within what is read after an answer.
            finite(&mut tally, &gateway, &case).await;
            endless(&mut tally, &gateway, &case, size.of(16, 64) * 1024 * 1024).await;
        }
        declared(&mut tally, &gateway).await;
        let mut client = Client::connect(gateway.address()).await;
        let large = client.get("/large-head").await;
        tally.request(large.status == 502, || format!("large response head: {large:?}"));
    }
    settles(&gateway, "weir_connections", 0.0).await;
    for got in origin.requests() {
        let whole = got.body_state == Body::Complete && got.method() != "GET";
        tally.check(!whole, || format!("reached the upstream whole: {got:?}"));
    }
    let growth = resident_bytes(&gateway).saturating_sub(before);
    tally.check(growth <= GROWTH_MAX, || format!("grew by {growth} bytes"));
    tally.measure("KiB of memory kept", growth as f64 / 1024.0);
    tally
}

fn cases() -> Vec<Case> {
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let case = |name, start: &str, more: &str, status| {
        let (start, more) = (start.to_owned(), more.to_owned());
        Case { name, start, more, status }
    };
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    vec![
        case("request line", "GET /", "aaaaaaaa", 414),
        case("method", "", "AAAAAAAA", 501),
        case("one header", "GET / HTTP/1.1\r\nHost: a\r\nX-A: ", "aaaaaaaa", 431),
        case("count of headers", "GET / HTTP/1.1\r\nHost: a\r\n", "X: 1\r\n", 431),
        case(
            "all headers",
            "GET / HTTP/1.1\r\nHost: a\r\n",
            &format!("X-A: {}\r\n", "a".repeat(1_000)),
            431,
        ),
        case("chunk extension", &format!("{chunked}1;x="), "aaaaaaaa", 400),
        case("trailers", &format!("{chunked}1\r\nx\r\n0\r\n"), "X-T: 1\r\n", 400),
        case("chunked body", chunked, &chunk, 413),
    ]
}

/// Sends some hundred kilobytes too much and reads the answer.
async fn finite(tally: &mut Tally, gateway: &Gateway, case: &Case) {
    let mut client = Client::connect(gateway.address()).await;
    let times = 1_200_000 / case.more.len();
    let times = if case.name == "chunked body" { times } else { times / 6 };
    let _ = client.try_send(case.start.clone() + &case.more.repeat(times)).await;
    let got = client.try_read_response_to("POST").await;
    let status = got.as_ref().map(|got| got.status);
    tally.request(status == Ok(case.status), || format!("{}: {got:?}", case.name));
    if status.is_ok() {
        client.finish_sending().await;
        let rest = client.read_to_end().await;
        tally.check(rest.is_empty(), || format!("{}: the connection went on", case.name));
    }
}

/// Sends on and on: the gateway must stop taking it.
async fn endless(tally: &mut Tally, gateway: &Gateway, case: &Case, bytes_max: usize) {
    let mut client = Client::connect(gateway.address()).await;
    let _ = client.try_send(&case.start).await;
    let piece = case.more.repeat(64 * 1024 / case.more.len());
    let mut sent = 0;
    while client.try_send(&piece).await.is_ok() && sent < bytes_max {
        sent += piece.len();
    }
    tally.request(sent < bytes_max, || format!("{}: takes {sent} bytes", case.name));
}

/// A length beyond the bound is refused before a byte of the body is sent.
async fn declared(tally: &mut Tally, gateway: &Gateway) {
    let mut client = Client::connect(gateway.address()).await;
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000000\r\n\r\n";
    let response = client.exchange(head).await;
    tally.request(response.status == 413 && response.closes, || format!("length: {response:?}"));
    client.expect_closed().await;
}
