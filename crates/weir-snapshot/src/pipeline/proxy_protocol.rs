//! Whether a pipeline takes and sends PROXY headers.

use std::net::IpAddr;

use ipnet::IpNet;

/// PROXY headers of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// Peers that send one in front, all of them and nobody else; none if nobody does.
    pub from: Vec<IpNet>,
    /// What upstreams get.
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
    /// Whether what comes from `peer` starts with a header.
    pub fn expects(&self, peer: IpAddr) -> bool {
        self.from.iter().any(|net| net.contains(&peer.to_canonical()))
    }
}
