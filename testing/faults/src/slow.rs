//! Clients that send or read slowly.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use weir_testkit::{Answer, Gateway, Origin};

use crate::nginx::Nginx;
use crate::stale::sum;
use crate::tally::{Size, Tally};
use crate::traffic::{Kind, Manners, Traffic, upstream};
use crate::weir::{Weir, metric, resident_bytes, settles};

/// Time between two bytes of a slow client.
const PACE: Duration = Duration::from_secs(1);
/// The time after which a slow client counts as never disconnected.
const LASTS_MAX: Duration = Duration::from_secs(60);
/// More than all buffers between an origin and a client that does not read can hold.
const RESPONSE_BYTES: u64 = 256 * 1024 * 1024;
const PIECE_BYTES: usize = 64 * 1024;
const SLOW_HEAD: &str = "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ";
const SLOW_BODY: &str = "POST /anything HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
const TOO_SLOW: &str = "weir_errors_total{kind=\"client_too_slow\"}";

/// Heads and bodies sent, and responses read, at a byte per second: all of them are let go, and
/// well-behaved neighbours get every answer.
pub(crate) async fn clients(weir: Weir, size: Size) -> Tally {
    let origin = upstream();
    // A separate upstream: the cost of producing large responses must not affect the neighbours.
    let large = Origin::answering(|_| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {RESPONSE_BYTES}\r\n\r\n");
        Answer::raw(head).repeat([b'x'; PIECE_BYTES], RESPONSE_BYTES / PIECE_BYTES as u64)
    })
    .await;
    let limits = "weir.server: { head-timeout: 2s, progress-window: 2s }";
    let routes = format!(
        "- {{ id: large, uri: '{}', order: -1, predicates: [ 'Path=/large' ] }}",
        large.uri()
    );
    let gateway = weir.before(origin.address(), &format!("{routes}\n{limits}"));

    let traffic = neighbours(gateway.address());
    tokio::time::sleep(size.of(Duration::from_millis(500), Duration::from_secs(5))).await;
    let mut alone = traffic.finish();
    let before = resident_bytes(&gateway);

    let traffic = neighbours(gateway.address());
    let count = size.of(40, 500);
    let mut tally = slow_ones(&gateway, count).await;
    let mut among = traffic.finish();
    let growth = resident_bytes(&gateway).saturating_sub(before) as f64;
    tally.measure("KiB of memory for each slow client", growth / 1024.0 / (3 * count) as f64);
    let ratio = among.p99_us() / alone.p99_us();
    tally.measure("neighbours' p99 while all of them come and are let go, × alone", ratio);
    tally.add(alone.tally);
    tally.add(among.tally);
    settles(&gateway, "weir_connections", 0.0).await;
    drop(gateway);
    let (time, count) = size.of((Duration::from_millis(500), 40), (Duration::from_secs(5), 500));
    let patient = weir.before(origin.address(), &routes);
    let (coming, there) = beside_senders(patient.address(), count, time, &mut tally).await;
    tally.measure("beside slow heads and bodies that begin, × alone", coming);
    tally.measure("beside slow heads and bodies, × alone", there);
    let (filling, full) = beside_readers(patient.address(), count, time, &mut tally).await;
    tally.measure("beside readers that begin, × alone", filling);
    tally.measure("beside readers that wait, × alone", full);
    drop(patient);
    if let Some(nginx) = Nginx::before(origin.address(), large.address()).await {
        let (filling, full) = beside_readers(nginx.address(), count, time, &mut tally).await;
        tally.measure("behind nginx: that begin, × alone", filling);
        tally.measure("behind nginx: that wait, × alone", full);
    }
    tally
}

fn neighbours(address: SocketAddr) -> Traffic {
    let manners = Manners { pace: Duration::from_millis(2), until_closed: false };
    Traffic::start(address, &[(Kind::KeepAlive, 4)], manners)
}

/// The neighbours' p99 beside `count` clients that send their heads slowly and as many that send
/// their bodies slowly, as a multiple of their p99 without them: while they connect, for half of
/// `time`, and then, before any of them is disconnected.
async fn beside_senders(
    address: SocketAddr,
    count: usize,
    time: Duration,
    tally: &mut Tally,
) -> (f64, f64) {
    let alone = watched(address, time, tally).await;
    let mut senders = JoinSet::new();
    for start in [SLOW_HEAD, SLOW_BODY].into_iter().cycle().take(2 * count) {
        senders.spawn(slow_sender(address, start));
    }
    let coming = watched(address, time / 2, tally).await;
    let there = watched(address, time, tally).await;
    (coming / alone, there / alone)
}

/// The neighbours' p99 beside `count` clients that request large responses and read nothing, as a
/// multiple of their p99 without them: while the buffers on the way fill, which costs the machine
/// the same with any server, and after that. Each of the three periods lasts `time`.
async fn beside_readers(
    address: SocketAddr,
    count: usize,
    time: Duration,
    tally: &mut Tally,
) -> (f64, f64) {
    let alone = watched(address, time, tally).await;
    let traffic = neighbours(address);
    let mut readers = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let _ = stream.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;
        readers.push(stream);
    }
    tokio::time::sleep(time).await;
    let mut among = traffic.finish();
    let filling = among.p99_us();
    tally.add(among.tally);
    let full = watched(address, time, tally).await;
    drop(readers);
    (filling / alone, full / alone)
}

/// The neighbours' p99 over `time`, in microseconds.
async fn watched(address: SocketAddr, time: Duration, tally: &mut Tally) -> f64 {
    let traffic = neighbours(address);
    tokio::time::sleep(time).await;
    let mut seen = traffic.finish();
    let p99_us = seen.p99_us();
    tally.add(seen.tally);
    p99_us
}

/// `count` clients of each sort, all of which must be let go.
async fn slow_ones(gateway: &Gateway, count: usize) -> Tally {
    let address = gateway.address();
    let (told, may_read) = watch::channel(false);
    let mut clients = JoinSet::new();
    for _ in 0..count {
        clients.spawn(slow_sender(address, SLOW_HEAD));
        clients.spawn(slow_sender(address, SLOW_BODY));
        clients.spawn(slow_reader(address, may_read.clone()));
    }
    let since = Instant::now();
    // The metric counts slow bodies and slow readers; the test itself cannot observe the readers.
    while metric(gateway, TOO_SLOW).await < (2 * count) as f64 && since.elapsed() < LASTS_MAX {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    told.send_replace(true);
    sum(clients).await
}

/// Sends `start`, then a byte now and then, until it is answered with 408 and the connection ends.
async fn slow_sender(address: SocketAddr, start: &str) -> Tally {
    let mut tally = Tally::default();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let _ = stream.write_all(start.as_bytes()).await;
    let mut got = Vec::new();
    let since = Instant::now();
    let ended = loop {
        match tokio::time::timeout(PACE, stream.read_buf(&mut got)).await {
            Ok(Ok(0) | Err(_)) => break true,
            Ok(Ok(_)) => {}
            Err(_) if since.elapsed() > LASTS_MAX => break false,
            Err(_) => _ = stream.write_all(b"x").await,
        }
    };
    let got = String::from_utf8_lossy(&got);
    let good = ended && got.starts_with("HTTP/1.1 408 ");
    tally.request(good, || format!("{start:?}, then slowly: ended {ended}, {got:?}"));
    tally
}

/// Requests a large response and reads a byte now and then, until told to read the rest: the
/// response must end early.
async fn slow_reader(address: SocketAddr, mut may_read: watch::Receiver<bool>) -> Tally {
    let mut tally = Tally::default();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let _ = stream.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut buffer = vec![0; 64 * 1024];
    let mut read = 0;
    // Times out at each pace, until the sender signals.
    while tokio::time::timeout(PACE, may_read.changed()).await.is_err() {
        read += stream.read(&mut buffer[..1]).await.unwrap_or(0) as u64;
    }
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        read += count as u64;
    }
    tally.request(read < RESPONSE_BYTES, || "a slow reader was served to the end".to_owned());
    tally
}
