//! Parts of a [`Pipeline`](crate::Pipeline): routes, limits, protocol rules.

mod dubbo;
mod frame;
mod likeness;
mod network;
mod proxy_protocol;
mod routes;
mod socks;
mod ways;

use std::sync::Arc;
use std::time::Duration;

use weir_limit::Valve;

pub use dubbo::{DubboSettings, Sharing};
pub use frame::FrameSettings;
pub use network::network;
pub use proxy_protocol::{ProxyProtocol, ProxyVersion};
pub use routes::{Fits, Pattern, PipelineRoute};
pub use socks::{AddressRule, SocksRules};

/// The limit of a pipeline.
#[derive(Clone, Debug)]
pub struct PipelineLimit {
    /// The limit.
    pub valve: Arc<Valve>,
    /// Each client address has its own count.
    pub by_ip: bool,
    /// Cost of a connection or message.
    pub cost: u64,
}

/// Timeouts of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineTimeouts {
    /// One attempt to connect to an upstream.
    pub connect: Duration,
    /// Time that a client has for its opening bytes: handshake, PROXY header, TLS hello.
    pub hello: Duration,
    /// Time without a byte in either direction; zero means no limit.
    pub idle: Duration,
    /// Lifetime of a connection; zero means no limit.
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

/// Health check of upstreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// Time between two checks.
    pub interval: Duration,
    /// Timeout of a check.
    pub timeout: Duration,
    /// Bytes to send; if empty, the check only connects.
    pub send: Vec<u8>,
    /// Bytes that the answer must contain; if empty, the check does not wait for one.
    pub expect: Vec<u8>,
    /// Consecutive successes after which an upstream is used again.
    pub rise: u32,
    /// Consecutive failures after which an upstream is no longer used.
    pub fall: u32,
}
