//! Well-behaved clients that must not be affected.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::task::JoinSet;
use weir_origin::{Options, Running, serve};
use weir_testkit::{Client, Cut, Response};

use crate::tally::Tally;

/// The repeated action of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// GETs on one connection.
    KeepAlive,
    /// A connection for each GET.
    Short,
    /// Uploads in pieces, on one connection.
    Upload,
    /// Messages on one WebSocket, each of which comes back.
    WebSocket,
}

/// The pace and the expectations of the clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manners {
    /// Pause after each request.
    pub(crate) pace: Duration,
    /// The gateway will stop: not getting a connection is no failure, and ends a client.
    pub(crate) until_closed: bool,
}

/// Clients at work in a thread of their own.
pub(crate) struct Traffic {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Load>>,
}

/// The results of all requests.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) tally: Tally,
    took_us: Vec<u64>,
}

/// An upstream for traffic, with a thread of its own.
pub(crate) fn upstream() -> Running {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    serve(Options { address, ..Options::default() }).expect("an origin")
}

impl Load {
    /// The time that 99 of 100 requests did not exceed, in µs.
    pub(crate) fn p99_us(&mut self) -> f64 {
        self.took_us.sort_unstable();
        let at = self.took_us.len() * 99 / 100;
        self.took_us.get(at).map_or(0.0, |took| *took as f64)
    }

    fn add(&mut self, other: Self) {
        self.tally.add(other.tally);
        self.took_us.extend(other.took_us);
    }
}

impl Traffic {
    /// Starts `count` clients of each kind, before a gateway whose upstream is [`upstream`].
    pub(crate) fn start(address: SocketAddr, kinds: &[(Kind, usize)], manners: Manners) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, kinds) = (Arc::clone(&stop), kinds.to_vec());
        let run = move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(drive(address, kinds, manners, stopped))
        };
        Self { stop, thread: Some(std::thread::spawn(run)) }
    }

    /// Lets every client finish its current request, and ends.
    pub(crate) fn finish(mut self) -> Load {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        ended.expect("is joined once").expect("clients at work")
    }

    /// Waits until every client has ended on its own.
    pub(crate) fn wait(mut self) -> Load {
        let ended = self.thread.take().map(JoinHandle::join);
        ended.expect("is joined once").expect("clients at work")
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

async fn drive(
    address: SocketAddr,
    kinds: Vec<(Kind, usize)>,
    manners: Manners,
    stop: Arc<AtomicBool>,
) -> Load {
    let mut clients = JoinSet::new();
    for (kind, count) in kinds {
        for _ in 0..count {
            let visitor = Visitor { address, manners, stop: Arc::clone(&stop), number: 0 };
            clients.spawn(visitor.visit(kind));
        }
    }
    let mut load = Load::default();
    while let Some(ended) = clients.join_next().await {
        match ended {
            Ok(part) => load.add(part),
            Err(error) => load.tally.check(false, || format!("a client gave up: {error}")),
        }
    }
    load
}

/// The state of one client.
struct Visitor {
    address: SocketAddr,
    manners: Manners,
    stop: Arc<AtomicBool>,
    number: u64,
}

impl Visitor {
    async fn visit(mut self, kind: Kind) -> Load {
        let mut load = Load::default();
        while !self.stop.load(Ordering::Relaxed) {
            let client = match Client::try_connect(self.address).await {
                Ok(client) => client,
                Err(error) => {
                    let good = self.manners.until_closed;
                    load.tally.check(good, || format!("{kind:?}: cannot connect: {error}"));
                    return load;
                }
            };
            self.use_up(client, kind, &mut load).await;
        }
        load
    }

    /// Sends requests until the connection, or the time, is over.
    async fn use_up(&mut self, mut client: Client, kind: Kind, load: &mut Load) {
        if kind == Kind::WebSocket && !self.switch(&mut client, load).await {
            return;
        }
        loop {
            let since = Instant::now();
            self.number += 1;
            let answered = match kind {
                Kind::KeepAlive => self.get(&mut client, "").await,
                Kind::Short => self.get(&mut client, "Connection: close\r\n").await,
                Kind::Upload => self.upload(&mut client).await,
                Kind::WebSocket => self.echo(&mut client).await,
            };
            load.took_us.push(since.elapsed().as_micros() as u64);
            let good = answered.is_ok();
            load.tally.request(good, || format!("{kind:?}: {}", answered.clone().unwrap_err()));
            if answered != Ok(true) || self.stop.load(Ordering::Relaxed) {
                return;
            }
            if self.manners.pace > Duration::ZERO {
                tokio::time::sleep(self.manners.pace).await;
            }
        }
    }

    /// Requests `/ok`; returns whether the connection can be used again.
    async fn get(&self, client: &mut Client, more: &str) -> Result<bool, String> {
        let request = format!("GET /ok HTTP/1.1\r\nHost: a\r\n{more}\r\n");
        client.try_send(request).await.map_err(|error| error.to_string())?;
        answered(client.try_read_response_to("GET").await, "ok\n")
    }

    /// Uploads 32 KiB in eight chunks, the last of which must come back.
    async fn upload(&self, client: &mut Client) -> Result<bool, String> {
        let head = "POST /anything HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let filler = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
        let last = format!("upload {:09}", self.number);
        let end = format!("{:x}\r\n{last}\r\n0\r\n\r\n", last.len());
        let mut pieces = vec![head];
        pieces.extend([filler.as_str(); 8]);
        pieces.push(&end);
        for piece in pieces {
            client.try_send(piece).await.map_err(|error| error.to_string())?;
            tokio::task::yield_now().await;
        }
        answered(client.try_read_response_to("POST").await, &last)
    }

    async fn switch(&self, client: &mut Client, load: &mut Load) -> bool {
        let request = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        let sent = client.try_send(request).await;
        let status = match sent {
            Ok(()) => client.read_interim().await.status,
            Err(_) => 0,
        };
        load.tally.request(status == 101, || format!("WebSocket: {status} instead of 101"));
        status == 101
    }

    /// Sends a text message (RFC 6455 section 5.2, masked with zeros) and reads it back.
    async fn echo(&self, client: &mut Client) -> Result<bool, String> {
        let text = format!("message {:09}", self.number);
        let length = text.len() as u8;
        let frame = [&[0x81, 0x80 | length, 0, 0, 0, 0], text.as_bytes()].concat();
        client.try_send(frame).await.map_err(|error| error.to_string())?;
        let back = client.read_exactly(2 + text.len()).await;
        match back == [&[0x81, length], text.as_bytes()].concat() {
            true => Ok(true),
            false => Err(format!("{back:?} came back")),
        }
    }
}

fn answered(got: Result<Response, Cut>, part: &str) -> Result<bool, String> {
    match got {
        Ok(response) if response.status == 200 && response.text().contains(part) => {
            Ok(!response.closes)
        }
        Ok(response) => Err(format!("{response:?}")),
        Err(cut) => Err(cut.to_string()),
    }
}
