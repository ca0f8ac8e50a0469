//! Keys of predicates: the part of a predicate that the index can look up.

use ipnet::IpNet;
use smol_str::SmolStr;

use crate::pattern::{HostPattern, PathPattern};

/// A predicate in a form to look up. A request that does not have the key fails the predicate; one
/// that has it still has to pass it.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// One of these host patterns matches.
    Host(&'a [HostPattern]),
    /// One of these path patterns matches.
    Path(&'a [PathPattern]),
    /// The method is one of these, byte for byte.
    Methods(&'a [SmolStr]),
    /// Header `name` (any case) has exactly this value: see [`super::header_values`].
    Header {
        /// Name of the header.
        name: &'a str,
        /// Its value.
        value: &'a str,
        /// Whether lines are split into values at commas.
        split: bool,
    },
    /// Parameter `name` has exactly this decoded value: see [`super::query_values`].
    Query {
        /// Name of the parameter.
        name: &'a str,
        /// Its value.
        value: &'a str,
    },
    /// Cookie `name` has exactly this value: see [`super::cookie_values`].
    Cookie {
        /// Name of the cookie.
        name: &'a str,
        /// Its value.
        value: &'a str,
    },
    /// The peer's address, IPv4 in IPv6 as IPv4, lies in one of these networks.
    RemoteAddr(&'a [IpNet]),
    /// The address of the client, as so many trusted proxies tell it, lies in one of these
    /// networks: see [`super::forwarded_client`].
    Client {
        /// The networks.
        nets: &'a [IpNet],
        /// How many proxies are trusted.
        proxies: usize,
    },
}
