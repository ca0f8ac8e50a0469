//! What predicates see of a request.

use std::net::IpAddr;

use serde_json::Value;
use weir_wire::RequestHead;

use crate::pattern::{HostLabels, PathSegments};

/// A request as predicates see it: the head plus what the outside world adds.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Head with the canonical path (see `weir_wire::http1::canonical_path`).
    pub head: &'a RequestHead,
    /// Path and host of that head, cut up: [`RequestParts::read`] before each request.
    pub parts: &'a RequestParts,
    /// Address of the TCP peer.
    pub peer: IpAddr,
    /// Wall clock in milliseconds since 1970.
    pub now_ms: i64,
    /// Chance: 64 random bits, fresh for each request, from which every weight group draws.
    pub dice: u64,
}

/// What a path or a host may take at most after [`RequestParts::give_back`].
const BYTES_KEPT: usize = 2048;

/// Path, host and body of a request, cut up once for all patterns. Reused for others, it allocates
/// nothing in steady state unless the path is percent-encoded.
#[derive(Clone, Debug, Default)]
pub struct RequestParts {
    /// Decoded path segments.
    pub path: PathSegments,
    /// Host labels in lower case.
    pub host: HostLabels,
    /// What is known of the body.
    pub content: Content,
}

/// The body of a request, as far as predicates look at it.
#[derive(Clone, Debug, Default)]
pub enum Content {
    /// It was not read: it may say anything, so no predicate rules a route out by it.
    #[default]
    Unread,
    /// There is none, it is not JSON, or it is too long.
    Unusable,
    /// It is JSON.
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

    /// Lets go of what an unusually long path or host takes, and of the body, for a request that
    /// waits with it.
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
