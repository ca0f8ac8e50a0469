//! PROXY protocol headers: from whom a pipeline accepts them, and which it sends.

use std::net::IpAddr;

use ipnet::IpNet;

/// PROXY headers of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// Peers whose connections start with a header; no other peer may send one.
    pub from: Vec<IpNet>,
    /// Version of the header sent to upstreams.
    pub send: Option<ProxyVersion>,
}

/// Version of a PROXY header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

impl ProxyProtocol {
    /// Whether a connection from `peer` starts with a header.
    pub fn expects(&self, peer: IpAddr) -> bool {
        self.from.iter().any(|net| net.contains(&peer.to_canonical()))
    }
}
