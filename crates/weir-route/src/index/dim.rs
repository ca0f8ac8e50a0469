//! Dimensions: the request attributes that the index branches on, and for each dimension the keys
//! that a route demands and a request shows.
//!
//! One rule makes the index exact, and each dimension keeps it: *if a route demands keys and
//! matches a request, the request shows one of these keys.* Extra keys and hash collisions cost
//! time, never correctness.

use std::net::IpAddr;
use std::sync::Arc;

use super::hash::Hash;

/// Maximum length of header names in [`Dim::AnyHeader`].
const NAME_MAX: usize = 64;

/// An attribute of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dim {
    /// The whole decoded path.
    Path,
    /// The number of path segments.
    Length,
    /// The decoded path segment with this index, counted from the start or from the end.
    Segment {
        at: u16,
        from_end: bool,
    },
    /// The whole host.
    Host {
        port: bool,
    },
    /// The host label with this index, counted from the start or from the end.
    Label {
        at: u16,
        from_end: bool,
        port: bool,
    },
    Method,
    /// A value of the header with this lower-case name.
    Header {
        name: Arc<str>,
        split: bool,
    },
    /// Name and value of any header: for tables that tell routes apart by many headers.
    AnyHeader {
        split: bool,
    },
    Query {
        name: Arc<str>,
    },
    /// Name and value of any query parameter.
    AnyQuery,
    Cookie {
        name: Arc<str>,
    },
    /// Name and value of any cookie.
    AnyCookie,
    /// A substring of a text.
    Piece {
        of: Subject,
        place: Place,
    },
    /// The network of the peer.
    Peer,
    /// The network of the client, as stated by this number of trusted proxies.
    Client {
        proxies: usize,
    },
}

/// A request attribute that is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A decoded path segment, counted from the start or from the end.
    Segment { at: u16, from_end: bool },
    /// A host label, counted from the start or from the end.
    Label { at: u16, from_end: bool, port: bool },
    /// Values of the header with this lower-case name.
    Header { name: Arc<str>, split: bool },
    /// Values of this query parameter.
    Query { name: Arc<str> },
    /// Values of this cookie.
    Cookie { name: Arc<str> },
}

/// Position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Start,
    End,
    Inside,
}

impl Place {
    /// Name for the operator.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
            Self::Inside => "text",
        }
    }
}

/// A key that a route demands: a hash, and how many bytes of the request's text or bits of its
/// address it covers (0: all).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Demand {
    pub(crate) key: u64,
    pub(crate) size: u16,
}

/// Size of the IPv4 network of all addresses: a network of n leading bits has size `IPV4 + n`.
pub(crate) const IPV4: u16 = 1;
/// The same for IPv6.
pub(crate) const IPV6: u16 = 256;

impl Dim {
    /// Whether the request's key is cheap to compute and most often a single one.
    pub(crate) fn is_quick(&self) -> bool {
        !matches!(
            self,
            Dim::AnyHeader { .. }
                | Dim::AnyQuery
                | Dim::AnyCookie
                | Dim::Piece { .. }
                | Dim::Peer
                | Dim::Client { .. }
        )
    }

    /// Cost of a lookup in this dimension, in units of a tried route.
    pub(crate) fn effort(&self) -> f64 {
        match self {
            Dim::Path => 0.0,
            Dim::Method | Dim::Host { .. } => 0.1,
            Dim::Length | Dim::Segment { .. } | Dim::Label { .. } => 0.2,
            Dim::Header { .. } => 0.6,
            Dim::Peer => 0.8,
            Dim::Client { .. } => 1.2,
            Dim::Query { .. } | Dim::Cookie { .. } => 1.0,
            Dim::Piece { place: Place::Start | Place::End, .. } => 1.5,
            // A probe for every byte of a text, which may contain other routes' text too.
            Dim::Piece { place: Place::Inside, .. } => 8.0,
            Dim::AnyQuery | Dim::AnyCookie => 3.0,
            Dim::AnyHeader { .. } => 6.0,
        }
    }
}

/// Hash of a value and a header's name, ignoring the case of the name.
pub(crate) fn header(name: &[u8], value: impl AsRef<[u8]>, hash: &Hash) -> Option<u64> {
    let mut lower = [0; NAME_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    Some(pair(lower, value, hash))
}

/// Hash of a name and a value.
pub(crate) fn pair(name: &[u8], value: impl AsRef<[u8]>, hash: &Hash) -> u64 {
    let both = u128::from(hash.text(name)) << 64 | u128::from(hash.text(value.as_ref()));
    hash.number(both, 0)
}

/// The first `bits` bits of an address, as a number.
pub(crate) fn leading_bits(address: IpAddr, bits: u8) -> u128 {
    let (value, width) = match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    value.checked_shr(width - u32::from(bits).min(width)).unwrap_or_default()
}
