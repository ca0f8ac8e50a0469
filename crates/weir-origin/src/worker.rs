//! A thread that accepts connections and serves them.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::endpoint;
use crate::shared::Shared;

/// The pause after a failed accept: the usual cause is a lack of file descriptors, and an immediate
/// retry would waste the CPU that others need.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Listeners, each at an address of its own, and the runtime that serves them.
pub(crate) struct Worker {
    listeners: Vec<TcpListener>,
    runtime: Runtime,
    shared: Shared,
    stop: watch::Receiver<bool>,
}

/// Listens on `address`, which our other workers may listen on as well.
pub(crate) fn listen(address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = socket(address)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

/// Checks that `address` is free. With port sharing, a process that already uses it would go
/// unnoticed, and each would get a part of the requests.
pub(crate) fn check_free(address: SocketAddr) -> io::Result<()> {
    socket(address)?.bind(&address.into())
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

impl Worker {
    pub(crate) fn new(
        listeners: Vec<TcpListener>,
        shared: Shared,
        stop: watch::Receiver<bool>,
    ) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { listeners, runtime, shared, stop })
    }

    /// Serves until stopped, then drops requests in flight.
    pub(crate) fn run(self) {
        let Self { listeners, runtime, shared, mut stop } = self;
        let tasks = LocalSet::new();
        let shared = Rc::new(shared);
        tasks.block_on(&runtime, async {
            for listener in listeners {
                let shared = Rc::clone(&shared);
                tokio::task::spawn_local(async {
                    let Err(error) = accept(listener, shared).await;
                    tracing::error!(%error, "an origin's worker cannot accept");
                });
            }
            // An error means that whoever could stop this has gone.
            let _ = stop.wait_for(|stop| *stop).await;
        });
    }
}

async fn accept(listener: TcpListener, shared: Rc<Shared>) -> io::Result<Infallible> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                tokio::task::spawn_local(serve(stream, peer, Rc::clone(&shared)));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, shared: Rc<Shared>) {
    let counters = Arc::clone(&shared.counters);
    let _open = counters.connection();
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Rc::clone(&shared);
        async move {
            shared.counters.request();
            if !shared.access_log {
                return Ok::<_, Infallible>(endpoint::answer(request, peer, &shared).await);
            }
            let begun = Instant::now();
            let (method, uri) = (request.method().clone(), request.uri().clone());
            let response = endpoint::answer(request, peer, &shared).await;
            let (status, took_us) = (response.status().as_u16(), begun.elapsed().as_micros());
            let took_us = u64::try_from(took_us).unwrap_or(u64::MAX);
            tracing::info!(target: "weir_origin::access", %peer, %method, %uri, status, took_us);
            Ok(response)
        }
    });
    // One write for head and body: small answers are the rule here.
    let mut http = http1::Builder::new();
    http.writev(false);
    // Errors on a connection concern its client only.
    let _ = http.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}
