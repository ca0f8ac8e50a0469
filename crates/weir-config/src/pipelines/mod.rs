//! Pipelines: a listener, a protocol, upstreams and limits (`weir.pipelines`, and ini files).

mod fields;
mod http;
mod read;
mod socks;
mod upstreams;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use weir_balance::Group;
use weir_limit::Valve;

use crate::snapshot::Snapshot;

pub(crate) use read::pipelines;
pub use socks::{AddressRule, SocksRules};

/// One pipeline: data that a worker serves connections by.
#[derive(Debug)]
pub struct Pipeline {
    /// Its name.
    pub id: String,
    /// Where it listens.
    pub listen: Vec<SocketAddr>,
    /// What it speaks.
    pub protocol: Protocol,
    /// Where connections go.
    pub upstream: Arc<Group>,
    /// By what new connections are paced.
    pub limit: Option<PipelineLimit>,
    /// How long what may take.
    pub timeouts: PipelineTimeouts,
    /// How upstreams are looked at, if they are.
    pub check: Option<HealthCheck>,
}

impl Pipeline {
    /// Its upstreams.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        std::iter::once(&self.upstream)
    }
}

/// What a pipeline speaks.
#[derive(Debug)]
pub enum Protocol {
    /// Bytes, whatever they mean.
    Tcp,
    /// HTTP/1, with a route table of one route.
    Http(Arc<Snapshot>),
    /// SOCKS 4, 4a and 5: clients say where to connect to.
    Socks(SocksRules),
}

impl Protocol {
    /// Name in the configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Http(_) => "http",
            Self::Socks(_) => "socks",
        }
    }
}

/// A limit that a pipeline goes through.
#[derive(Clone, Debug)]
pub struct PipelineLimit {
    /// The limit.
    pub valve: Arc<Valve>,
    /// Each client address counts for itself.
    pub by_ip: bool,
}

/// How long what may take in a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineTimeouts {
    /// One try to connect to an upstream.
    pub connect: Duration,
    /// Until a client has said what it wants.
    pub hello: Duration,
    /// Without a byte in either direction; zero is no bound.
    pub idle: Duration,
    /// A connection as a whole; zero is no bound.
    pub max: Duration,
}

impl Default for PipelineTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            hello: Duration::from_secs(10),
            idle: Duration::from_secs(600),
            max: Duration::ZERO,
        }
    }
}

/// How upstreams are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// Time between two looks.
    pub interval: Duration,
    /// How long one may take.
    pub timeout: Duration,
    /// What is sent; a connection alone if empty.
    pub send: Vec<u8>,
    /// What must come; anything, or nothing, if empty.
    pub expect: Vec<u8>,
    /// So many good looks in a row bring one back.
    pub rise: u32,
    /// So many bad ones take one out.
    pub fall: u32,
}
