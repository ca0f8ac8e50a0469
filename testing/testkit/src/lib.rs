//! Test parts: a recording origin, a raw client, a gateway under test.
//!
//! Everything listens on port 0 of 127.0.0.1, waits on conditions and never sleeps. A wait that
//! exceeds [`PATIENCE`] panics and reports the observations so far.

mod answer;
mod client;
mod dice;
pub mod differential;
mod gate;
mod gateway;
pub mod judge;
mod mutation;
mod origin;
mod received;
mod redis;
pub mod tree;
pub mod wire;

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

pub use answer::Answer;
pub use client::{Client, Cut, Response};
pub use dice::Dice;
pub use gate::Gate;
pub use gateway::{Gateway, spawn_weir};
pub use mutation::mutate;
pub use origin::Origin;
pub use received::{Body, Received};
pub use redis::Redis;

/// The time limit for every wait: far longer than needed, so that it ends hung tests only.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// An address on which nothing listens: connecting is refused.
pub fn closed_port() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
}

/// `127.0.0.1`, and `::1` where there is IPv6, as in a container there need not be.
pub fn loopbacks() -> Vec<IpAddr> {
    let all = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let here = |address: &IpAddr| address.is_ipv4() || TcpListener::bind((*address, 0)).is_ok();
    all.into_iter().filter(here).collect()
}

/// Awaits `done`, or panics with the text of `seen` after [`PATIENCE`].
async fn patiently<T>(done: impl Future<Output = T>, what: &str) -> Option<T> {
    let result = tokio::time::timeout(PATIENCE, done).await.ok();
    if result.is_none() {
        eprintln!("gave up after {PATIENCE:?} waiting for {what}");
    }
    result
}
