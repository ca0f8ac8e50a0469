//! Bytes both ways.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use weir_testkit::{Client, Gateway, PATIENCE, closed_port};

use super::{
    echo, eventually, gateway, get, greeting, rest, status, until, widen_once_it_is_short,
};

#[tokio::test]
async fn each_direction_ends_on_its_own_and_much_passes() {
    let upstream = echo("a").await;
    let front = format!("- {{ id: front, listen: '127.0.0.1:0', upstream: '{upstream}' }}\n");
    let gateway = gateway(&front);
    let (_, stream) = greeting(gateway.pipeline("front")).await;
    let (mut read, mut write) = stream.into_split();
    let bytes: Vec<u8> = (0..8_000_000_u32).map(|n| (n % 251) as u8).collect();
    let sent = bytes.clone();
    let sending = tokio::spawn(async move {
        write.write_all(&sent).await.expect("a write");
        write.shutdown().await.expect("an end");
    });
    let mut back = Vec::new();
    let reading = tokio::io::AsyncReadExt::read_to_end(&mut read, &mut back);
    tokio::time::timeout(PATIENCE, reading).await.expect("in time").expect("the end");
    sending.await.expect("all sent");
    assert!(back == bytes, "{} bytes came back", back.len());
    until(&gateway, "front", |now| now["active"] == 0).await;
    let now = status(&gateway, "front").await;
    assert_eq!(now["counts"]["sent_bytes"], bytes.len());
    assert_eq!(now["counts"]["received_bytes"], bytes.len() + 1);
    let metrics = get(gateway.admin(), "/actuator/prometheus").await.text();
    let row = "weir_pipeline_accepted_total{pipeline=\"front\"} 1\n";
    assert!(metrics.contains(row), "{metrics}");
}

#[tokio::test]
async fn who_cannot_be_reached_is_passed_over() {
    let (a, closed) = (echo("a").await, closed_port());
    let front = format!(
        "- {{ id: front, listen: '127.0.0.1:0', upstream: ['{closed}', '{a}'] }}\n\
         - {{ id: lost, listen: '127.0.0.1:0', upstream: '{closed}' }}\n"
    );
    let gateway = gateway(&front);
    for _ in 0..4 {
        assert_eq!(greeting(gateway.pipeline("front")).await.0, "a");
    }
    let upstreams = status(&gateway, "front").await["upstreams"].clone();
    assert_eq!(
        (&upstreams[0]["unreached"], &upstreams[0]["passedOver"]),
        (&1.into(), &true.into())
    );
    let mut lost = tokio::net::TcpStream::connect(gateway.pipeline("lost")).await.expect("one");
    assert_eq!(rest(&mut lost).await, b"");
    until(&gateway, "lost", |now| now["counts"]["unreached"] == 1).await;
}

#[tokio::test]
async fn upstreams_have_their_turns_by_weight() {
    let (a, b) = (echo("a").await, echo("b").await);
    let front = format!(
        "- id: front\n  listen: 127.0.0.1:0\n  upstream: ['{a}', {{ address: '{b}', weight: 2 }}]\n"
    );
    let gateway = gateway(&front);
    let mut names = String::new();
    for _ in 0..6 {
        names.push_str(&greeting(gateway.pipeline("front")).await.0);
    }
    assert_eq!(names, "babbab");
}

#[tokio::test]
async fn connections_wait_for_their_turn() {
    let upstream = echo("a").await;
    let gateway = gateway(&format!(
        "- {{ id: front, listen: '127.0.0.1:0', upstream: '{upstream}', limit: slow }}\n\
         weir.limits.slow: {{ rate: 1/h, max-wait: 10h, queue: 1 }}\n"
    ));
    let front = gateway.pipeline("front");
    let _first = greeting(front).await;
    let waiting = tokio::spawn(greeting(front));
    let limit = "/actuator/gateway/limits/slow";
    let depth = async || {
        let found = get(gateway.admin(), limit).await.text();
        serde_json::from_str::<serde_json::Value>(&found).expect("JSON")["depth"].clone()
    };
    eventually(async || depth().await == 1).await;
    let mut third = tokio::net::TcpStream::connect(front).await.expect("one");
    assert_eq!(rest(&mut third).await, b"", "the queue is full");
    until(&gateway, "front", |now| now["counts"]["limited"] == 1).await;
    let body = "{\"rate\":\"1000/s\"}";
    let post = format!(
        "POST {limit} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let changed = Client::connect(gateway.admin()).await.exchange(post).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(waiting.await.expect("its turn").0, "a");
}

#[tokio::test]
async fn each_client_address_can_have_a_limit_for_itself() {
    let upstream = echo("a").await;
    let gateway = gateway(&format!(
        "- {{ id: front, listen: '127.0.0.1:0', upstream: '{upstream}', limit: each }}\n\
         weir.limits.each: {{ concurrency: 1, key: ip, per-key: true }}\n"
    ));
    let address = gateway.pipeline("front");
    let held = greeting(address).await;
    let waiting = tokio::spawn(greeting(address));
    until_depth(&gateway, 1).await;
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.2:0".parse().expect("an address")).expect("another address");
    let mut other = socket.connect(address).await.expect("a connection");
    assert_eq!(other.read_u8().await.expect("it does not wait"), b'a');
    drop(held);
    assert_eq!(waiting.await.expect("its turn").0, "a");
}

/// Waits until so many wait at the limit `each`.
async fn until_depth(gateway: &Gateway, depth: u64) {
    eventually(async || {
        let shown = get(gateway.admin(), "/actuator/gateway/limits/each").await.text();
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        shown["depth"] == depth
    })
    .await;
}

#[tokio::test]
async fn a_reload_says_what_it_did_to_pipelines() {
    let one = |id: &str, more: &str| format!("- {{ id: {id}, listen: '127.0.0.1:0', {more} }}\n");
    let to = "upstream: 127.0.0.1:9";
    let kinds = [
        one("h", &format!("protocol: http, {to}")),
        one("s", "protocol: socks, socks: { deny: [ 10.0.0.0/8 ] }"),
        one("t", &format!("{to}, routes: [ {{ sni: [ a.example ], {to} }} ]")),
    ]
    .concat();
    let paced = |rate: &str| format!("{to}, limit: {rate}");
    let before = [one("paced", &paced("1/s")), one("goes", to), kinds.clone()].concat();
    let gateway = gateway(&before);
    let reload = |pipelines: String| {
        let config = format!("weir.admin.port: 0\nweir.pipelines:\n{pipelines}");
        std::fs::write(gateway.config(), config).expect("a file");
        gateway.hang_up();
    };
    reload([one("paced", &paced("2/s")), one("new", to), kinds.clone()].concat());
    let said = "1 added (new), 1 changed (paced), 1 removed (goes), 3 unchanged";
    gateway.wait_for_output(&format!("reloaded pipelines={said}"));
    reload([one("paced", &paced("2/s")), one("new", "upstream: 127.0.0.1:10"), kinds].concat());
    let said = "0 added, 1 changed (new), 0 removed, 4 unchanged";
    gateway.wait_for_output(&format!("reloaded pipelines={said}"));
}

#[tokio::test]
async fn a_reload_touches_no_connection_of_those_that_stay() {
    let (a, b) = (echo("a").await, echo("b").await);
    let one = |id: &str, to| format!("- {{ id: {id}, listen: '127.0.0.1:0', upstream: '{to}' }}\n");
    let gateway = gateway(&(one("stays", a) + &one("goes", a)));
    let (stays, goes) = (gateway.pipeline("stays"), gateway.pipeline("goes"));
    let (_, mut held) = greeting(stays).await;
    let (_, mut left) = greeting(goes).await;
    let config =
        format!("weir.admin.port: 0\nweir.pipelines:\n{}{}", one("stays", b), one("new", b));
    std::fs::write(gateway.config(), config).expect("a file");
    gateway.hang_up();
    gateway.wait_for_output("reloaded");
    gateway.wait_for_output("a pipeline listens pipeline=\"new\"");
    gateway.wait_for_output(&format!(
        "a pipeline listens no more; its connections may end pipeline=\"goes\" address={goes}"
    ));
    let path = "/actuator/gateway/pipelines/new";
    eventually(async || get(gateway.admin(), path).await.status == 200).await;
    for stream in [&mut held, &mut left] {
        stream.write_all(b"still there").await.expect("a write");
        stream.shutdown().await.expect("an end");
        assert_eq!(rest(stream).await, b"still there");
    }
    assert_eq!(greeting(stays).await.0, "b", "new ones go to the new upstream");
    let new = status(&gateway, "new").await["listen"][0].as_str().unwrap_or_default().to_owned();
    assert_eq!(greeting(new.parse().expect("an address")).await.0, "b");
    let gone = get(gateway.admin(), "/actuator/gateway/pipelines/goes").await;
    assert_eq!(gone.status, 404);
    eventually(async || tokio::net::TcpStream::connect(goes).await.is_err()).await;
}

#[tokio::test]
async fn a_check_takes_an_upstream_out_and_brings_it_back() {
    let (a, b) = (echo("a").await, echo("b").await);
    // The second answers something else than what is expected.
    let gateway = gateway(&format!(
        "- id: front\n  listen: 127.0.0.1:0\n  upstream: ['{a}', '{b}']\n  check: {{ interval: \
         100ms, send: 'PING\\r\\n', expect: \"aPING\\r\\n\", fall: 1 }}\n"
    ));
    until(&gateway, "front", |now| now["upstreams"][1]["up"] == false).await;
    for _ in 0..4 {
        assert_eq!(greeting(gateway.pipeline("front")).await.0, "a");
    }
    let text = std::fs::read_to_string(gateway.config()).expect("a file");
    std::fs::write(gateway.config(), text.replace("aPING", "PING")).expect("a file");
    gateway.hang_up();
    until(&gateway, "front", |now| now["upstreams"][1]["up"] == true).await;
}

#[tokio::test]
async fn a_reload_hands_a_port_over() {
    let upstream = echo("a").await;
    let gateway =
        gateway(&format!("- {{ id: old, listen: '127.0.0.1:0', upstream: '{upstream}' }}\n"));
    let address = gateway.pipeline("old");
    let (_, mut held) = greeting(address).await;
    // Another name, another protocol, a wider address, and back at once.
    for (id, listen, protocol) in [
        ("new", format!("127.0.0.1:{}", address.port()), "tcp"),
        ("new", format!("127.0.0.1:{}", address.port()), "socks"),
        ("new", format!("0.0.0.0:{}", address.port()), "tcp"),
        ("old", format!("127.0.0.1:{}", address.port()), "tcp"),
    ] {
        let target =
            if protocol == "tcp" { format!(", upstream: '{upstream}'") } else { String::new() };
        let config = format!(
            "weir.admin.port: 0\nweir.pipelines:\n- {{ id: {id}, listen: '{listen}', protocol: \
             {protocol}{target} }}\n"
        );
        std::fs::write(gateway.config(), config).expect("a file");
        gateway.hang_up();
        let path = format!("/actuator/gateway/pipelines/{id}");
        eventually(async || get(gateway.admin(), &path).await.status == 200).await;
        until(&gateway, id, |now| now["listen"][0] == listen && now["protocol"] == protocol).await;
        if protocol == "tcp" {
            eventually(async || {
                let stream = tokio::net::TcpStream::connect(address).await;
                let Ok(mut stream) = stream else { return false };
                stream.shutdown().await.is_ok() && rest(&mut stream).await == b"a"
            })
            .await;
        }
    }
    held.write_all(b"still there").await.expect("a write");
    held.shutdown().await.expect("an end");
    assert_eq!(rest(&mut held).await, b"still there");
}

#[tokio::test]
async fn a_check_begins_as_connections_do() {
    let upstream = echo("a").await;
    let gateway = gateway(&format!(
        "- id: front\n  listen: 127.0.0.1:0\n  upstream: '{upstream}'\n  proxy-protocol: {{ send: \
         v1 }}\n  check: {{ interval: 100ms, send: 'PING', expect: 'aPING', fall: 1 }}\n"
    ));
    until(&gateway, "front", |now| now["upstreams"][0]["up"] == false).await;
    let text = std::fs::read_to_string(gateway.config()).expect("a file");
    let expected = "expect: \"aPROXY UNKNOWN\\r\\nPING\"";
    std::fs::write(gateway.config(), text.replace("expect: 'aPING'", expected)).expect("a file");
    gateway.hang_up();
    until(&gateway, "front", |now| now["upstreams"][0]["up"] == true).await;
}

#[tokio::test]
async fn a_stop_lets_connections_end() {
    let upstream = echo("a").await;
    let front = format!("- {{ id: front, listen: '127.0.0.1:0', upstream: '{upstream}' }}\n");
    let mut gateway = gateway(&front);
    let (_, mut held) = greeting(gateway.pipeline("front")).await;
    gateway.terminate();
    gateway.wait_for_output("draining 1 connections");
    held.write_all(b"to the end").await.expect("a write");
    held.shutdown().await.expect("an end");
    assert_eq!(rest(&mut held).await, b"to the end");
    gateway.wait_for_output("every request was answered");
    assert!(gateway.wait_for_exit().success());
}

#[tokio::test]
async fn bytes_wait_for_their_bandwidth() {
    let upstream = echo("a").await;
    let gateway = gateway(&format!(
        "- {{ id: front, listen: '127.0.0.1:0', upstream: '{upstream}', limit: big }}\n\
         weir.limits.big: {{ bandwidth: 1KB/s, key: ip }}\n"
    ));
    let (_, mut stream) = greeting(gateway.pipeline("front")).await;
    let bytes = vec![7; 100_000];
    stream.write_all(&bytes).await.expect("a write");
    widen_once_it_is_short(&gateway).await;
    let mut back = vec![0; bytes.len()];
    let reading = tokio::io::AsyncReadExt::read_exact(&mut stream, &mut back);
    tokio::time::timeout(PATIENCE, reading).await.expect("in time").expect("all of it");
    assert_eq!(back, bytes);
}
