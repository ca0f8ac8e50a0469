//! Access rules of a SOCKS proxy: users, allowed and denied targets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use ipnet::IpNet;

use super::network::network;
use crate::reach::is_link_local;
use crate::secret::Secret;

/// Users of a proxy, and the targets that it may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocksRules {
    /// Names and passwords; if empty, the proxy does not ask for credentials.
    pub users: Vec<(String, Secret)>,
    /// Allowed targets; if empty, all that are not denied.
    pub allow: Vec<AddressRule>,
    /// Denied targets.
    pub deny: Vec<AddressRule>,
}

/// Addresses, by network and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRule {
    /// `None` is every network.
    net: Option<IpNet>,
    /// If empty, every port.
    ports: Vec<RangeInclusive<u16>>,
}

impl AddressRule {
    /// Reads `10.0.0.0/8`, `10.0.0.1:80,443`, `[2001:db8::/32]:8000-8999` or `*:443`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_bare_v6 = text.matches(':').count() > 1 && !text.starts_with('[');
        let (net, ports) = match text.rsplit_once(':').filter(|_| !is_bare_v6) {
            Some((net, ports)) if !net.contains('[') || net.ends_with(']') => (net, Some(ports)),
            _ => (text, None),
        };
        let net = net.strip_prefix('[').and_then(|net| net.strip_suffix(']')).unwrap_or(net);
        let net = match net {
            "*" => None,
            net => Some(network(net)?),
        };
        let ports = match ports {
            None | Some("*") => Vec::new(),
            Some(ports) => ports.split(',').map(range).collect::<Option<_>>()?,
        };
        Some(Self { net, ports })
    }

    /// Whether the rule matches `address`.
    pub fn holds(&self, address: SocketAddr) -> bool {
        self.net.is_none_or(|net| net.contains(&address.ip().to_canonical()))
            && (self.ports.is_empty() || self.ports.iter().any(|one| one.contains(&address.port())))
    }
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
    (!range.is_empty()).then_some(range)
}

impl SocksRules {
    /// Whether the proxy connects to `address`. On a proxy that is open to other machines, loopback
    /// and link-local targets must be allowed explicitly.
    pub fn may_reach(&self, address: SocketAddr) -> bool {
        let address = connected(address);
        if self.deny.iter().any(|rule| rule.holds(address)) {
            return false;
        }
        if !self.allow.is_empty() {
            return self.allow.iter().any(|rule| rule.holds(address));
        }
        self.is_private() || !is_local(address.ip().to_canonical())
    }

    /// Whether neither users nor allowed targets are configured: then only this machine may use it.
    pub fn is_private(&self) -> bool {
        self.users.is_empty() && self.allow.is_empty()
    }
}

/// The address that the system connects to: for the unspecified one it takes loopback.
fn connected(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || is_link_local(ip)
}

#[cfg(test)]
mod tests {
    use super::{AddressRule, SocksRules};
    use crate::secret::Secret;

    fn rules(texts: &[&str]) -> Vec<AddressRule> {
        texts.iter().map(|text| AddressRule::parse(text).expect("a rule")).collect()
    }

    #[test]
    fn rules_hold_for_networks_and_ports() {
        for (rule, address, holds) in [
            ("10.0.0.0/8", "10.1.2.3:9", true),
            ("10.0.0.0/8", "11.1.2.3:9", false),
            ("10.0.0.1", "10.0.0.1:9", true),
            ("10.0.0.0/8:80,443", "10.1.2.3:443", true),
            ("10.0.0.0/8:80,443", "10.1.2.3:81", false),
            ("*:8000-8999", "9.9.9.9:8500", true),
            ("[2001:db8::/32]:53", "[2001:db8::1]:53", true),
            ("2001:db8::/32", "[2001:db8::1]:99", true),
            ("127.0.0.0/8", "[::ffff:127.0.0.1]:1", true),
            ("::ffff:127.0.0.0/104", "127.0.0.1:1", true),
            ("[::ffff:127.0.0.0/104]:1", "[::ffff:127.1.2.3]:1", true),
            ("::ffff:10.0.0.1", "10.0.0.1:1", true),
            ("::ffff:10.0.0.0/104", "127.0.0.1:1", false),
        ] {
            let found = AddressRule::parse(rule).expect(rule).holds(address.parse().unwrap());
            assert_eq!(found, holds, "{rule} {address}");
        }
        for wrong in ["", "10.0.0.0/33", "host:80", "10.0.0.1:", "10.0.0.1:9-8", "*:70000", "[::1"]
        {
            assert_eq!(AddressRule::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_unspecified_address_is_loopback() {
        let rules = SocksRules {
            allow: rules(&["*"]),
            deny: rules(&["127.0.0.0/8", "[::1]"]),
            ..SocksRules::default()
        };
        for local in ["0.0.0.0:80", "[::]:80", "[::ffff:0.0.0.0]:80", "[::ffff:127.0.0.9]:80"] {
            assert!(!rules.may_reach(local.parse().expect("an address")), "{local}");
        }
        assert!(rules.may_reach("10.0.0.1:80".parse().expect("an address")));
    }

    #[test]
    fn strangers_do_not_reach_what_is_local_by_default() {
        let users = vec![("a".to_owned(), Secret::new("b"))];
        let guarded = SocksRules { users, ..SocksRules::default() };
        let reach = |rules: &SocksRules, to: &str| rules.may_reach(to.parse().unwrap());
        for local in ["127.0.0.1:80", "169.254.169.254:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert!(!reach(&guarded, local), "{local}");
            assert!(reach(&SocksRules::default(), local), "{local}");
        }
        assert!(reach(&guarded, "192.0.2.1:80"));
        let (allow, deny) = (rules(&["127.0.0.0/8", "10.0.0.0/8"]), rules(&["10.1.0.0/16:22"]));
        let listed = SocksRules { allow, deny, ..guarded };
        assert!(reach(&listed, "127.0.0.1:80"));
        assert!(reach(&listed, "10.1.0.1:80"));
        assert!(!reach(&listed, "10.1.0.1:22"));
        assert!(!reach(&listed, "192.0.2.1:80"));
    }
}
