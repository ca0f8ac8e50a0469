//! Upstreams for tests, demonstrations and experiments.
//!
//! One server for all of them: a constant answer as cheap as it gets (`/ok`), answers after a delay
//! with threads that really block or without (`/hello/{ms}`), reflections of the request
//! (`/anything`), streams, events, WebSocket echo. It speaks HTTP through `hyper`, not through
//! `weir-wire`, so that it never agrees with a mistake of the gateway's own parser. `weir origin`
//! and the benchmarks call [`serve`].

mod endpoint;
mod payload;
mod pool;
mod reflection;
mod shared;
mod stats;
mod websocket;
mod worker;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

pub use stats::Stats;

use pool::Pool;
use shared::Shared;
use stats::Counters;
use worker::Worker;

/// The settings of an origin.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; port 0 picks a free one.
    pub address: SocketAddr,
    /// Further addresses to listen on, at the same port: many instances in one process.
    pub also: Vec<IpAddr>,
    /// Threads that accept and serve connections, each with its own listener (`SO_REUSEPORT`).
    pub workers: usize,
    /// `/hello` and `/delay` occupy a thread each while they wait, as a servlet container does.
    pub blocking: bool,
    /// The maximum number of such threads. They are started when needed.
    pub threads: usize,
    /// The maximum number of requests that wait for such a thread; further ones are answered with
    /// 503.
    pub queue: usize,
    /// Connections the kernel may hold that have not been accepted yet; it caps this at
    /// `net.core.somaxconn`.
    pub backlog: i32,
    /// Logs each request with `tracing` (target `weir_origin::access`).
    pub access_log: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 9999)),
            also: Vec::new(),
            workers: 1,
            blocking: false,
            threads: 200,
            queue: 10_000,
            backlog: 65_535,
            access_log: false,
        }
    }
}

/// A running origin. Stops when dropped; requests in flight are aborted.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shared: Shared,
    stop: watch::Sender<bool>,
    workers: Vec<JoinHandle<()>>,
}

impl Running {
    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections, requests and threads now and so far.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Waits until all workers have ended, which they do not by themselves.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        for worker in self.workers.drain(..) {
            // A worker that panicked has already printed its message.
            let _ = worker.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(pool) = &self.shared.pool {
            pool.close();
        }
        self.join();
    }
}

/// Listens, then serves in threads of its own until the result is dropped.
///
/// # Errors
/// The address cannot be listened on, or a thread cannot be started.
pub fn serve(options: Options) -> io::Result<Running> {
    let pool = options.blocking.then(|| Arc::new(Pool::new(options.threads, options.queue)));
    let counters = Arc::new(Counters::default());
    let shared = Shared { counters, pool, access_log: options.access_log };
    let stop = watch::Sender::new(false);
    let mut running = Running { address: options.address, shared, stop, workers: Vec::new() };
    if options.address.port() != 0 {
        worker::check_free(options.address)?;
    }
    let mut listeners: Vec<Vec<TcpListener>> = Vec::new();
    for _ in 0..options.workers.max(1) {
        let first = worker::listen(running.address, options.backlog)?;
        running.address = first.local_addr()?;
        let mut own = vec![first];
        for ip in &options.also {
            let address = SocketAddr::new(*ip, running.address.port());
            own.push(worker::listen(address, options.backlog)?);
        }
        listeners.push(own);
    }
    for (number, own) in listeners.into_iter().enumerate() {
        let worker = Worker::new(own, running.shared.clone(), running.stop.subscribe())?;
        let name = format!("origin-{number}");
        running.workers.push(std::thread::Builder::new().name(name).spawn(|| worker.run())?);
    }
    Ok(running)
}
