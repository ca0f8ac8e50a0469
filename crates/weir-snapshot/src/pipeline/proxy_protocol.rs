//! PROXY protocol headers: from whom a pipeline accepts them, and which it sends.

use std::net::IpAddr;

use ipnet::IpNet;

use super::networks::canonical;

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
        self.from.iter().any(|net| canonical(*net).contains(&peer.to_canonical()))
    }
}

#[cfg(test)]
mod tests {
    use super::ProxyProtocol;

    #[test]
    fn mapped_networks_and_peers_are_ipv4() {
        for from in ["10.0.0.0/8", "::ffff:10.0.0.0/104"] {
            let from = vec![from.parse().expect("a network")];
            let accepts = ProxyProtocol { from, send: None };
            for (peer, expects) in [("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("::1", false)] {
                assert_eq!(accepts.expects(peer.parse().expect("an address")), expects, "{peer}");
            }
        }
    }
}
