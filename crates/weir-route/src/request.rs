//! Requests as seen by predicates.

use std::net::IpAddr;

use serde_json::Value;
use weir_wire::RequestHead;

use crate::pattern::{HostLabels, PathSegments};

/// A request as seen by predicates: its head, peer, time and random bits.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Head with the canonical path (see `weir_wire::http1::canonical_path`).
    pub head: &'a RequestHead,
    /// Parsed path and host of that head: call [`RequestParts::read`] before each request.
    pub parts: &'a RequestParts,
    /// Address of the TCP peer.
    pub peer: IpAddr,
    /// Wall clock in milliseconds since 1970.
    pub now_ms: i64,
    /// 64 random bits, new for each request, for the choice in every weight group.
    pub dice: u64,
}

/// Maximum memory of a path or host after [`RequestParts::give_back`].
const BYTES_KEPT: usize = 2048;

/// Path, host and body of a request, parsed once for all patterns. Reused between requests, it does
/// not allocate in steady state unless the path is percent-encoded.
#[derive(Clone, Debug, Default)]
pub struct RequestParts {
    /// Decoded path segments.
    pub path: PathSegments,
    /// Host labels in lower case.
    pub host: HostLabels,
    /// The body.
    pub content: Content,
}

/// The body of a request, for predicates.
#[derive(Clone, Debug, Default)]
pub enum Content {
    /// Not read yet: no predicate can exclude a route by it.
    #[default]
    Unread,
    /// Missing, not JSON, or too long.
    Unusable,
    /// Parsed JSON.
    Json(Box<Value>),
}

impl RequestParts {
    /// The parts of `head`.
    pub fn of(head: &RequestHead) -> Self {
        let mut parts = Self::default();
        parts.read(head);
        parts
    }

    /// Replaces the parts by those of `head`.
    pub fn read(&mut self, head: &RequestHead) {
        self.path.read(head.path());
        self.host.read(head.host());
    }

    /// Frees the memory of an unusually long path or host, and the body, for a request that waits.
    pub fn give_back(&mut self) {
        if self.path.memory() > BYTES_KEPT {
            self.path = PathSegments::default();
        }
        if self.host.memory() > BYTES_KEPT {
            self.host = HostLabels::default();
        }
        self.content = Content::Unread;
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES_KEPT, RequestParts};

    #[test]
    fn what_a_long_path_takes_is_given_back() {
        let mut parts = RequestParts::default();
        for (path, host, kept) in [("/a/b", "a.example", true), ("/a", "a.", false)] {
            let times = if kept { 1 } else { 4096 };
            parts.path.read(path.repeat(times).as_bytes());
            parts.host.read(host.repeat(times).as_bytes());
            let before = parts.clone();
            parts.give_back();
            assert_eq!(format!("{parts:?}") == format!("{before:?}"), kept);
            assert!(parts.path.memory() <= BYTES_KEPT && parts.host.memory() <= BYTES_KEPT);
        }
    }
}
