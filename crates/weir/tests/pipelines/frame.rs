//! Messages with a length, byte by byte.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use weir_testkit::{Gateway, PATIENCE};

use super::{gateway, get, ini, status, until, widen_once_it_is_short};

/// A message: its length in two bytes, four bytes of key, a text.
fn message(key: u32, text: &str) -> Vec<u8> {
    let mut bytes = ((4 + text.len()) as u16).to_be_bytes().to_vec();
    bytes.extend(key.to_be_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

const POLL: [u8; 2] = [0, 0];

async fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = [0; 2];
    let read = async {
        stream.read_exact(&mut head).await?;
        let mut bytes = vec![0; usize::from(u16::from_be_bytes(head))];
        stream.read_exact(&mut bytes).await?;
        std::io::Result::Ok([head.to_vec(), bytes].concat())
    };
    tokio::time::timeout(PATIENCE, read).await.expect("in time").ok()
}

/// An upstream that answers `count` messages at a time, the last one first; it never sees a poll.
async fn upstream(count: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut held = Vec::new();
                while let Some(message) = read(&mut stream).await {
                    assert_ne!(message, POLL);
                    held.push(message);
                    if held.len() == count {
                        let answers: Vec<u8> = held.drain(..).rev().flatten().collect();
                        stream.write_all(&answers).await.expect("sent");
                    }
                }
            });
        }
    });
    address
}

fn config(upstream: SocketAddr, more: &str) -> String {
    format!(
        "- id: f\n  protocol: frame\n  listen: 127.0.0.1:0\n  upstream: {upstream}\n  frame: {{ \
         len-size: 2, max: 1KB, corr-offset: 2, corr-size: 4, poll: true{more} }}\n"
    )
}

async fn connect(gateway: &Gateway) -> TcpStream {
    TcpStream::connect(gateway.pipeline("f")).await.expect("a connection")
}

#[tokio::test]
async fn messages_pass_in_pieces_and_in_heaps() {
    let gateway = gateway(&config(upstream(1).await, ""));
    let mut client = connect(&gateway).await;
    for byte in message(7, "in pieces") {
        client.write_all(&[byte]).await.expect("a byte");
        tokio::task::yield_now().await;
    }
    assert_eq!(read(&mut client).await, Some(message(7, "in pieces")));
    let heap: Vec<u8> = (0..3_000).flat_map(|n| message(n, "x")).collect();
    let (mut reader, mut writer) = client.into_split();
    let sent = tokio::spawn(async move {
        writer.write_all(&heap).await.expect("sent");
        writer.shutdown().await.expect("an end");
    });
    let mut answers = Vec::new();
    reader.read_to_end(&mut answers).await.expect("all of them");
    assert_eq!(answers, (0..3_000).flat_map(|n| message(n, "x")).collect::<Vec<u8>>());
    sent.await.expect("sent");
    until(&gateway, "f", |found| found["active"] == 0).await;
    assert_eq!(status(&gateway, "f").await["counts"]["messages"], 3_001);
}

#[tokio::test]
async fn polls_are_answered_here() {
    let gateway = gateway(&config(upstream(1).await, ""));
    let mut client = connect(&gateway).await;
    client.write_all(&[POLL.to_vec(), message(1, "a"), POLL.to_vec()].concat()).await.unwrap();
    let mut got = [read(&mut client).await, read(&mut client).await, read(&mut client).await];
    got.sort();
    assert_eq!(got, [Some(POLL.to_vec()), Some(POLL.to_vec()), Some(message(1, "a"))]);
    assert_eq!(status(&gateway, "f").await["counts"]["messages"], 1);
}

#[tokio::test]
async fn over_the_limit_there_is_an_answer_too() {
    // One request is in service, none may wait: the upstream answers the first when a second has
    // arrived.
    let limits = "weir.limits: { one: { concurrency: 1, queue: 0 } }\nweir.pipelines:\n";
    let pipelines = config(upstream(1).await, r#", refusal: "\x00\x06{key}no""#);
    let config = format!("weir.admin.port: 0\n{limits}{pipelines}  limit: one\n");
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let mut client = connect(&gateway).await;
    let two = [message(1, "a"), message(2, "b")].concat();
    client.write_all(&two).await.expect("sent");
    let mut got = [read(&mut client).await, read(&mut client).await];
    got.sort();
    assert_eq!(got, [Some(message(1, "a")), Some(message(2, "no"))]);
    assert_eq!(status(&gateway, "f").await["counts"]["limited"], 1);
    client.write_all(&message(3, "c")).await.expect("sent");
    assert_eq!(read(&mut client).await, Some(message(3, "c")), "the place is free again");
}

/// An upstream that returns all bytes, but none before `go`.
async fn hesitant(go: Arc<Notify>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        go.notified().await;
        let (mut read, mut write) = stream.split();
        tokio::io::copy(&mut read, &mut write).await
    });
    address
}

#[tokio::test]
async fn without_a_key_refusals_keep_the_order() {
    let go = Arc::new(Notify::new());
    let gateway = gateway(&format!(
        "- id: f\n  protocol: frame\n  listen: 127.0.0.1:0\n  upstream: {}\n  limit: one\n  \
         frame: {{ kind: fixed, size: 4, refusal: NOPE }}\n\
         weir.limits: {{ one: {{ concurrency: 1, queue: 1 }} }}\n",
        hesitant(Arc::clone(&go)).await
    ));
    let mut client = connect(&gateway).await;
    client.write_all(b"AAA1AAA2AAA3AAA4").await.expect("sent");
    until(&gateway, "f", |found| found["counts"]["messages"] == 4).await;
    go.notify_one();
    let mut got = [0; 16];
    let read = tokio::time::timeout(PATIENCE, client.read_exact(&mut got)).await;
    read.expect("in time").expect("all answers");
    assert_eq!(String::from_utf8_lossy(&got), "AAA1AAA2NOPENOPE");
}

#[tokio::test]
async fn waiting_messages_are_bounded_in_bytes_and_none_is_lost() {
    let go = Arc::new(Notify::new());
    let gateway = gateway(&format!(
        "- id: f\n  protocol: frame\n  listen: 127.0.0.1:0\n  upstream: {}\n  limit: one\n  \
         frame: {{ kind: fixed, size: 500000, max: 1MB }}\n\
         weir.limits: {{ one: {{ concurrency: 1, queue: 100, max-wait: 1h }} }}\n",
        hesitant(Arc::clone(&go)).await
    ));
    let (mut read, mut write) = connect(&gateway).await.into_split();
    let sent: Vec<u8> = (0..16_u8).flat_map(|n| vec![n; 500_000]).collect();
    let bytes = sent.clone();
    let sending = tokio::spawn(async move { write.write_all(&bytes).await });
    // One is in service; three make up the megabyte that may wait.
    until(&gateway, "f", |found| found["counts"]["messages"].as_u64() >= Some(2)).await;
    for _ in 0..50 {
        let messages = status(&gateway, "f").await["counts"]["messages"].as_u64();
        assert!(messages <= Some(4), "{messages:?}");
    }
    go.notify_one();
    let mut got = vec![0; sent.len()];
    let all = tokio::time::timeout(PATIENCE, read.read_exact(&mut got)).await;
    all.expect("in time").expect("all answers");
    assert!(got == sent);
    sending.await.expect("a task").expect("all sent");
}

#[tokio::test]
async fn bytes_of_waiting_messages_count_for_the_limit() {
    let go = Arc::new(Notify::new());
    let gateway = gateway(&format!(
        "- id: f\n  protocol: frame\n  listen: 127.0.0.1:0\n  upstream: {}\n  limit: one\n  \
         frame: {{ kind: fixed, size: 4, refusal: NOPE }}\n\
         weir.limits: {{ one: {{ concurrency: 1, queue: 100, queue-bytes: 11B }} }}\n",
        hesitant(Arc::clone(&go)).await
    ));
    let mut client = connect(&gateway).await;
    client.write_all(b"AAA1AAA2AAA3AAA4").await.expect("sent");
    until(&gateway, "f", |found| found["counts"]["messages"] == 4).await;
    let shown = get(gateway.admin(), "/actuator/gateway/limits/one").await.text();
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((&shown["depth"], &shown["heldBytes"]), (&2.into(), &8.into()), "{shown}");
    go.notify_one();
    let mut got = [0; 16];
    let read = tokio::time::timeout(PATIENCE, client.read_exact(&mut got)).await;
    read.expect("in time").expect("all answers");
    assert_eq!(String::from_utf8_lossy(&got), "AAA1AAA2AAA3NOPE");
}

#[tokio::test]
async fn a_tap_paces_messages_of_one_connection() {
    let upstream = upstream(1).await;
    let text = format!(
        "[pipeline.f]\nlisten = 127.0.0.1:0\n[module.d]\nname = frame-decoder\nlen-size = \
         2\n[module.t]\nname = tap\nlimit = 100\n[module.e]\nname = frame-encoder\n[module.p]\n\
         name = proxy\nupstream = {upstream}\n"
    );
    let gateway = ini(&text);
    let mut client = connect(&gateway).await;
    let start = std::time::Instant::now();
    let heap: Vec<u8> = (0..20).flat_map(|n| message(n, "x")).collect();
    client.write_all(&heap).await.expect("sent");
    for n in 0..20 {
        assert_eq!(read(&mut client).await, Some(message(n, "x")));
    }
    assert!(start.elapsed().as_millis() >= 190, "19 steps of 10 ms: {:?}", start.elapsed());
}

#[tokio::test]
async fn bytes_of_messages_wait_for_their_bandwidth() {
    let config = format!(
        "{}  limit: big\nweir.limits.big: {{ bandwidth: 1KB/s }}\n",
        config(upstream(1).await, "")
    );
    let gateway = gateway(&config);
    let mut client = connect(&gateway).await;
    let messages: Vec<_> = (0..100).map(|key| message(key, &"x".repeat(500))).collect();
    client.write_all(&messages.concat()).await.expect("sent");
    widen_once_it_is_short(&gateway).await;
    for message in messages {
        assert_eq!(read(&mut client).await, Some(message));
    }
}

#[tokio::test]
async fn what_breaks_the_rules_is_closed_and_counted() {
    let gateway = gateway(&config(upstream(1).await, ""));
    for bytes in [&[0x7f, 0xff, 0, 0][..], &message(1, "half")[..5]] {
        let mut client = connect(&gateway).await;
        client.write_all(bytes).await.expect("sent");
        client.shutdown().await.expect("an end");
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, client.read_to_end(&mut rest)).await;
        // Unread bytes may cause a reset.
        let _ = read.expect("in time");
        assert!(rest.is_empty(), "{rest:?}");
    }
    until(&gateway, "f", |found| found["counts"]["broken"] == 2 && found["active"] == 0).await;
}

#[tokio::test]
async fn answers_out_of_order_free_the_right_places() {
    let limits = "weir.limits: { two: { concurrency: 2 } }\nweir.pipelines:\n";
    let pipelines = config(upstream(2).await, "");
    let config = format!("weir.admin.port: 0\n{limits}{pipelines}  limit: two\n");
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let mut client = connect(&gateway).await;
    let heap: Vec<u8> = (0..10).flat_map(|n| message(n, "x")).collect();
    client.write_all(&heap).await.expect("sent");
    for pair in 0..5 {
        assert_eq!(read(&mut client).await, Some(message(2 * pair + 1, "x")));
        assert_eq!(read(&mut client).await, Some(message(2 * pair, "x")));
    }
}
