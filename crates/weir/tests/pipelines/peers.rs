//! Real peers: PROXY headers from and to curl, HAProxy and nginx; TLS hellos of openssl.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use weir_testkit::{Gateway, PATIENCE, closed_port};

use super::{echo, eventually, gateway, greeting, has, until};

/// A server that is ended with the test.
struct Server {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts `program` with a file; `{port}`, `{folder}` and `{file}` are filled in.
    async fn start(program: &str, arguments: &[&str], text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let address = closed_port();
        let path = folder.path().display().to_string();
        let fill = |text: &str| {
            let text = text.replace("{port}", &address.port().to_string());
            text.replace("{folder}", &path).replace("{file}", &format!("{path}/file"))
        };
        std::fs::write(folder.path().join("file"), fill(text)).expect("a file");
        let mut command = Command::new(program);
        command.args(arguments.iter().map(|argument| fill(argument)));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
        eventually(async || TcpStream::connect(address).await.is_ok()).await;
        Self { child, address, _folder: folder }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An nginx that answers with the address that the PROXY header in front names.
async fn nginx() -> Server {
    let text = "daemon off; master_process off; pid {folder}/pid; error_log /dev/null;\n\
                events {} http { access_log off; client_body_temp_path {folder}/a; \
                proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; uwsgi_temp_path \
                {folder}/d; scgi_temp_path {folder}/e; server { listen 127.0.0.1:{port} \
                proxy_protocol; return 200 \
                \"$proxy_protocol_addr:$proxy_protocol_port:$proxy_protocol_server_addr\"; } }";
    Server::start("nginx", &["-c", "{file}"], text).await
}

/// A HAProxy that expects a PROXY header and passes it on.
async fn haproxy(upstream: SocketAddr, send: &str) -> Server {
    let text = format!(
        "global\n  maxconn 100\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  \
         timeout server 60s\nlisten l\n  bind 127.0.0.1:{{port}} accept-proxy\n  server s \
         {upstream} {send}\n"
    );
    Server::start("haproxy", &["-db", "-f", "{file}"], &text).await
}

fn pipeline(upstream: SocketAddr, rules: &str) -> String {
    format!(
        "- id: p\n  listen: 127.0.0.1:0\n  upstream: {upstream}\n  proxy-protocol: {{ {rules} }}\n"
    )
}

const FROM_HERE: &str = "receive: true, from: [ 127.0.0.0/8 ]";

/// The response that curl gets through the pipeline, and curl's own port.
async fn curl(gateway: &Gateway, more: &[&str]) -> (String, String) {
    let mut command = Command::new("curl");
    command.args(["-s", "-m", "20", "-w", " %{local_port}"]).args(more);
    command.arg(format!("http://{}/", gateway.pipeline("p")));
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("a thread");
    let text = String::from_utf8_lossy(&output.expect("curl").stdout).into_owned();
    let (body, port) = text.rsplit_once(' ').expect("a port");
    (body.to_owned(), port.to_owned())
}

#[tokio::test]
async fn nginx_hears_from_whom_a_connection_comes() {
    if !has("curl", "--version") || !has("nginx", "-v") {
        return;
    }
    let nginx = nginx().await;
    for version in ["v1", "v2"] {
        let gateway = gateway(&pipeline(nginx.address, &format!("send: {version}")));
        let (seen, port) = curl(&gateway, &[]).await;
        assert_eq!(seen, format!("127.0.0.1:{port}:127.0.0.1"), "{version}");
        // And what curl says in front of a gateway that trusts it.
        let rules = format!("{FROM_HERE}, send: {version}");
        let trusting = super::gateway(&pipeline(nginx.address, &rules));
        let (seen, port) = curl(&trusting, &["--haproxy-protocol"]).await;
        assert_eq!(seen, format!("127.0.0.1:{port}:127.0.0.1"), "{version}");
    }
}

#[tokio::test]
async fn haproxy_takes_and_sends_them() {
    if !has("curl", "--version") || !has("nginx", "-v") || !has("haproxy", "-v") {
        return;
    }
    let nginx = nginx().await;
    for send in ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c"] {
        let inner = gateway(&pipeline(nginx.address, &format!("{FROM_HERE}, send: v1")));
        let haproxy = haproxy(inner.pipeline("p"), send).await;
        let outer = gateway(&pipeline(haproxy.address, "send: v2"));
        let (seen, port) = curl(&outer, &[]).await;
        assert_eq!(seen, format!("127.0.0.1:{port}:127.0.0.1"), "{send}");
    }
}

/// Sends `bytes` and returns everything received until the end.
async fn said(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut client = TcpStream::connect(address).await.expect("a connection");
    client.write_all(bytes).await.expect("sent");
    client.shutdown().await.expect("an end");
    let mut got = Vec::new();
    let read = tokio::time::timeout(PATIENCE, client.read_to_end(&mut got)).await;
    // Unread bytes may cause a reset.
    let _ = read.expect("in time");
    got
}

#[tokio::test]
async fn only_who_is_trusted_is_believed_and_has_to_say_it() {
    let upstream = echo("e").await;
    let header = b"PROXY TCP4 192.0.2.7 192.0.2.8 1111 2222\r\n";
    let more = [&header[..], b"hello"].concat();
    let trusting = gateway(&pipeline(upstream, FROM_HERE));
    assert_eq!(said(trusting.pipeline("p"), &more).await, b"ehello");
    assert_eq!(said(trusting.pipeline("p"), b"hello, no header").await, b"");
    let wrong = b"PROXY TCP4 192.0.2.7 192.0.2.8 1111 99999\r\nhello";
    assert_eq!(said(trusting.pipeline("p"), wrong).await, b"");
    until(&trusting, "p", |found| found["counts"]["broken"] == 2).await;
    // Others' headers are bytes like all others.
    let elsewhere = gateway(&pipeline(upstream, "receive: true, from: [ 192.0.2.0/24 ]"));
    assert_eq!(said(elsewhere.pipeline("p"), &more).await, [b"e", &more[..]].concat());
    let chain = gateway(&pipeline(upstream, &format!("{FROM_HERE}, send: v1")));
    assert_eq!(said(chain.pipeline("p"), &more).await, [b"e", &more[..]].concat());
}

#[tokio::test]
async fn a_hello_chooses_the_upstream() {
    if !has("openssl", "version") {
        return;
    }
    let upstreams = [recorder().await, recorder().await, recorder().await];
    let [www, h2, rest] = upstreams.each_ref().map(|(address, _)| address);
    let gateway = gateway(&format!(
        "- id: p\n  listen: 127.0.0.1:0\n  upstream: '{rest}'\n  routes:\n  - {{ sni: [ \
         '*.example.org' ], upstream: '{www}' }}\n  - {{ alpn: [ h2 ], upstream: '{h2}' }}\n"
    ));
    let address = gateway.pipeline("p");
    for (arguments, at) in [
        (&["-servername", "www.Example.org"][..], 0),
        (&["-servername", "example.org", "-alpn", "http/1.1,h2"], 1),
        (&["-servername", "example.org", "-alpn", "http/1.1"], 2),
        (&["-noservername"], 2),
    ] {
        let before = upstreams.each_ref().map(|(_, got)| *got.borrow());
        let mut openssl = Command::new("openssl")
            .args(["s_client", "-connect", &address.to_string()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl");
        let mut got = upstreams[at].1.clone();
        let more = got.wait_for(|now| *now > before[at]);
        tokio::time::timeout(PATIENCE, more).await.expect("in time").expect("a hello");
        let _ = openssl.stdin.take().expect("its input").write_all(b"Q\n");
        let _ = openssl.kill();
        let _ = openssl.wait();
        let after = upstreams.each_ref().map(|(_, got)| *got.borrow());
        let others = (0..3).filter(|other| *other != at);
        assert!(others.clone().all(|other| after[other] == before[other]), "{arguments:?}");
    }
    // Bytes that are not TLS take the fallback.
    let _plain = greet(address).await;
    let mut got = upstreams[2].1.clone();
    let more = got.wait_for(|now| *now >= 3);
    tokio::time::timeout(PATIENCE, more).await.expect("in time").expect("bytes");
}

async fn greet(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("sent");
    stream
}

/// An upstream that counts connections on which something came.
async fn recorder() -> (SocketAddr, tokio::sync::watch::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let (count, counted) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut byte = [0];
            if stream.read_exact(&mut byte).await.is_ok() {
                count.send_modify(|count| *count += 1);
            }
        }
    });
    (address, counted)
}

#[tokio::test]
async fn where_no_route_fits_and_no_upstream_is_left_it_is_closed() {
    let upstream = echo("e").await;
    let gateway = gateway(&format!(
        "- id: p\n  listen: 127.0.0.1:0\n  routes: [ {{ sni: a.example, upstream: '{upstream}' }} ]\n"
    ));
    let _ = said(gateway.pipeline("p"), b"GET / HTTP/1.1\r\n\r\n").await;
    until(&gateway, "p", |found| found["counts"]["denied"] == 1).await;
    let (name, _) = greeting(upstream).await;
    assert_eq!(name, "e");
}
