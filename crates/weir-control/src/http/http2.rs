//! HTTP/2 connections to servers: one to each, shared by all requests, whose frames are hyper's.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection::{Target, connected, secured, unreachable};
use super::failure::Failure;
use super::reach::Reach;
use super::tls::tls_of_http2;

/// Servers that there are connections to.
const CHANNELS_MAX: usize = 256;
/// Requests on their way to one server; more wait.
const PER_CHANNEL_MAX: usize = 256;
/// How long a connection lies idle.
const IDLE: Duration = Duration::from_secs(60);
/// How long one takes new requests at most, so that a name that leads elsewhere now is looked up
/// again.
const LIFE: Duration = Duration::from_secs(300);

/// Connections by server.
#[derive(Clone, Debug)]
pub(crate) struct Channels {
    state: Arc<Mutex<State>>,
    reach: Reach,
}

#[derive(Debug, Default)]
struct State {
    channels: HashMap<Target, Arc<Channel>>,
    /// A task that closes what lies idle for too long is running.
    is_swept: bool,
}

/// The connection to one server.
#[derive(Debug)]
pub(crate) struct Channel {
    target: Target,
    reach: Reach,
    link: tokio::sync::Mutex<Link>,
    places: Semaphore,
    used: Mutex<Instant>,
}

#[derive(Debug, Default)]
struct Link {
    open: Option<Open>,
    /// When the last attempt to connect failed, and why: whoever waited for it need not repeat it.
    failed: Option<(Instant, Failure)>,
}

/// An open connection. It closes when nobody holds it and its last request has ended.
#[derive(Clone, Debug)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    made: Instant,
    /// How often the server was heard.
    heard: Arc<AtomicU64>,
}

/// A place among the requests of a channel, and its connection.
pub(crate) struct Turn<'c> {
    _place: SemaphorePermit<'c>,
    channel: &'c Channel,
    open: Open,
    heard: u64,
}

impl Channels {
    /// No connections yet; all of them will stay within `reach`.
    pub fn new(reach: Reach) -> Self {
        Self { state: Arc::default(), reach }
    }

    /// The channel to `target`.
    pub fn channel(&self, target: Target) -> Result<Arc<Channel>, Failure> {
        let mut state = self.state();
        if let Some(channel) = state.channels.get(&target) {
            channel.touch();
            return Ok(Arc::clone(channel));
        }
        if state.channels.len() >= CHANNELS_MAX {
            state.sweep(Duration::ZERO);
        }
        if state.channels.len() >= CHANNELS_MAX {
            let why = format!("there are connections to {CHANNELS_MAX} servers already");
            return Err(Failure::Unreachable(why));
        }
        let channel = Arc::new(Channel {
            target: target.clone(),
            reach: self.reach,
            link: tokio::sync::Mutex::default(),
            places: Semaphore::new(PER_CHANNEL_MAX),
            used: Mutex::new(Instant::now()),
        });
        state.channels.insert(target, Arc::clone(&channel));
        if !std::mem::replace(&mut state.is_swept, true) {
            tokio::spawn(self.clone().sweep());
        }
        Ok(channel)
    }

    /// Closes what has been idle for too long, until nothing is left.
    async fn sweep(self) {
        loop {
            tokio::time::sleep(IDLE / 4).await;
            let mut state = self.state();
            state.sweep(IDLE);
            if state.channels.is_empty() {
                state.is_swept = false;
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets channels that nobody has used for `idle`.
    fn sweep(&mut self, idle: Duration) {
        self.channels
            .retain(|_, channel| Arc::strong_count(channel) > 1 || channel.used().elapsed() < idle);
    }
}

impl Channel {
    /// Waits for a place among the requests, and for the connection, which may take `timeout`.
    pub async fn turn(&self, timeout: Duration) -> Result<Turn<'_>, Failure> {
        let place = self.places.acquire().await.map_err(|error| unreachable(&error))?;
        let open = self.open(timeout, None).await?;
        let heard = open.heard.load(Ordering::Relaxed);
        Ok(Turn { _place: place, channel: self, open, heard })
    }

    /// The open connection, or a new one in place of `stale`.
    async fn open(&self, timeout: Duration, stale: Option<&Open>) -> Result<Open, Failure> {
        let asked = Instant::now();
        let mut link = self.link.lock().await;
        let usable = link.open.as_ref().filter(|open| {
            let is_stale = stale.is_some_and(|stale| Arc::ptr_eq(&stale.heard, &open.heard));
            !is_stale && !open.sender.is_closed() && open.made.elapsed() < LIFE
        });
        if let Some(open) = usable {
            return Ok(open.clone());
        }
        link.open = None;
        if let Some((_, why)) = link.failed.as_ref().filter(|(at, _)| *at >= asked) {
            return Err(why.clone());
        }
        let made = tokio::time::timeout(timeout, self.connect(timeout)).await;
        match made.unwrap_or(Err(Failure::TimedOut(timeout))) {
            Ok(open) => {
                link.open = Some(open.clone());
                Ok(open)
            }
            Err(why) => {
                link.failed = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    async fn connect(&self, timeout: Duration) -> Result<Open, Failure> {
        let stream = connected(&self.target, timeout, Some(self.reach)).await?;
        if !self.target.is_secure {
            return handshake(stream).await;
        }
        let connector = tls_of_http2().map_err(Failure::Unreachable)?;
        let stream = secured(&self.target, stream, connector).await?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            let why = "it does not offer HTTP/2 (`h2` by ALPN)".to_owned();
            return Err(Failure::Unreachable(why));
        }
        handshake(stream).await
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<Open, Failure> {
    let made = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = made.map_err(|error| unreachable(&told(&error)))?;
    // Ends when nobody holds a sender any more and the last request has ended.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("a connection by HTTP/2 ended: {error}");
        }
    });
    Ok(Open { sender, made: Instant::now(), heard: Arc::default() })
}

/// What went wrong with a connection, down to the frame that says so.
pub(crate) fn told(error: &hyper::Error) -> String {
    let reason = std::error::Error::source(error);
    reason.map_or_else(|| error.to_string(), |reason| format!("{error}: {reason}"))
}

impl Turn<'_> {
    /// Sends a request. One that the connection did not take goes over a new one.
    pub async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        timeout: Duration,
    ) -> Result<Response<Incoming>, Failure> {
        let response = match self.open.sender.try_send_request(request).await {
            Ok(response) => response,
            Err(mut error) => {
                let Some(unsent) = error.take_message() else {
                    return Err(Failure::Nonsense(told(error.error())));
                };
                self.open = self.channel.open(timeout, Some(&self.open)).await?;
                let again = self.open.sender.send_request(unsent).await;
                again.map_err(|error| Failure::Nonsense(told(&error)))?
            }
        };
        self.open.heard.fetch_add(1, Ordering::Relaxed);
        Ok(response)
    }

    /// Has later requests take another connection, if the server was not heard on this one since
    /// this turn began.
    pub async fn give_up(&self) {
        if self.open.heard.load(Ordering::Relaxed) != self.heard {
            return;
        }
        let mut link = self.channel.link.lock().await;
        if link.open.as_ref().is_some_and(|open| Arc::ptr_eq(&open.heard, &self.open.heard)) {
            link.open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::{Channels, Failure, Reach, Target};

    #[tokio::test]
    async fn the_admin_api_is_no_server_by_any_of_its_names() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let admin = listener.local_addr().expect("an address");
        let reach = Reach { admin: Some(admin), metadata: true };
        for name in ["127.0.0.1", "localhost", "0.0.0.0", "::ffff:127.0.0.1"] {
            let target = Target { is_secure: false, name: name.to_owned(), port: admin.port() };
            let channel = Channels::new(reach).channel(target).expect("a channel");
            let failed = channel.turn(Duration::from_secs(9)).await.err();
            // `localhost` may be `::1` as well, where nobody listens.
            let is_away = name == "localhost" && matches!(failed, Some(Failure::Unreachable(_)));
            assert!(
                matches!(failed, Some(Failure::OutOfReach(_))) || is_away,
                "{name}: {failed:?}"
            );
        }
    }
}
