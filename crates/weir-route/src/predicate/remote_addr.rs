//! `RemoteAddr`: the peer's address lies in one of several networks.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::key::Key;
use super::lists::bracketed;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<Box<RemoteAddr>>> = Spec {
    name: "RemoteAddr",
    doc: "Matches requests whose TCP peer has an address in one of the networks. Behind another \
proxy the peer is that proxy: see XForwardedRemoteAddr.

```example
RemoteAddr=192.168.1.1/24, 2001:db8::/32
+ GET / | @peer 192.168.1.77
+ GET / | @peer 2001:db8::7
- GET / | @peer 192.168.2.1
```",
    args: &[ArgSpec {
        name: "sources",
        kind: ArgKind::List,
        default: None,
        required: true,
        doc: "Networks in CIDR notation, IPv4 or IPv6. Without a mask it is `/32`, for IPv6 too.",
    }],
    shortcut: Shortcut::GatherList,
    compatibility: Compatibility::Differs("host names are refused; SCG resolves them once"),
    build,
};

/// The peer's address lies in one of these networks.
#[derive(Debug)]
pub struct RemoteAddr {
    networks: Networks,
}

/// Networks, with their texts as written.
#[derive(Debug)]
pub(super) struct Networks {
    texts: Box<[Box<str>]>,
    nets: Box<[IpNet]>,
}

fn build(args: &Args, _: &BuildContext<'_>) -> Result<Box<RemoteAddr>, ArgError> {
    Ok(Box::new(RemoteAddr { networks: Networks::read(args)? }))
}

impl Networks {
    /// Reads the argument `sources`.
    pub(super) fn read(args: &Args) -> Result<Self, ArgError> {
        let texts = args.list("sources");
        let nets = texts.iter().map(|text| network(text)).collect::<Result<_, _>>()?;
        Ok(Self { texts: texts.iter().map(|text| text.as_str().into()).collect(), nets })
    }

    pub(super) fn nets(&self) -> &[IpNet] {
        &self.nets
    }

    /// Whether a network contains `address`; an IPv4-mapped IPv6 address counts as IPv4.
    pub(super) fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.nets.iter().any(|net| net.contains(&address))
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bracketed(&self.texts))
    }
}

fn network(text: &str) -> Result<IpNet, ArgError> {
    let refuse = |message: String| {
        ArgError::new("sources", message)
            .help("write an address and the number of its leading bits: `192.168.1.0/24`")
    };
    let (address, mask) = text.split_once('/').unwrap_or((text, "32"));
    let address: IpAddr =
        address.parse().map_err(|_| refuse(format!("`{address}` is not an IP address")))?;
    let mask = mask.parse().map_err(|_| refuse(format!("`{mask}` is not a number of bits")))?;
    IpNet::new(address, mask).map_err(|_| refuse(format!("`{text}` has too many bits")))
}

impl RemoteAddr {
    /// The networks, one of which must match.
    pub fn nets(&self) -> &[IpNet] {
        self.networks.nets()
    }
}

impl Condition for RemoteAddr {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(self.networks.contain(request.peer))
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        format!("the peer is {}", request.peer.to_canonical())
    }

    fn key(&self) -> Option<Key<'_>> {
        Some(Key::RemoteAddr(self.nets()))
    }
}

impl fmt::Display for RemoteAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteAddrs: {}", self.networks)
    }
}
