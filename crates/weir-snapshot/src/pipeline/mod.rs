//! What a [`Pipeline`](crate::Pipeline) consists of: routes, limits, rules of its protocol.

mod dubbo;
mod frame;
mod proxy_protocol;
mod routes;
mod socks;
mod ways;

use std::sync::Arc;
use std::time::Duration;

use weir_limit::Valve;

pub use dubbo::{DubboSettings, Sharing};
pub use frame::FrameSettings;
pub use proxy_protocol::{ProxyProtocol, ProxyVersion};
pub use routes::{Fits, Pattern, PipelineRoute};
pub use socks::{AddressRule, SocksRules};

/// A limit that a pipeline goes through.
#[derive(Clone, Debug)]
pub struct PipelineLimit {
    /// The limit.
    pub valve: Arc<Valve>,
    /// Each client address counts for itself.
    pub by_ip: bool,
    /// What a connection or message takes of the rate.
    pub cost: u64,
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
