//! The setup of a proxy, and the processes started for it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use crate::client::probe;
use crate::shapes::Shape;

/// The setup of a proxy.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The address of the upstream.
    pub upstream: SocketAddr,
    /// The address to listen on (Spring Cloud Gateway only); a free port if absent.
    pub address: Option<SocketAddr>,
    /// Number of routes: `/0`, `/1`, … each with an added header of its own and a prefix.
    pub routes: u64,
    /// Whether nginx and HAProxy have as many routes; otherwise one catch-all route.
    pub peers_have_all: bool,
    /// Cores to run on; all of them if empty.
    pub cores: Vec<usize>,
    /// Settings for weir only.
    pub weir: Weir,
    /// The request whose answer shows that the proxy is ready; the last route's if absent.
    pub asked: Option<probe::Asked>,
    /// The time limit for the start.
    pub patience: Duration,
}

/// Settings for weir only.
#[derive(Clone, Debug)]
pub struct Weir {
    /// The program, if not the one built here.
    pub program: Option<PathBuf>,
    /// Threads that serve; `None` leaves weir's default.
    pub workers: Option<usize>,
    /// Further properties as `key=value`.
    pub properties: Vec<String>,
    /// Whether it has an admin API, through which routes can be changed.
    pub admin: bool,
    /// The shape of the route table.
    pub shape: Shape,
    /// Lines of YAML below `routes:`, instead of those of `shape`.
    pub routes: Option<String>,
}

impl Default for Weir {
    fn default() -> Self {
        Self {
            program: None,
            workers: Some(1),
            properties: Vec::new(),
            admin: false,
            shape: Shape::Exact,
            routes: None,
        }
    }
}

/// The command, the ports and the files of one proxy.
pub(super) struct Start {
    pub(super) command: Vec<String>,
    pub(super) address: SocketAddr,
    pub(super) admin: Option<SocketAddr>,
    pub(super) config: PathBuf,
}

/// An address of 127.0.0.1 whose port is free now.
///
/// # Errors
/// There is none.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
