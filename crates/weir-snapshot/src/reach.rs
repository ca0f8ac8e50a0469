//! Addresses that requests must not reach: the admin API of this process, and metadata services of
//! clouds, which hand out credentials.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Metadata services that are not at a link-local address: Amazon by IPv6, Alibaba, Oracle.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
];

/// Whether the address is link-local.
pub fn is_link_local(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// Whether a metadata service of a cloud may be at this address.
pub fn is_metadata(ip: IpAddr) -> bool {
    is_link_local(ip) || METADATA.contains(&ip.to_canonical())
}

/// Whether a connection to `address` would reach the listener at `admin`. `local` is the address of
/// this end, once connected: an unspecified address includes all addresses of this machine.
pub fn is_admin(admin: SocketAddr, address: SocketAddr, local: Option<IpAddr>) -> bool {
    if admin.port() != address.port() {
        return false;
    }
    let (own, ip) = (admin.ip().to_canonical(), address.ip().to_canonical());
    let is_here = ip.is_loopback()
        || ip.is_unspecified()
        || local.is_some_and(|local| local.to_canonical() == ip);
    // An unspecified address leads to loopback.
    ip == own || own.is_unspecified() && is_here || ip.is_unspecified() && own.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::is_metadata;

    #[test]
    fn clouds() {
        for (ip, is) in [
            ("169.254.169.254", true),
            ("::ffff:169.254.169.254", true),
            ("fe80::1", true),
            ("fd00:ec2::254", true),
            ("100.100.100.200", true),
            ("127.0.0.1", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_metadata(ip.parse().expect("an address")), is, "{ip}");
        }
    }
}
