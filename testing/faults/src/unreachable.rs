//! Upstreams that cannot be reached, or do not answer.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use weir_testkit::{Answer, Client, Gate, Gateway, Origin, closed_port};

use crate::tally::{Size, Tally};
use crate::weir::{Weir, open_files, settles};

/// A closed port: each request is 502 on a connection that stays, and nothing is left open.
pub(crate) async fn refused(weir: Weir, size: Size) -> Tally {
    let gateway = weir.before(closed_port(), "weir.server.workers: 1");
    let mut tally = Tally::default();
    let mut client = Client::connect(gateway.address()).await;
    expect(&mut tally, &mut client, 502).await;
    let files = open_files(&gateway);
    for _ in 0..size.of(200, 5_000) {
        expect(&mut tally, &mut client, 502).await;
    }
    let left = open_files(&gateway);
    // The number of open files varies; a leak on each request would exceed the margin.
    tally.check(left < files + 16, || format!("{left} open files instead of {files}"));
    drop(client);
    settles(&gateway, "weir_connections", 0.0).await;
    tally
}

/// A full backlog, where connecting never ends, and a listener that accepts connections and
/// requests but never answers: each request gets 504 after its timeout, whatever stage it is in.
pub(crate) async fn black_holed(weir: Weir, size: Size) -> Tally {
    let mut tally = Tally::default();
    let (address, _full) = full_backlog();
    let timeouts = "spring.cloud.gateway.server.webflux.httpclient: \
         { connect-timeout: 200, response-timeout: 200ms }";
    let gateway = weir.before(address, timeouts);
    all_time_out(&mut tally, &gateway, size.of(4, 64)).await;

    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held)).await;
    let gateway = weir.before(origin.address(), timeouts);
    all_time_out(&mut tally, &gateway, size.of(4, 64)).await;
    // The connections of timed-out requests are closed.
    origin.wait_for_open(0).await;
    tally
}

/// Upstreams that answer a byte at a time. If the head is complete within the response timeout, the
/// answer arrives whole, however long its body takes; else the client gets 504, and the upstream
/// connection is closed.
pub(crate) async fn slow(weir: Weir, size: Size) -> Tally {
    let mut tally = Tally::default();
    let timeouts = "spring.cloud.gateway.server.webflux.httpclient.response-timeout: 2s";
    let origin = Origin::answering(|request| match request.target().as_str() {
        "/head" => bytewise("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhead", 5),
        "/body" => bytewise("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0)
            .and(bytewise("4\r\nbody\r\n0\r\n\r\n", 200)),
        _ => bytewise("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate", 100),
    })
    .await;
    let gateway = weir.before(origin.address(), timeouts);
    let mut clients = Vec::new();
    for n in 0..size.of(6, 300) {
        let path = ["/head", "/body", "/late"][n % 3];
        let mut client = Client::connect(gateway.address()).await;
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        clients.push((path, client));
    }
    for (path, mut client) in clients {
        let response = client.read_response().await;
        let good = match path {
            "/late" => response.status == 504,
            _ => response.status == 200 && response.text() == path[1..],
        };
        tally.request(good, || format!("{path}: {response:?}"));
    }
    settles(&gateway, "weir_connections", 0.0).await;
    tally
}

/// Writes `text` a byte at a time, `pause_ms` between two.
fn bytewise(text: &str, pause_ms: u64) -> Answer {
    let pause = Duration::from_millis(pause_ms);
    text.bytes().fold(Answer::nothing(), |answer, byte| answer.write([byte]).rest(pause))
}

/// Sends requests on `count` connections at once; all of them must be answered with 504.
async fn all_time_out(tally: &mut Tally, gateway: &Gateway, count: usize) {
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = Client::connect(gateway.address()).await;
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        clients.push(client);
    }
    for mut client in clients {
        let status = client.read_response().await.status;
        tally.request(status == 504, || format!("{status} instead of 504"));
    }
    settles(gateway, "weir_connections", 0.0).await;
}

async fn expect(tally: &mut Tally, client: &mut Client, expected: u16) {
    let status = client.get("/").await.status;
    tally.request(status == expected, || format!("{status} instead of {expected}"));
}

/// A listening socket that never accepts and whose queue is full, so that the kernel drops further
/// SYNs; with the connections that fill the queue.
fn full_backlog() -> (SocketAddr, (Socket, Vec<TcpStream>)) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
    socket.listen(1).expect("a listener");
    let address = socket.local_addr().expect("an address").as_socket().expect("of IPv4");
    let mut queue = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        queue.push(stream);
        assert!(queue.len() < 64, "the queue of a listener does not fill");
    }
    (address, (socket, queue))
}
