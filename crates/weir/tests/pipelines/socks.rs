//! SOCKS, with curl and byte by byte.

use std::net::SocketAddr;
use std::process::Command;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use weir_testkit::{Gateway, Origin, PATIENCE};

use super::{echo, gateway, has, ini, status, until, widen_once_it_is_short};

const OPEN: &str = "- { id: s, protocol: socks, listen: 127.0.0.1:0 }";
const GUARDED: &str = "\
- id: s
  protocol: socks
  listen: 127.0.0.1:0
  socks: { users: { alice: s3cret }, allow: [ 127.0.0.0/8 ], deny: [ '*:9' ] }";

/// The result of curl for `http://host:port/ok` through the proxy: its exit code and the status.
async fn curl(gateway: &Gateway, how: &[&str], origin: &str) -> (Option<i32>, String) {
    through(gateway.pipeline("s"), how, origin).await
}

/// The same through the proxy at `proxy`.
async fn through(proxy: SocketAddr, how: &[&str], origin: &str) -> (Option<i32>, String) {
    let mut command = Command::new("curl");
    command.args(["-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", ""]);
    command.args(how).arg(proxy.to_string()).arg(format!("http://{origin}/ok"));
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.expect("a thread").expect("curl");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn ok() -> (Option<i32>, String) {
    (Some(0), "200".to_owned())
}

#[tokio::test]
async fn curl_connects_by_every_version() {
    if !has("curl", "--version") {
        return;
    }
    let origin = Origin::start().await;
    let gateway = gateway(OPEN);
    let address = origin.address().to_string();
    let named = format!("localhost:{}", origin.address().port());
    assert_eq!(curl(&gateway, &["--socks4"], &address).await, ok());
    assert_eq!(curl(&gateway, &["--socks4a"], &named).await, ok());
    assert_eq!(curl(&gateway, &["--socks5"], &address).await, ok());
    assert_eq!(curl(&gateway, &["--socks5-hostname"], &named).await, ok());
}

#[tokio::test]
async fn no_form_of_an_address_gets_around_a_rule() {
    if !has("curl", "--version") {
        return;
    }
    let origin = Origin::start().await;
    let gateway = gateway(&format!(
        "{OPEN}\n- {{ id: m, protocol: socks, listen: 127.0.0.1:0, socks: {{ allow: [ '*' ], deny: \
         [ '::ffff:127.0.0.0/104' ] }} }}"
    ));
    let port = origin.address().port();
    let forms = ["127.0.0.1", "0.0.0.0", "localhost", "[::ffff:127.0.0.1]", "[::ffff:0:0]"];
    for host in forms {
        let found = through(gateway.pipeline("m"), &["--socks5"], &format!("{host}:{port}")).await;
        assert_ne!(found.0, Some(0), "{host}");
    }
    assert!(origin.requests().is_empty());
    let open = curl(&gateway, &["--socks5"], &format!("0.0.0.0:{port}")).await;
    assert_eq!(open, ok(), "a rule keeps it away, and nothing else");
}

#[tokio::test]
async fn users_show_who_they_are() {
    if !has("curl", "--version") {
        return;
    }
    let origin = Origin::start().await;
    let gateway = gateway(GUARDED);
    let address = origin.address().to_string();
    let known = ["--proxy-user", "alice:s3cret", "--socks5"];
    assert_eq!(curl(&gateway, &known, &address).await, ok());
    let refused = [
        (&["--proxy-user", "alice:wrong", "--socks5"][..], "a wrong password"),
        (&["--proxy-user", "bob:s3cret", "--socks5"], "a stranger"),
        (&["--socks5"], "nobody"),
        (&["--proxy-user", "alice:s3cret", "--socks4"], "a version without proof"),
    ];
    for (how, who) in refused {
        let (code, got) = curl(&gateway, how, &address).await;
        assert_eq!((code, got.as_str()), (Some(97), "000"), "{who}");
    }
    let counts = &status(&gateway, "s").await["counts"];
    assert_eq!(counts["denied"], 4, "{counts}");
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn an_ini_file_says_the_same() {
    if !has("curl", "--version") {
        return;
    }
    let origin = Origin::start().await;
    let text = "[pipeline.s]\nlisten = 127.0.0.1:0\n[module.a]\nname = socks\nusers.alice = \
                s3cret\nallow = 127.0.0.0/8:1-65535 10.0.0.0/8:80,443\n";
    let gateway = ini(text);
    let known = ["--proxy-user", "alice:s3cret", "--socks5"];
    assert_eq!(curl(&gateway, &known, &origin.address().to_string()).await, ok());
}

#[test]
fn one_that_is_open_to_all_stays_at_home() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = "weir.pipelines:\n- { id: s, protocol: socks, listen: 0.0.0.0:1080 }\n";
    std::fs::write(directory.path().join("a.yml"), config).expect("a file");
    let mut check = Command::new(env!("CARGO_BIN_EXE_weir"));
    let output = check.args(["check", "a.yml"]).current_dir(directory.path()).output();
    let output = String::from_utf8_lossy(&output.expect("an output").stdout).into_owned();
    assert!(output.contains("listens on loopback only"), "{output}");
    assert!(output.contains("a.yml:2:37"), "{output}");
}

/// A client of version 5 without a password, behind the answer to its greeting.
async fn v5(gateway: &Gateway) -> TcpStream {
    let mut client = TcpStream::connect(gateway.pipeline("s")).await.expect("a connection");
    client.write_all(&[5, 1, 0]).await.expect("a greeting");
    assert_eq!(take::<2>(&mut client).await, [5, 0]);
    client
}

async fn take<const N: usize>(client: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    let read = tokio::time::timeout(PATIENCE, client.read_exact(&mut bytes)).await;
    read.expect("in time").expect("bytes");
    bytes
}

/// A request of version 5 for an IPv4 address.
fn request(command: u8, to: SocketAddr) -> Vec<u8> {
    let SocketAddr::V4(to) = to else { panic!("{to}") };
    let mut bytes = vec![5, command, 0, 1];
    bytes.extend(to.ip().octets());
    bytes.extend(to.port().to_be_bytes());
    bytes
}

/// The address in a reply of version 5 that grants what was asked for.
async fn granted(client: &mut TcpStream) -> SocketAddr {
    let reply = take::<10>(client).await;
    let [5, 0, 0, 1, a, b, c, d, high, low] = reply else { panic!("{reply:?}") };
    SocketAddr::from(([a, b, c, d], u16::from_be_bytes([high, low])))
}

#[tokio::test]
async fn a_handshake_in_single_bytes_with_data_behind_it() {
    let gateway = gateway(OPEN);
    let mut client = TcpStream::connect(gateway.pipeline("s")).await.expect("a connection");
    client.set_nodelay(true).expect("no delay");
    let mut bytes = vec![5, 2, 0, 2];
    bytes.extend(request(1, echo("e").await));
    bytes.extend(b"early");
    for byte in bytes {
        client.write_all(&[byte]).await.expect("a byte");
        tokio::task::yield_now().await;
    }
    client.shutdown().await.expect("an end");
    assert_eq!(take::<2>(&mut client).await, [5, 0]);
    granted(&mut client).await;
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.expect("the rest");
    assert_eq!(rest, b"eearly");
}

#[tokio::test]
async fn each_failure_has_its_reply() {
    let gateway = gateway(
        "- id: s\n  protocol: socks\n  listen: 127.0.0.1:0\n  socks: { allow: [ 127.0.0.0/8 ] }",
    );
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let name = |host: &str| {
        let mut bytes = vec![5, 1, 0, 3, host.len() as u8];
        bytes.extend(host.as_bytes());
        bytes.extend(80_u16.to_be_bytes());
        bytes
    };
    for (request, code, why) in [
        (request(1, closed), 5, "refused"),
        (request(1, "192.0.2.1:80".parse().unwrap()), 2, "not allowed"),
        (name("no-such-host.invalid"), 4, "no such name"),
        (vec![5, 9, 0, 1, 0, 0, 0, 0, 0, 0], 7, "no such command"),
        (vec![5, 1, 0, 7, 0, 0, 0, 0, 0, 0], 8, "no such kind of address"),
    ] {
        let mut client = v5(&gateway).await;
        client.write_all(&request).await.expect("a request");
        assert_eq!(take::<2>(&mut client).await, [5, code], "{why}");
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.expect("an end");
        assert_eq!(rest.len(), 8, "{why}");
    }
    // Not the proxy's own admin API either.
    let mut client = v5(&gateway).await;
    client.write_all(&request(1, gateway.admin())).await.expect("a request");
    assert_eq!(take::<2>(&mut client).await, [5, 2]);
    until(&gateway, "s", |found| found["counts"]["broken"] == 2).await;
    until(&gateway, "s", |found| found["active"] == 0).await;
}

#[tokio::test]
async fn what_is_no_socks_is_closed() {
    let gateway = gateway(OPEN);
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 64], &[5, 1, 99], &[4, 1, 0, 80, 127]] {
        let mut client = TcpStream::connect(gateway.pipeline("s")).await.expect("a connection");
        client.write_all(bytes).await.expect("bytes");
        client.shutdown().await.expect("an end");
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, client.read_to_end(&mut rest)).await;
        // Unread bytes may cause a reset.
        let _ = read.expect("in time");
        assert!(rest.is_empty() || rest == [5, 0xff], "{rest:?}");
    }
    until(&gateway, "s", |found| found["active"] == 0).await;
}

#[tokio::test]
async fn bind_waits_for_one_who_comes() {
    let gateway = gateway(OPEN);
    let mut client = v5(&gateway).await;
    client.write_all(&request(2, "127.0.0.1:0".parse().unwrap())).await.expect("a request");
    let bound = granted(&mut client).await;
    let mut guest = TcpStream::connect(bound).await.expect("a connection");
    assert_eq!(granted(&mut client).await, guest.local_addr().unwrap());
    guest.write_all(b"hello").await.expect("bytes");
    assert_eq!(&take::<5>(&mut client).await, b"hello");
    client.write_all(b"you").await.expect("bytes");
    assert_eq!(&take::<3>(&mut guest).await, b"you");
    drop(guest);
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.expect("an end");
}

#[tokio::test]
async fn nobody_is_awaited_for_a_client_that_has_left() {
    let gateway = gateway(OPEN);
    let mut client = v5(&gateway).await;
    client.write_all(&request(2, "127.0.0.1:0".parse().unwrap())).await.expect("a request");
    let bound = granted(&mut client).await;
    drop(client);
    until(&gateway, "s", |found| found["active"] == 0).await;
    assert!(TcpStream::connect(bound).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn datagrams_pass_while_the_connection_lasts() {
    let gateway = gateway(OPEN);
    let server = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let to = server.local_addr().expect("its address");
    let stranger = UdpSocket::bind("127.0.0.2:0").await.expect("a port");
    let mut control = v5(&gateway).await;
    control.write_all(&request(3, "0.0.0.0:0".parse().unwrap())).await.expect("a request");
    let relay = granted(&mut control).await;
    let client = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let mut datagram = vec![0, 0, 0, 3, 9];
    datagram.extend(b"localhost");
    datagram.extend(to.port().to_be_bytes());
    datagram.extend(b"ping");
    let mut fragment = datagram.clone();
    fragment[2] = 1;
    client.send_to(&fragment, relay).await.expect("dropped");
    client.send_to(&datagram, relay).await.expect("sent");
    let mut buffer = [0; 1_024];
    let received = tokio::time::timeout(PATIENCE, server.recv_from(&mut buffer)).await;
    let (count, from) = received.expect("in time").expect("a datagram");
    assert_eq!(&buffer[..count], b"ping");
    stranger.send_to(b"spam", from).await.expect("dropped");
    server.send_to(b"pong", from).await.expect("sent");
    let received = tokio::time::timeout(PATIENCE, client.recv_from(&mut buffer)).await;
    let (count, _) = received.expect("in time").expect("a datagram");
    let mut expected = vec![0, 0, 0, 1, 127, 0, 0, 1];
    expected.extend(to.port().to_be_bytes());
    expected.extend(b"pong");
    assert_eq!(&buffer[..count], expected);
    drop(control);
    until(&gateway, "s", |found| found["active"] == 0).await;
    let counts = &status(&gateway, "s").await["counts"];
    assert_eq!((&counts["sent_bytes"], &counts["received_bytes"]), (&4.into(), &4.into()));
}

/// A datagram of so many bytes to `to`, as a client of the proxy writes it.
fn datagram(to: SocketAddr, bytes: usize) -> Vec<u8> {
    let mut datagram = vec![0, 0, 0, 1, 127, 0, 0, 1];
    datagram.extend(to.port().to_be_bytes());
    datagram.resize(datagram.len() + bytes, b'd');
    datagram
}

#[tokio::test]
async fn datagrams_wait_for_their_bandwidth() {
    let open = OPEN.replace(" }", ", limit: big }");
    let gateway = gateway(&format!("{open}\nweir.limits.big: {{ bandwidth: 1KB/s }}"));
    let server = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let to = server.local_addr().expect("its address");
    let mut control = v5(&gateway).await;
    control.write_all(&request(3, "0.0.0.0:0".parse().unwrap())).await.expect("a request");
    let relay = granted(&mut control).await;
    let client = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    for _ in 0..2 {
        client.send_to(&datagram(to, 30_000), relay).await.expect("sent");
    }
    let mut buffer = vec![0; 64_000];
    assert_eq!(server.recv(&mut buffer).await.expect("the first"), 30_000);
    widen_once_it_is_short(&gateway).await;
    assert_eq!(server.recv(&mut buffer).await.expect("the second"), 30_000);
}

#[tokio::test]
async fn an_association_ends_at_its_greatest_age() {
    let open = OPEN.replace(" }", ", timeouts: { idle: 0s, max: 100ms } }");
    let gateway = gateway(&open);
    let mut control = v5(&gateway).await;
    control.write_all(&request(3, "0.0.0.0:0".parse().unwrap())).await.expect("a request");
    granted(&mut control).await;
    let mut rest = Vec::new();
    let end = tokio::time::timeout(PATIENCE, control.read_to_end(&mut rest)).await;
    assert!(end.is_ok() && rest.is_empty());
    until(&gateway, "s", |found| found["counts"]["expired"] == 1).await;
}
