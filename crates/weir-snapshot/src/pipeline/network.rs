//! Networks as pipelines read them.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

/// Bits before the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2).
const MAPPED_BITS: u8 = 96;

/// Reads `10.0.0.0/8`, `2001:db8::/32` or one address. A network of IPv4-mapped addresses, such as
/// `::ffff:10.0.0.0/104`, is that of IPv4: peers and targets are compared in this form.
pub fn network(text: &str) -> Option<IpNet> {
    let net = text.parse().ok().or_else(|| text.parse().ok().map(IpAddr::into))?;
    let IpNet::V6(mapped) = net else { return Some(net) };
    let address = mapped.addr().to_ipv4_mapped();
    let bits = mapped.prefix_len().checked_sub(MAPPED_BITS);
    let plain = address.zip(bits).and_then(|(address, bits)| Ipv4Net::new(address, bits).ok());
    Some(plain.map_or(net, IpNet::V4))
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn mapped_networks_are_those_of_ipv4() {
        for (text, expected) in [
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            ("10.0.0.1", Some("10.0.0.1/32")),
            ("2001:db8::/32", Some("2001:db8::/32")),
            ("::ffff:10.0.0.0/104", Some("10.0.0.0/8")),
            ("::ffff:0a00:1/128", Some("10.0.0.1/32")),
            ("::ffff:10.0.0.1", Some("10.0.0.1/32")),
            ("::ffff:0:0/96", Some("0.0.0.0/0")),
            ("::/0", Some("::/0")),
            ("::ffff:10.0.0.0/129", None),
            ("10.0.0.0/33", None),
            ("host", None),
        ] {
            assert_eq!(network(text).map(|net| net.to_string()).as_deref(), expected, "{text}");
        }
    }
}
