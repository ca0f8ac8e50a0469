//! Dubbo2 calls, with peers that write bytes as Apache Dubbo does.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use weir_testkit::{Gateway, PATIENCE};

use super::{gateway, get, status, until, widen_once_it_is_short};

pub(super) const REQUEST: u8 = 0xc2;
pub(super) const ONE_WAY: u8 = 0x82;
pub(super) const HEARTBEAT: u8 = 0xe2;
pub(super) const RESPONSE: u8 = 0x02;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) flags: u8,
    pub(super) status: u8,
    pub(super) id: u64,
    pub(super) body: Vec<u8>,
}

impl Message {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0xda, 0xbb, self.flags, self.status];
        bytes.extend(self.id.to_be_bytes());
        bytes.extend((self.body.len() as u32).to_be_bytes());
        bytes.extend(&self.body);
        bytes
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A short string of Hessian 2.
pub(super) fn text(text: &str) -> Vec<u8> {
    let len = u8::try_from(text.len()).unwrap();
    let head = if len < 32 { vec![len] } else { vec![0x30 + (len >> 5 >> 3), len] };
    [head, text.as_bytes().to_vec()].concat()
}

/// A call of `service.method("arg")`, as a consumer without a version and group writes it.
pub(super) fn call(flags: u8, id: u64, service: &str, method: &str) -> Message {
    let parts = ["2.0.2", service, "0.0.0", method, "Ljava/lang/String;", "arg"];
    let mut body: Vec<u8> = parts.iter().flat_map(|part| text(part)).collect();
    body.extend([b'H', b'Z']);
    Message { flags, status: 0, id, body }
}

pub(super) fn heartbeat(flags: u8, id: u64) -> Message {
    Message { flags, status: 0, id, body: vec![b'N'] }
}

pub(super) async fn read(stream: &mut TcpStream) -> Option<Message> {
    let read = async {
        let mut head = [0; 16];
        stream.read_exact(&mut head).await?;
        let len = u32::from_be_bytes(head[12..].try_into().unwrap());
        let mut body = vec![0; len as usize];
        stream.read_exact(&mut body).await?;
        assert_eq!(head[..2], [0xda, 0xbb]);
        let id = u64::from_be_bytes(head[4..12].try_into().unwrap());
        std::io::Result::Ok(Message { flags: head[2], status: head[3], id, body })
    };
    tokio::time::timeout(PATIENCE, read).await.expect("in time").ok()
}

/// A provider that answers with its name, `batch` calls at a time and the last one first. It says
/// that it stops when `stop` is called.
pub(super) async fn provider(name: &'static str, batch: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut held = Vec::new();
                while let Some(message) = read(&mut stream).await {
                    assert_eq!(message.flags & 0x20, 0, "a heartbeat of the consumer came through");
                    if message.flags == ONE_WAY {
                        continue;
                    }
                    if message.text().contains("stop") {
                        let body = vec![1, b'R'];
                        let event = Message { flags: 0xa2, status: 0, id: 0, body };
                        stream.write_all(&event.bytes()).await.expect("sent");
                    }
                    held.push(message.id);
                    if held.len() == batch {
                        for id in held.drain(..).rev() {
                            let body = [vec![0x91], text(name)].concat();
                            let answer = Message { flags: RESPONSE, status: 20, id, body };
                            stream.write_all(&answer.bytes()).await.expect("sent");
                        }
                    }
                }
            });
        }
    });
    address
}

pub(super) async fn connect(gateway: &Gateway) -> TcpStream {
    TcpStream::connect(gateway.pipeline("d")).await.expect("a connection")
}

pub(super) async fn ask(client: &mut TcpStream, message: &Message) -> Message {
    client.write_all(&message.bytes()).await.expect("sent");
    read(client).await.expect("an answer")
}

pub(super) fn config(upstreams: &[SocketAddr], more: &str) -> String {
    let upstreams: Vec<_> = upstreams.iter().map(ToString::to_string).collect();
    let upstreams = upstreams.join(", ");
    format!(
        "- id: d\n  protocol: dubbo\n  listen: 127.0.0.1:0\n  upstream: [ {upstreams} ]\n{more}"
    )
}

#[tokio::test]
async fn calls_of_one_connection_go_to_all_providers() {
    let gateway = gateway(&config(&[provider("a", 1).await, provider("b", 1).await], ""));
    let mut client = connect(&gateway).await;
    let mut names = Vec::new();
    for id in 1..=6 {
        let answer = ask(&mut client, &call(REQUEST, id, "org.demo.Hello", "say")).await;
        assert_eq!((answer.flags, answer.status, answer.id), (RESPONSE, 20, id));
        names.push(answer.text());
    }
    assert_eq!(names.iter().filter(|name| name.ends_with('a')).count(), 3, "{names:?}");
    assert_eq!(status(&gateway, "d").await["counts"]["messages"], 6);
}

#[tokio::test]
async fn answers_come_out_of_order_and_heartbeats_stay_here() {
    let gateway = gateway(&config(&[provider("a", 3).await], ""));
    let mut client = connect(&gateway).await;
    for id in [7, 8] {
        let bytes = call(REQUEST, id, "org.demo.Hello", "say").bytes();
        client.write_all(&bytes).await.expect("sent");
    }
    let beat = ask(&mut client, &heartbeat(HEARTBEAT, 99)).await;
    assert_eq!(beat, Message { status: 20, ..heartbeat(0x22, 99) });
    // One way: no answer, and none is held up.
    client.write_all(&call(ONE_WAY, 1, "org.demo.Hello", "tell").bytes()).await.expect("sent");
    let first = ask(&mut client, &call(REQUEST, u64::MAX, "org.demo.Hello", "say")).await;
    let rest = [read(&mut client).await.unwrap().id, read(&mut client).await.unwrap().id];
    assert_eq!((first.id, rest), (u64::MAX, [8, 7]));
}

#[tokio::test]
async fn calls_are_routed_by_what_they_call() {
    let (a, b) = (provider("a", 1).await, provider("b", 1).await);
    let routes = format!(
        "- id: d\n  protocol: dubbo\n  listen: 127.0.0.1:0\n  routes:\n  - {{ service: \
         'org.demo.*', method: 'say*', upstream: '{a}' }}\n  - {{ service: org.other.Two, \
         version: '', group: '', upstream: '{b}' }}\n"
    );
    let gateway = gateway(&routes);
    let mut client = connect(&gateway).await;
    for (id, service, method, name) in [
        (1, "org.demo.Hello", "sayHello", "a"),
        (2, "org.other.Two", "any", "b"),
        (3, "org.demo.Hello", "tell", ""),
        (4, "com.demo.Hello", "sayHello", ""),
    ] {
        let answer = ask(&mut client, &call(REQUEST, id, service, method)).await;
        let status = if name.is_empty() { 60 } else { 20 };
        assert_eq!((answer.id, answer.status), (id, status), "{service}.{method}");
        assert!(answer.text().ends_with(if name.is_empty() { method } else { name }));
    }
    // A generic call names its method in its first argument.
    let parts = ["2.0.2", "org.demo.Hello", "0.0.0", "$invoke", "Ljava/lang/String;", "sayIt"];
    let mut body: Vec<u8> = parts.iter().flat_map(|part| text(part)).collect();
    body.extend([b'H', b'Z']);
    let answer = ask(&mut client, &Message { flags: REQUEST, status: 0, id: 5, body }).await;
    assert_eq!((answer.id, answer.status), (5, 20));
    // An unreadable message is not forwarded.
    let broken = Message { flags: REQUEST, status: 0, id: 6, body: vec![0xff; 8] };
    assert_eq!(ask(&mut client, &broken).await.status, 40);
}

#[tokio::test]
async fn a_provider_that_stops_gets_no_more_calls() {
    let (a, b) = (provider("a", 1).await, provider("b", 1).await);
    let gateway = gateway(&config(&[a, b], ""));
    let mut client = connect(&gateway).await;
    let gone = ask(&mut client, &call(REQUEST, 1, "org.demo.Hello", "stop")).await.text();
    for id in 2..10 {
        let answer = ask(&mut client, &call(REQUEST, id, "org.demo.Hello", "say")).await;
        assert_ne!(answer.text(), gone);
    }
}

#[tokio::test]
async fn a_dead_provider_is_passed_over_and_none_is_an_error() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let gateway = gateway(&config(&[closed, provider("a", 1).await], ""));
    let mut client = connect(&gateway).await;
    for id in 1..5 {
        let answer = ask(&mut client, &call(REQUEST, id, "org.demo.Hello", "say")).await;
        assert_eq!((answer.id, answer.status), (id, 20));
    }
    let alone = super::gateway(&config(&[closed], ""));
    let mut client = connect(&alone).await;
    let answer = ask(&mut client, &call(REQUEST, 1, "org.demo.Hello", "say")).await;
    assert_eq!((answer.id, answer.status), (1, 80), "{}", answer.text());
}

#[tokio::test]
async fn calls_under_way_fail_with_their_provider() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let gateway = gateway(&config(&[listener.local_addr().unwrap()], ""));
    let mut client = connect(&gateway).await;
    let bytes = call(REQUEST, 3, "org.demo.Hello", "say").bytes();
    client.write_all(&bytes).await.expect("sent");
    let (mut provider, _) = listener.accept().await.expect("a connection");
    read(&mut provider).await.expect("the call");
    drop(provider);
    let answer = read(&mut client).await.expect("an answer");
    assert_eq!((answer.id, answer.status), (3, 80), "{}", answer.text());
}

#[tokio::test]
async fn providers_call_back() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let gateway = gateway(&config(&[listener.local_addr().unwrap()], ""));
    let mut client = connect(&gateway).await;
    let bytes = call(REQUEST, 3, "org.demo.Hello", "watch").bytes();
    client.write_all(&bytes).await.expect("sent");
    let (mut provider, _) = listener.accept().await.expect("a connection");
    read(&mut provider).await.expect("the call");
    let back = call(REQUEST, 1_000, "org.demo.Watcher", "told");
    provider.write_all(&back.bytes()).await.expect("sent");
    let got = read(&mut client).await.expect("the call back");
    assert_eq!(got.body, back.body);
    let answer = Message { flags: RESPONSE, status: 20, id: got.id, body: vec![0x92] };
    client.write_all(&answer.bytes()).await.expect("sent");
    assert_eq!(read(&mut provider).await, Some(Message { id: 1_000, ..answer }));
}

#[tokio::test]
async fn over_the_limit_the_consumer_hears_it() {
    let limits = "weir.limits: { one: { concurrency: 1, queue: 0 } }\nweir.pipelines:\n";
    let pipelines = config(&[provider("a", 1).await], "  limit: one\n");
    let config = format!("weir.admin.port: 0\n{limits}{pipelines}");
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let mut client = connect(&gateway).await;
    let calls = [1, 2].map(|id| call(REQUEST, id, "org.demo.Hello", "say").bytes()).concat();
    client.write_all(&calls).await.expect("sent");
    let mut got = [read(&mut client).await.unwrap(), read(&mut client).await.unwrap()];
    got.sort_by_key(|answer| answer.id);
    assert_eq!(got.map(|answer| answer.status), [20, 100]);
    // A one-way call occupies no place in service.
    client.write_all(&call(ONE_WAY, 3, "org.demo.Hello", "tell").bytes()).await.expect("sent");
    let answer = ask(&mut client, &call(REQUEST, 4, "org.demo.Hello", "say")).await;
    assert_eq!((answer.id, answer.status), (4, 20));
}

#[tokio::test]
async fn bytes_of_waiting_calls_count_for_the_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let calls = [1, 2, 3, 4].map(|id| call(REQUEST, id, "org.demo.Hello", "say").bytes());
    let len = calls[0].len();
    let more = format!(
        "  limit: one\nweir.limits.one: {{ concurrency: 1, queue: 9, queue-bytes: {}B }}\n",
        3 * len - 1
    );
    let gateway = gateway(&config(&[silent.local_addr().expect("its address")], &more));
    let mut client = connect(&gateway).await;
    client.write_all(&calls.concat()).await.expect("sent");
    let answer = read(&mut client).await.expect("an answer");
    assert_eq!((answer.id, answer.status), (4, 100), "one is under way, and two may wait");
    let shown = get(gateway.admin(), "/actuator/gateway/limits/one").await.text();
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((&shown["depth"], &shown["heldBytes"]), (&2.into(), &(2 * len).into()), "{shown}");
}

#[tokio::test]
async fn bytes_of_calls_wait_for_their_bandwidth() {
    let more = "  limit: big\nweir.limits.big: { bandwidth: 1KB/s }\n";
    let gateway = gateway(&config(&[provider("a", 1).await], more));
    let mut client = connect(&gateway).await;
    let calls: Vec<u8> =
        (1..=200).flat_map(|id| call(REQUEST, id, "org.demo.Hello", "say").bytes()).collect();
    client.write_all(&calls).await.expect("sent");
    widen_once_it_is_short(&gateway).await;
    for id in 1..=200 {
        assert_eq!(read(&mut client).await.expect("an answer").id, id);
    }
}

#[tokio::test]
async fn what_is_no_dubbo_is_closed_and_counted() {
    let gateway = gateway(&config(&[provider("a", 1).await], ""));
    let long = [&[0xda, 0xbb, REQUEST, 0, 0, 0, 0, 0, 0, 0, 0, 1][..], &[0x7f; 4]].concat();
    for bytes in [&b"ls\r\n"[..], b"PRI * HTTP/2.0\r\n\r\n", &long] {
        let mut client = connect(&gateway).await;
        client.write_all(bytes).await.expect("sent");
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, client.read_to_end(&mut rest)).await;
        // Unread bytes may cause a reset.
        let _ = read.expect("in time");
        assert!(rest.is_empty(), "{rest:?}");
    }
    until(&gateway, "d", |found| found["counts"]["broken"] == 3 && found["active"] == 0).await;
}

#[tokio::test]
async fn heartbeats_are_answered_however_many_calls_wait() {
    let limit = "  limit: slow\nweir.limits.slow: { rate: 1/h, max-wait: 1000h, queue: 600 }";
    let gateway = gateway(&config(&[provider("a", 1).await], limit));
    let mut client = connect(&gateway).await;
    let say = |id| call(REQUEST, id, "org.demo.Hello", "say");
    assert_eq!(ask(&mut client, &say(1)).await.status, 20);
    // Those wait, and hold more than a megabyte.
    for id in 2..=601 {
        let mut large = say(id);
        large.body.resize(4_096, b'Z');
        client.write_all(&large.bytes()).await.expect("sent");
    }
    let beat = ask(&mut client, &heartbeat(HEARTBEAT, 7_000)).await;
    assert_eq!((beat.flags, beat.id), (0x22, 7_000));
    let refused = ask(&mut client, &say(602)).await;
    assert_eq!((refused.status, refused.id), (100, 602), "the queue of the limit is full");
    let limit = get(gateway.admin(), "/actuator/gateway/limits/slow").await.text();
    let limit: serde_json::Value = serde_json::from_str(&limit).expect("JSON");
    assert_eq!(limit["depth"], 600);
    assert!(limit["heldBytes"].as_u64() > Some(600 * 4_096), "{limit}");
}
