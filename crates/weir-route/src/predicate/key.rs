//! Keys of predicates: the part of a predicate that the index can look up.

use ipnet::IpNet;
use smol_str::SmolStr;

use crate::pattern::{HostPattern, PathPattern};

/// A necessary condition of a predicate, in a form that can be looked up. A request without the key
/// fails the predicate; a request with it must still be tested.
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
    /// The peer's address (IPv4-mapped IPv6 counts as IPv4) is in one of these networks.
    RemoteAddr(&'a [IpNet]),
    /// The client's address, as stated by this number of trusted proxies, is in one of these
    /// networks: see [`super::forwarded_client`].
    Client {
        /// The networks.
        nets: &'a [IpNet],
        /// Number of trusted proxies.
        proxies: usize,
    },
}
