//! Ambiguous paths: paths that servers parse differently, and when a route must refuse one.

use std::fmt;
use std::sync::Arc;

use weir_route::index::Scratch;
use weir_route::{Request, RequestParts, Route};
use weir_wire::http1::{LenientPath, lenient_path};

use crate::ambiguous_paths::AmbiguousPaths;
use crate::snapshot::{RouteTarget, Snapshot};

/// Reason for which a path is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ambiguity {
    /// Another server could parse it differently.
    Ambiguous,
    /// Another server could see `..` segments in it.
    HiddenDots,
    /// Another server could read it as a path of this route.
    OtherRoute(Arc<str>),
}

impl Snapshot {
    /// The reason for which `route`, which matches `request`, must refuse its path; `None` for
    /// almost all requests.
    pub fn ambiguity(
        &self,
        route: &Route<RouteTarget>,
        request: &Request<'_>,
        scratch: &mut Scratch,
    ) -> Option<Ambiguity> {
        if request.head.path_is_plain() || route.target.ambiguous_paths() == AmbiguousPaths::Keep {
            return None;
        }
        let path = match (lenient_path(request.head.path()), route.target.ambiguous_paths()) {
            (LenientPath::Same, _) => return None,
            (LenientPath::Climbing, _) => return Some(Ambiguity::HiddenDots),
            (LenientPath::Other(_), AmbiguousPaths::Refuse) => return Some(Ambiguity::Ambiguous),
            (LenientPath::Other(path), _) => path,
        };
        let mut parts = RequestParts::of(request.head);
        parts.path.read(&path);
        parts.content = request.parts.content.clone();
        let other = self.index.lookup(&Request { parts: &parts, ..*request }, scratch)?;
        (other.position != route.position).then(|| Ambiguity::OtherRoute(other.id.clone()))
    }
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous => f.write_str("servers read the path in different ways"),
            Self::HiddenDots => f.write_str("some servers see `..` segments in the path"),
            Self::OtherRoute(id) => write!(f, "some servers read the path as one of route {id}"),
        }
    }
}
