//! An upstream that records the requests it receives and answers by script.

use std::collections::VecDeque;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use weir_wire::RequestHead;
use weir_wire::http1::{
    BodyDecoder, BodyError, BodyKind, Connection, HeadLimits, Parsed, parse_request,
};

use crate::answer::{Answer, Step};
use crate::patiently;
use crate::received::{Body, Received, latin1};

/// A recording upstream on 127.0.0.1. Stops when dropped.
pub struct Origin {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    seen: Mutex<Seen>,
    changed: watch::Sender<()>,
}

struct Seen {
    requests: Vec<Received>,
    accepted: usize,
    open: usize,
    script: Script,
}

type Script = Box<dyn FnMut(&Received) -> Answer + Send>;

impl Origin {
    /// An origin that answers everything with [`Answer::ok`].
    pub async fn start() -> Self {
        Self::answering(|_| Answer::ok()).await
    }

    /// An origin that sends these answers in order, then [`Answer::ok`].
    pub async fn with(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<_> = answers.into_iter().collect();
        Self::answering(move |_| answers.pop_front().unwrap_or_else(Answer::ok)).await
    }

    /// An origin that calls `script` for each answer, once the head of a request is complete (its
    /// body may not be: see [`Answer::made`]).
    pub async fn answering(script: impl FnMut(&Received) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let script = Box::new(script);
        let seen = Seen { requests: Vec::new(), accepted: 0, open: 0, script };
        let shared = Arc::new(Shared { seen: Mutex::new(seen), changed: watch::Sender::new(()) });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URI without path.
    pub fn uri(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, in the order their heads came.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.seen().requests.clone()
    }

    /// The only request so far.
    ///
    /// # Panics
    /// If there are none or more.
    pub fn only_request(&self) -> Received {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "one request expected: {requests:#?}");
        requests.remove(0)
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.seen().accepted
    }

    /// Connections open now.
    pub fn open_connections(&self) -> usize {
        self.shared.seen().open
    }

    /// Waits until `count` requests are recorded to the end of their bodies, however that came.
    ///
    /// # Panics
    /// If they are not within [`crate::PATIENCE`].
    pub async fn wait_for_requests(&self, count: usize) -> Vec<Received> {
        self.wait_until(|origin| {
            let requests = origin.requests();
            requests.iter().filter(|request| request.body_state != Body::Reading).count() >= count
        })
        .await;
        self.requests()
    }

    /// Waits until `open` connections are open.
    ///
    /// # Panics
    /// If they are not within [`crate::PATIENCE`].
    pub async fn wait_for_open(&self, open: usize) {
        self.wait_until(|origin| origin.open_connections() == open).await;
    }

    /// Waits until `holds` is true of what has been recorded.
    ///
    /// # Panics
    /// If it is not within [`crate::PATIENCE`].
    pub async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        let mut changed = self.shared.changed.subscribe();
        let done = async {
            while !holds(self) {
                // The sender lives as long as `self`.
                let _ = changed.changed().await;
            }
        };
        if patiently(done, "an origin").await.is_none() {
            panic!("waited in vain: {self:#?}");
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("address", &self.address)
            .field("connections", &self.connections())
            .field("open_connections", &self.open_connections())
            .field("requests", &self.requests())
            .finish()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let result = change(&mut self.seen());
        self.changed.send_replace(());
        result
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and every connection with it.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = shared.change(|seen| {
            seen.open += 1;
            seen.accepted += 1;
            seen.accepted - 1
        });
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let _ = stream.set_nodelay(true);
            let open = OpenConnection(Arc::clone(&shared));
            let mut exchange = Exchange::new(stream, shared, number);
            while exchange.serve().await {}
            // The socket is closed before the count: a count of 0 means that all are closed.
            drop(exchange);
            drop(open);
        });
    }
}

/// Counts its connection as open while it lives.
struct OpenConnection(Arc<Shared>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.change(|seen| seen.open -= 1);
    }
}

/// One connection and the request it is at.
struct Exchange {
    stream: TcpStream,
    shared: Arc<Shared>,
    connection: usize,
    received: Vec<u8>,
    request: usize,
    decoder: BodyDecoder,
}

/// Bytes an origin reads ahead at most while its answer waits at a gate.
const READ_AHEAD_MAX: usize = 1024 * 1024;

impl Exchange {
    fn new(stream: TcpStream, shared: Arc<Shared>, connection: usize) -> Self {
        let decoder = BodyDecoder::new(BodyKind::None);
        Self { stream, shared, connection, received: Vec::new(), request: 0, decoder }
    }

    /// Serves one request; returns whether the connection can carry another.
    async fn serve(&mut self) -> bool {
        let Some((answer, keep_alive)) = self.read_head().await else { return false };
        if !answer.early && !self.read_body().await {
            return false;
        }
        for step in answer.steps {
            if !self.play(step).await {
                return false;
            }
        }
        self.read_body().await && keep_alive
    }

    /// The answer to the next request, and whether the connection stays open after it.
    async fn read_head(&mut self) -> Option<(Answer, bool)> {
        let limits =
            HeadLimits { target_bytes_max: 1 << 20, fields_max: 256, head_bytes_max: 1 << 22 };
        let mut head = RequestHead::default();
        loop {
            match parse_request(&self.received, &mut head, &limits) {
                Ok(Parsed::Complete { consumed, framing }) => {
                    self.decoder.restart(framing.body);
                    let raw_head = self.received.drain(..consumed).collect();
                    let state = if self.decoder.is_done() { Body::Complete } else { Body::Reading };
                    let answer = self.record(raw_head, state);
                    return Some((answer, framing.connection == Connection::KeepAlive));
                }
                Ok(Parsed::Partial) if self.read().await => {}
                Ok(Parsed::Partial) if self.received.is_empty() => return None,
                Ok(Parsed::Partial) => {
                    let raw_head = std::mem::take(&mut self.received);
                    self.record(raw_head, Body::Cut);
                    return None;
                }
                Err(error) => {
                    eprintln!("an origin got a head that is not valid: {error:?}");
                    let raw_head = std::mem::take(&mut self.received);
                    self.record(raw_head, Body::Malformed);
                    return None;
                }
            }
        }
    }

    /// Records a request and calls the script for its answer.
    fn record(&mut self, raw_head: Vec<u8>, body_state: Body) -> Answer {
        let connection = self.connection;
        let request = Received {
            connection,
            raw_head,
            body: Vec::new(),
            body_bytes: 0,
            trailers: Vec::new(),
            body_state,
            abandoned: false,
        };
        let (at, answer) = self.shared.change(|seen| {
            let complete = matches!(request.body_state, Body::Complete | Body::Reading);
            let answer = if complete { (seen.script)(&request) } else { Answer::nothing() };
            seen.requests.push(request);
            (seen.requests.len() - 1, answer)
        });
        self.request = at;
        answer
    }

    /// Reads the body to its end; returns whether it was valid.
    async fn read_body(&mut self) -> bool {
        while !self.decoder.is_done() {
            match self.decoder.step(&self.received) {
                Ok(step) => {
                    let content = self.received.get(step.content.0..step.content.1);
                    let content = content.unwrap_or_default().to_vec();
                    self.received.drain(..step.consumed);
                    self.note_body(&content, step.done);
                    if step.consumed == 0 && !step.done && !self.read().await {
                        self.end_body(BodyError::Truncated);
                        return false;
                    }
                }
                Err(error) => {
                    self.end_body(error);
                    return false;
                }
            }
        }
        true
    }

    fn note_body(&self, content: &[u8], done: bool) {
        let text = |(name, value): (&[u8], &[u8])| (latin1(name), latin1(value));
        self.edit(|request| {
            request.body_bytes += content.len() as u64;
            if request.body.len() + content.len() <= Received::BODY_KEPT_MAX {
                request.body.extend_from_slice(content);
            }
            if done {
                request.trailers = self.decoder.trailers().iter().map(text).collect();
                request.body_state = Body::Complete;
            }
        });
    }

    fn end_body(&self, error: BodyError) {
        let truncated = error == BodyError::Truncated;
        self.edit(|request| {
            request.body_state = if truncated { Body::Cut } else { Body::Malformed };
        });
    }

    fn edit(&self, edit: impl FnOnce(&mut Received)) {
        self.shared.change(|seen| seen.requests.get_mut(self.request).map(edit));
    }

    /// Runs one step; returns whether the connection is still usable.
    async fn play(&mut self, step: Step) -> bool {
        match step {
            Step::Write { bytes, piece } => {
                for piece in bytes.chunks(piece) {
                    if !self.write(piece).await {
                        return false;
                    }
                }
                true
            }
            Step::Repeat { bytes, times } => {
                for _ in 0..times {
                    if !self.write(&bytes).await {
                        return false;
                    }
                }
                true
            }
            Step::Make(make) => {
                let request = self.shared.seen().requests.get(self.request).cloned();
                let bytes = request.map(|request| make(&request)).unwrap_or_default();
                self.write(&bytes).await
            }
            Step::ReadBody => self.read_body().await,
            Step::Pause(gate) => {
                gate.arrive();
                loop {
                    let room = self.received.len() < READ_AHEAD_MAX;
                    tokio::select! {
                        () = gate.pass() => return true,
                        good = self.read(), if room => if !good {
                            self.edit(|request| request.abandoned = true);
                            return false;
                        }
                    }
                }
            }
            Step::Rest(time) => {
                tokio::time::sleep(time).await;
                true
            }
            Step::Close => {
                let _ = self.stream.shutdown().await;
                false
            }
            Step::Reset => {
                let _ = self.stream.set_zero_linger();
                false
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> bool {
        let good = self.stream.write_all(bytes).await.is_ok();
        if !good {
            self.edit(|request| request.abandoned = true);
        }
        good
    }

    /// Reads some bytes; returns whether the connection is still usable.
    async fn read(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.received).await, Ok(1..))
    }
}
