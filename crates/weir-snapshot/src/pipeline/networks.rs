//! Networks as they are compared with canonical addresses.

use ipnet::{IpNet, Ipv4Net};

/// The IPv4 network that an IPv4-mapped IPv6 network stands for; any other network as it is.
/// Addresses are compared in their canonical form, which is IPv4 for mapped ones.
pub(super) fn canonical(net: IpNet) -> IpNet {
    const MAPPED_BITS: u8 = 96;
    let IpNet::V6(v6) = net else { return net };
    let v4 = v6.addr().to_ipv4_mapped().zip(v6.prefix_len().checked_sub(MAPPED_BITS));
    v4.and_then(|(ip, bits)| Ipv4Net::new(ip, bits).ok()).map_or(net, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn mapped_networks_are_ipv4() {
        for (net, expected) in [
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:a00:1/128", "10.0.0.1/32"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("2001:db8::/32", "2001:db8::/32"),
            // Wider than all of IPv4: what it says of IPv6 must not be said of IPv4.
            ("::ffff:0:0/95", "::ffff:0:0/95"),
            ("::/0", "::/0"),
        ] {
            let (net, expected) = (net.parse().expect(net), expected.parse().expect(expected));
            assert_eq!(canonical(net), expected);
        }
    }
}
