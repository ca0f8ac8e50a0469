//! Where this gateway can be reached, by the address and name that others know it by.

use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Where this gateway can be reached, for registries that it registers itself at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// Where requests are taken.
    pub address: SocketAddr,
    /// Port of the management endpoints, if it is another one.
    pub management: Option<u16>,
}

/// The address that this machine reaches `server` from, where weir listens on all of them.
pub(super) fn own_address(server: Option<&String>, here: Here) -> IpAddr {
    let ip = here.address.ip();
    if !ip.is_unspecified() {
        return ip;
    }
    let host_port = server.and_then(|url| {
        let uri: http::Uri = url.parse().ok()?;
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some((host, uri.port_u16().unwrap_or(80)))
    });
    // Nothing is sent: the system only chooses a way.
    let found = host_port.and_then(|(host, port)| {
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect((host.as_str(), port)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    });
    found.unwrap_or(IpAddr::from([127, 0, 0, 1]))
}

/// The machine's name.
pub(super) fn host_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}
