//! Paths that go to one fixed address, before the route table is asked.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_config::{RouteTarget, Upstream};
use weir_filter::{Chain, Scheme, Target};
use weir_route::Route;

/// A path prefix and where requests below it go. This is how probes reach `/actuator/health` on the
/// main port: for the data plane it is one more upstream.
#[derive(Debug)]
pub(crate) struct Reserved {
    prefix: String,
    /// A route that only [`Reserved::takes`] leads to.
    pub(crate) route: Arc<Route<RouteTarget>>,
}

impl Reserved {
    pub(crate) fn new(prefix: &str, address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        let target = Target { scheme: Scheme::Http, host, port: address.port() };
        let target = RouteTarget {
            chain: Arc::new(Chain::default()),
            upstream: Upstream::Http(Arc::new(target)),
            cors: None,
            timeouts: None,
        };
        let route = Route {
            id: Arc::from(prefix),
            order: i32::MIN,
            position: u64::MAX,
            predicates: Box::default(),
            target,
        };
        Self { prefix: prefix.to_owned(), route: Arc::new(route) }
    }

    /// Whether `path` is the prefix or lies below it.
    pub(crate) fn takes(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.prefix.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}
