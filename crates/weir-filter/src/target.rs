//! Where a request goes.

use std::hash::{Hash, Hasher};

use weir_wire::FieldLine;

/// Scheme of an upstream, as far as the data plane serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`, and `ws` (an upgrade is an HTTP/1.1 exchange).
    Http,
    /// `https` and `wss`.
    Https,
    /// `lb`: host names a service with instances.
    Lb,
}

/// Where a request goes, set by the route and changed by SetRequestUri and
/// RequestHeaderToRequestUri. Path and query live in the request head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Scheme.
    pub scheme: Scheme,
    /// Host name or address literal (IPv6 in brackets), lower case.
    pub host: String,
    /// Port, default of the scheme filled in.
    pub port: u16,
    /// The line `Host: host[:port] CRLF`.
    host_line: Box<str>,
}

impl Hash for Target {
    /// Of what tells most targets apart: connections are looked for by it, twice for each request.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.host.as_bytes());
        state.write_u16(self.port);
    }
}

impl Target {
    /// A target; `host` as it is to be kept (see [`Target::host`]) and valid in a URI.
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

    /// The Host field of a request that goes there.
    pub(crate) fn host_line(&self) -> FieldLine<'_> {
        FieldLine::new(self.host_line.as_bytes(), "Host".len())
    }
}
