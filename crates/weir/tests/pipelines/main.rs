//! Pipelines end to end: the program itself between real sockets.

mod dubbo;
mod frame;
mod frame_python;
mod http;
mod peers;
mod seed;
mod sharing;
mod socks;
mod tcp;

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use weir_testkit::{Client, Gateway, Response};

/// A gateway with these pipelines, and nothing else but its admin API.
fn gateway(pipelines: &str) -> Gateway {
    let config = format!("weir.admin.port: 0\nweir.pipelines:\n{pipelines}");
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    gateway.admin();
    gateway
}

/// Runs an ini file; `{listen}` and the like have been filled in.
fn ini(text: &str) -> Gateway {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weir"));
    command.env("WEIR_ADMIN_PORT", "0");
    Gateway::launch(command, &["run", "{config}"], &[("proxy.ini", text.as_bytes())])
}

/// Whether a real peer is installed; a test without it reports that it was skipped.
fn has(program: &str, flag: &str) -> bool {
    let found = std::process::Command::new(program).arg(flag).output();
    if let Err(error) = &found {
        eprintln!("left out: {program}: {error}");
    }
    found.is_ok()
}

async fn get(address: SocketAddr, path: &str) -> Response {
    let get = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Client::connect(address).await.exchange(get).await
}

/// The status of the pipeline `id` according to the admin API.
async fn status(gateway: &Gateway, id: &str) -> Value {
    let path = format!("/actuator/gateway/pipelines/{id}");
    let found = get(gateway.admin(), &path).await;
    assert_eq!(found.status, 200, "{}", found.text());
    serde_json::from_str(&found.text()).expect("JSON")
}

/// Waits until `holds` of the pipeline `id`.
async fn until(gateway: &Gateway, id: &str, holds: impl Fn(&Value) -> bool) {
    eventually(async || holds(&status(gateway, id).await)).await;
}

/// Waits until `holds`.
async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds().await {
        assert!(start.elapsed() < weir_testkit::PATIENCE, "waited in vain");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Waits until bytes wait for the bandwidth of the limit `big`, then gives it more than enough.
async fn widen_once_it_is_short(gateway: &Gateway) {
    let limit = "/actuator/gateway/limits/big";
    eventually(async || {
        let text = get(gateway.admin(), limit).await.text();
        let shown: Value = serde_json::from_str(&text).expect("JSON");
        shown["bandwidthWaits"].as_u64() > Some(0)
    })
    .await;
    let body = r#"{ "bandwidth": "1GB/s" }"#;
    let post = format!(
        "POST {limit} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(Client::connect(gateway.admin()).await.exchange(post).await.status, 200);
}

/// A server that greets with its name and echoes what it receives, until the end.
async fn echo(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                stream.write_all(name.as_bytes()).await?;
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await?;
                write.shutdown().await
            });
        }
    });
    address
}

/// The greeting that comes from a pipeline at `address`, with the connection.
async fn greeting(address: SocketAddr) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let mut name = [0];
    let read = tokio::time::timeout(weir_testkit::PATIENCE, stream.read_exact(&mut name)).await;
    read.expect("in time").expect("a greeting");
    (String::from_utf8_lossy(&name).into_owned(), stream)
}

/// The bytes until the end of the stream.
async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let read = tokio::time::timeout(weir_testkit::PATIENCE, stream.read_to_end(&mut all)).await;
    // A connection that is cut off may be reset.
    let _ = read.expect("in time");
    all
}
