//! Steady state allocates nothing: a gateway in this process, whose allocator counts.

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arc_swap::ArcSwap;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use weir_config::{Format, Loader, Source};
use weir_server::{Server, ServerOptions};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Requests until every buffer has its size.
const WARM_UP: usize = 200;
/// Requests that are counted.
const COUNTED: usize = 1000;
/// What may be allocated meanwhile by the ticking of clocks and the growing of queues.
const ALLOWED: usize = COUNTED / 20;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: origin\r\nContent-Type: text/plain\r\n\
    Content-Length: 3\r\nConnection: keep-alive\r\n\r\nok\n";

/// Answers every request, each of which must come in one piece; allocates nothing for it.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                    stream.write_all(ANSWER).expect("an answer is taken");
                }
            });
        }
    });
    address
}

fn gateway(origin: SocketAddr, more: &str) -> Server {
    let text = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\nweir.server.workers: 1\n{more}\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: a, uri: 'http://{origin}', predicates: [ 'Path=/1' ],\n\
         \x20   filters: [ 'AddRequestHeader=X-Route, a', 'PrefixPath=/ok' ] }}\n"
    );
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("weir.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    assert!(!loaded.is_refused());
    let routes = loaded.compile().routes;
    let snapshot = loaded.compiler.snapshot(routes);
    let snapshot = Arc::new(ArcSwap::from_pointee(snapshot));
    Server::start(
        &snapshot,
        &ServerOptions {
            seed: 1,
            reserved: None,
            admin: None,
            inquiries: None,
            recorder: Arc::default(),
        },
    )
    .expect("a gateway")
}

fn ask(client: &mut TcpStream, request: &[u8], times: usize) {
    let mut buffer = [0; 4096];
    for _ in 0..times {
        client.write_all(request).expect("the request is taken");
        let mut len = 0;
        while !buffer[..len].ends_with(b"\r\n\r\nok\n") {
            let count = client.read(&mut buffer[len..]).expect("an answer");
            assert!(count > 0, "{}", String::from_utf8_lossy(&buffer[..len]));
            len += count;
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200 "));
    }
}

fn check(request: &[u8], more: &str) {
    let server = gateway(origin(), more);
    let mut client =
        TcpStream::connect(server.address().expect("a listener")).expect("a connection");
    client.set_nodelay(true).expect("no delay");
    ask(&mut client, request, WARM_UP);
    let region = Region::new(ALLOCATOR);
    ask(&mut client, request, COUNTED);
    let made = region.change().allocations;
    drop(client);
    server.finish(Duration::from_secs(5), || false);
    let shown = String::from_utf8_lossy(request);
    assert!(made <= ALLOWED, "{made} allocations for {COUNTED} requests: {shown}");
}

/// One test only: what another one allocated would be counted here.
#[test]
fn steady_state_allocates_nothing_for_a_request() {
    check(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n", "");
    check(
        b"GET /1?q=1 HTTP/1.1\r\nHost: a.example:80\r\nUser-Agent: b\r\nAccept: text/html, */*\r\n\
          Accept-Encoding: gzip\r\nConnection: keep-alive\r\nCookie: c=d\r\n\r\n",
        "",
    );
    check(b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "");
    check(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n", "weir.access-log.path: /dev/null");
}
