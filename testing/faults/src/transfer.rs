//! Large bodies between a fast and a slow end.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use weir_testkit::Gateway;

use crate::tally::{Size, Tally};
use crate::traffic::upstream;
use crate::weir::{Weir, resident_bytes};

/// Streams at a time.
const STREAMS: usize = 2;
/// Bytes the memory of the gateway may grow by for each stream.
const GROWTH_MAX: u64 = 2 * 1024 * 1024;
/// A slow end reads so much, then pauses.
const GULP: usize = 256 * 1024;
const PAUSE: Duration = Duration::from_millis(10);

/// Downloads to slow clients and uploads to a slow upstream: every byte arrives, and the gateway
/// holds next to none of them.
pub(crate) async fn large(weir: Weir, size: Size) -> Tally {
    let bytes = size.of(64, 1024) * 1024 * 1024;
    let mut tally = Tally::default();
    let origin = upstream();
    let gateway = weir.before(origin.address(), "");
    watched(&mut tally, &gateway, bytes, |address, bytes| Box::pin(download(address, bytes))).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let gateway = weir.before(listener.local_addr().expect("an address"), "");
    let sink = tokio::spawn(swallow(listener));
    watched(&mut tally, &gateway, bytes, |address, bytes| Box::pin(upload(address, bytes))).await;
    sink.abort();
    tally
}

type Transfer = std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Runs `STREAMS` transfers of `bytes` in all, looking at the memory of the gateway.
async fn watched(
    tally: &mut Tally,
    gateway: &Gateway,
    bytes: u64,
    transfer: fn(SocketAddr, u64) -> Transfer,
) {
    // Code and buffers touched by the first transfer do not count as growth.
    transfer(gateway.address(), 1024 * 1024).await.expect("a first transfer");
    let before = resident_bytes(gateway);
    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        streams.spawn(transfer(gateway.address(), bytes / STREAMS as u64));
    }
    let mut most = before;
    while !streams.is_empty() {
        tokio::select! {
            ended = streams.join_next() => {
                let ended = ended.map(|ended| ended.unwrap_or_else(|error| Err(error.to_string())));
                let ended = ended.unwrap_or(Ok(()));
                tally.request(ended.is_ok(), || format!("{ended:?}"));
            }
            () = tokio::time::sleep(PAUSE) => most = most.max(resident_bytes(gateway)),
        }
    }
    let growth = (most - before) / STREAMS as u64;
    tally.check(growth <= GROWTH_MAX, || format!("grew by {growth} bytes for each stream"));
    tally.measure("KiB of memory for each large stream", growth as f64 / 1024.0);
}

async fn download(address: SocketAddr, bytes: u64) -> Result<(), String> {
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let request = format!("GET /bytes/{bytes} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut buffer = vec![0; GULP];
    let (mut read, mut head) = (0, None);
    loop {
        let count = stream.read(&mut buffer).await.map_err(|error| error.to_string())?;
        if count == 0 {
            break;
        }
        let first = buffer.get(..count).unwrap_or_default();
        // The head is small and arrives in one piece.
        head = head.or_else(|| first.windows(4).position(|end| end == b"\r\n\r\n"));
        if (read + count as u64) / GULP as u64 > read / GULP as u64 {
            tokio::time::sleep(PAUSE).await;
        }
        read += count as u64;
    }
    let body = read - head.map_or(read, |head| head as u64 + 4);
    if body == bytes { Ok(()) } else { Err(format!("{body} bytes of {bytes}")) }
}

async fn upload(address: SocketAddr, bytes: u64) -> Result<(), String> {
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.map_err(|error| error.to_string())?;
    let piece = vec![b'x'; 256 * 1024];
    let mut left = bytes;
    while left > 0 {
        let count = left.min(piece.len() as u64);
        let piece = piece.get(..count as usize).unwrap_or_default();
        stream.write_all(piece).await.map_err(|error| error.to_string())?;
        left -= count;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.map_err(|error| error.to_string())?;
    let told = format!("{bytes} bytes");
    if answer.ends_with(&told) { Ok(()) } else { Err(format!("{told}: {answer:?}")) }
}

/// An upstream that reads bodies slowly and answers with how many bytes came.
async fn swallow(listener: TcpListener) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(swallow_one(stream));
    }
}

async fn swallow_one(mut stream: TcpStream) {
    let mut buffer = vec![0; GULP];
    let mut head = Vec::new();
    let end = loop {
        let count = stream.read_buf(&mut head).await.unwrap_or(0);
        let end = head.windows(4).position(|end| end == b"\r\n\r\n");
        match end {
            Some(end) => break end + 4,
            None if count == 0 => return,
            None => {}
        }
    };
    let text = String::from_utf8_lossy(&head[..end]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: u64 = length.and_then(|length| length.parse().ok()).unwrap_or_default();
    let mut read = (head.len() - end) as u64;
    while read < length {
        let Ok(count @ 1..) = stream.read(&mut buffer).await else { return };
        if (read + count as u64) / GULP as u64 > read / GULP as u64 {
            tokio::time::sleep(PAUSE).await;
        }
        read += count as u64;
    }
    let body = format!("{read} bytes");
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(answer.as_bytes()).await;
}
