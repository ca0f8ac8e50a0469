//! `XForwardedRemoteAddr`: the client's address as `X-Forwarded-For` states it.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::key::Key;
use super::remote_addr::Networks;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<Box<XForwardedRemoteAddr>>> = Spec {
    name: "XForwardedRemoteAddr",
    doc: "Matches requests whose client, as the trusted proxies before weir tell it in \
`X-Forwarded-For`, has an address in one of the networks. `maxTrustedIndex` is the number of those \
proxies: the entry that many places from the right is taken, the leftmost if there are fewer. \
Without the header, or with more than one line of it, the TCP peer counts. A header that \
`trusted-proxies` removes is not seen.

```example
XForwardedRemoteAddr=192.168.1.1/24
+ GET / | X-Forwarded-For: 10.0.0.1, 192.168.1.7
+ GET / | @peer 192.168.1.9
- GET / | X-Forwarded-For: 192.168.1.7, 10.0.0.1
```",
    args: &[
        ArgSpec {
            name: "sources",
            kind: ArgKind::List,
            default: None,
            required: true,
            doc: "Networks in CIDR notation, IPv4 or IPv6. Without a mask it is `/32`.",
        },
        ArgSpec {
            name: "maxTrustedIndex",
            kind: ArgKind::Int,
            default: Some("1"),
            required: false,
            doc: "Number of trusted proxies before weir, from 1. Only by name.",
        },
    ],
    shortcut: Shortcut::GatherList,
    compatibility: Compatibility::Differs(
        "`maxTrustedIndex` can be given by name; SCG takes its value for a network",
    ),
    build,
};

/// The client's address, as stated by trusted proxies, is in one of these networks.
#[derive(Debug)]
pub struct XForwardedRemoteAddr {
    networks: Networks,
    max_trusted_index: usize,
}

fn build(args: &Args, _: &BuildContext<'_>) -> Result<Box<XForwardedRemoteAddr>, ArgError> {
    let networks = Networks::read(args)?;
    let index = args.int("maxTrustedIndex")?.unwrap_or(1);
    let max_trusted_index = usize::try_from(index).ok().filter(|index| *index > 0);
    let max_trusted_index = max_trusted_index.ok_or_else(|| {
        ArgError::new("maxTrustedIndex", format!("`{index}` is not a number from 1"))
            .help("count the trusted proxies before weir")
    })?;
    Ok(Box::new(XForwardedRemoteAddr { networks, max_trusted_index }))
}

impl XForwardedRemoteAddr {
    /// The networks, one of which must match.
    pub fn nets(&self) -> &[IpNet] {
        self.networks.nets()
    }

    /// Number of trusted proxies before weir.
    pub fn max_trusted_index(&self) -> usize {
        self.max_trusted_index
    }
}

impl Condition for XForwardedRemoteAddr {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        let client = forwarded_client(request, self.max_trusted_index);
        Ok(client.is_some_and(|client| self.networks.contain(client)))
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        match forwarded_client(request, self.max_trusted_index) {
            Some(client) => format!("the client is {}", client.to_canonical()),
            None => "X-Forwarded-For holds no IP address in that place".to_owned(),
        }
    }

    fn key(&self) -> Option<Key<'_>> {
        Some(Key::Client { nets: self.nets(), proxies: self.max_trusted_index() })
    }
}

/// The client's address as stated by `proxies` trusted proxies in `X-Forwarded-For`; `None` if the
/// entry is not an address.
pub fn forwarded_client(request: &Request<'_>, proxies: usize) -> Option<IpAddr> {
    let mut lines = request.head.fields.get_all(b"x-forwarded-for");
    let (Some(line), None) = (lines.next(), lines.next()) else { return Some(request.peer) };
    let entries = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let mut entries = entries.filter(|entry| !entry.is_empty());
    let Some(mut entry) = entries.next_back() else { return Some(request.peer) };
    // The entry at this position from the right, or the leftmost if there are fewer.
    for _ in 1..proxies {
        let Some(before) = entries.next_back() else { break };
        entry = before;
    }
    std::str::from_utf8(entry).ok()?.parse().ok()
}

impl fmt::Display for XForwardedRemoteAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteAddrs: {}", self.networks)
    }
}
