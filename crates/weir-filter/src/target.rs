//! Targets of requests.

use std::hash::{Hash, Hasher};

use weir_wire::FieldLine;

/// Schemes of upstreams that the data plane supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`, and `ws` (an upgrade is an HTTP/1.1 exchange).
    Http,
    /// `https` and `wss`.
    Https,
    /// `lb`: the host is the name of a service with instances.
    Lb,
}

/// The target of a request, set by the route and overridden by SetRequestUri and
/// RequestHeaderToRequestUri. Path and query are in the request head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Scheme.
    pub scheme: Scheme,
    /// Host name or address literal (IPv6 in brackets), lower case.
    pub host: String,
    /// Port; the scheme's default if none is written.
    pub port: u16,
    /// The line `Host: host[:port] CRLF`, stored ready to send.
    host_line: Box<str>,
}

impl Hash for Target {
    /// Hashes only the parts that tell most targets apart: each request hashes its target twice to
    /// look up a connection.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.host.as_bytes());
        state.write_u16(self.port);
    }
}

impl Target {
    /// A target; `host` must be normalized (see [`Target::host`]) and valid in a URI.
    pub fn new(scheme: Scheme, host: String, port: u16) -> Self {
        let default = match scheme {
            Scheme::Http | Scheme::Lb => 80,
            Scheme::Https => 443,
        };
        let host_line = if port == default {
            format!("Host: {host}\r\n")
        } else {
            format!("Host: {host}:{port}\r\n")
        };
        Self { scheme, host, port, host_line: host_line.into() }
    }

    /// The Host field of a request to this target.
    pub(crate) fn host_line(&self) -> FieldLine<'_> {
        FieldLine::new(self.host_line.as_bytes(), "Host".len())
    }
}
