//! The measured proxies.

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    /// No proxy: the client asks the upstream.
    Direct,
    /// The bare TCP forwarder of this repository, on epoll itself: the floor.
    Forwarder,
    /// The one with tokio's `copy_bidirectional`: what the goal for keep-alive requests is set by.
    Copier,
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
    /// weir.
    Weir,
    /// Spring Cloud Gateway.
    Scg,
}

impl Peer {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Forwarder => "bare forwarder",
            Self::Copier => "tokio forwarder",
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Weir => "weir",
            Self::Scg => "SCG 5.0.3",
        }
    }

    /// Whether it has routes: the others forward every request.
    pub fn has_routes(self) -> bool {
        match self {
            Self::Direct | Self::Forwarder | Self::Copier => false,
            Self::Nginx | Self::Haproxy | Self::Weir | Self::Scg => true,
        }
    }
}
