//! Pipelines: a listener, a protocol, upstreams and limits.

mod frame;
mod proxy_protocol;
mod routes;
mod socks;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use weir_balance::Group;
use weir_limit::Valve;

use crate::snapshot::Snapshot;

pub use frame::FrameSettings;
pub use proxy_protocol::{ProxyProtocol, ProxyVersion};
pub use routes::{Fits, Pattern, PipelineRoute};
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
    /// Where connections go that no route fits.
    pub upstream: Arc<Group>,
    /// Other ways out.
    pub routes: Vec<PipelineRoute>,
    /// Whether it takes and sends PROXY headers.
    pub proxy_protocol: ProxyProtocol,
    /// By what new connections or messages are paced; of one that speaks HTTP a filter does it.
    pub limit: Option<PipelineLimit>,
    /// Name of the limit, whoever applies it.
    pub limit_name: Option<String>,
    /// How long what may take.
    pub timeouts: PipelineTimeouts,
    /// How upstreams are looked at, if they are.
    pub check: Option<HealthCheck>,
}

impl Pipeline {
    /// Its upstreams, by the ways that lead there.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        std::iter::once(&self.upstream).chain(self.routes.iter().map(|route| &route.upstream))
    }

    /// The way for a call of this service, method, version and group; empty if there is none. Which
    /// method it is does not count for `$echo`, by which consumers ask whether a service is there.
    pub fn way_of_call(&self, call: [&str; 4]) -> &Arc<Group> {
        let route = self.routes.iter().find(|route| match &route.fits {
            Fits::Call { service, method, version, group } => {
                let [_, called, ..] = call;
                let method = if called == "$echo" { &None } else { method };
                let patterns = [service, method, version, group];
                patterns.iter().zip(call).all(|(pattern, text)| {
                    pattern.as_ref().is_none_or(|pattern| pattern.fits(text))
                })
            }
            Fits::Hello { .. } => false,
        });
        route.map_or(&self.upstream, |route| &route.upstream)
    }

    /// The way for a client that asks for the server `name` and offers to speak `protocols`; empty
    /// if there is none.
    pub fn way_of_hello(&self, name: Option<&str>, protocols: &[&[u8]]) -> &Arc<Group> {
        let route = self.routes.iter().find(|route| match &route.fits {
            Fits::Hello { sni, alpn } => {
                let name = name.unwrap_or_default();
                let offers = |wanted: &String| protocols.contains(&wanted.as_bytes());
                (sni.is_empty() || sni.iter().any(|pattern| pattern.fits(name)))
                    && (alpn.is_empty() || alpn.iter().any(offers))
            }
            Fits::Call { .. } => false,
        });
        route.map_or(&self.upstream, |route| &route.upstream)
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
    /// Messages of a fixed length, or with their length in front.
    Frame(FrameSettings),
    /// Dubbo2 calls, whose bodies have so many bytes at most.
    Dubbo(usize),
}

impl Protocol {
    /// Name in the configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Http(_) => "http",
            Self::Socks(_) => "socks",
            Self::Frame(_) => "frame",
            Self::Dubbo(_) => "dubbo",
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
