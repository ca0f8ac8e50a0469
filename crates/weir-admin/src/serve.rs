//! The admin thread: listeners, connections, graceful shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::endpoint::{Peer, router};
use crate::site::Site;
use crate::write_timeout::Patience;

/// A request head must be complete within this time; an idle connection ends after it too.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// A client that reads an answer must go on reading within this time.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Memory for the head of a request.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Requests in flight get this long when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Wait after a failed accept, so that a lack of file descriptors does not become a spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The running admin API. Dropping it stops it.
pub struct Server {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves each site on its listener, all on one thread of their own.
    ///
    /// # Errors
    /// The system gives no thread, or a listener cannot be used.
    pub fn start(sites: Vec<(TcpListener, Arc<Site>)>) -> io::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .thread_name("weir-admin-io")
            .build()?;
        let mut listening = Vec::new();
        {
            let _context = runtime.enter();
            for (listener, site) in sites {
                listener.set_nonblocking(true)?;
                listening.push((tokio::net::TcpListener::from_std(listener)?, site));
            }
        }
        let work = move || {
            weir_server::yield_to_traffic();
            runtime.block_on(async move {
                let mut running = JoinSet::new();
                for (listener, site) in listening {
                    running.spawn(accept(listener, site, stopped.clone()));
                }
                while running.join_next().await.is_some() {}
            });
            // Lists that are still being streamed must not delay the shutdown.
            runtime.shutdown_timeout(STOP_TIMEOUT);
        };
        let thread = std::thread::Builder::new().name("weir-admin".into()).spawn(work)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Stops accepting, lets requests in flight end, and returns when they have.
    pub fn stop(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic on the thread has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.finish();
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    site: Arc<Site>,
    mut stopped: watch::Receiver<bool>,
) {
    let slots = Arc::new(Semaphore::new(site.options.limits.connections_max));
    let service = router(&site);
    let mut connections = JoinSet::new();
    loop {
        let slot = Arc::clone(&slots).acquire_owned();
        let next = async {
            let slot = slot.await;
            (listener.accept().await, slot)
        };
        let (accepted, slot) = tokio::select! {
            _ = stopped.changed() => break,
            accepted = next => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, peer)) => {
                let service = TowerToHyperService::new(service.clone());
                let stopped = stopped.clone();
                connections.spawn(async move {
                    let _slot = slot;
                    converse(stream, peer, service, stopped).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the admin port cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(STOP_TIMEOUT, all).await;
}

type Routes = TowerToHyperService<axum::Router>;

async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    routes: Routes,
    mut stopped: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<_>| {
        request.extensions_mut().insert(Peer(peer.ip()));
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Patience::new(stream, WRITE_TIMEOUT)), service);
    let mut connection = std::pin::pin!(connection);
    // Errors here are the peer's: it went away, or did not speak HTTP.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
