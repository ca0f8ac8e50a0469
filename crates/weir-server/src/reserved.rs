//! Paths that go to one fixed address, before the route table is asked.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use weir_filter::{Chain, Scheme, Target};
use weir_route::{Predicates, Route};
use weir_snapshot::{RouteTarget, Upstream};

/// Paths that go to one address, whatever the routes say. This is how probes reach
/// `/actuator/health` on the main port: for the data plane it is one more upstream.
#[derive(Clone, Debug)]
pub struct ReservedPaths {
    /// This path itself, but nothing below it.
    pub base: String,
    /// Reserved names below the base, each with its subpaths: `health`.
    pub names: Vec<String>,
    /// Address that serves the reserved requests.
    pub address: SocketAddr,
}

impl ReservedPaths {
    /// Whether requests for `path` are reserved. Other paths below the base are left to the routes,
    /// as in SCG: an upstream may have an actuator too.
    pub fn takes(&self, path: &[u8]) -> bool {
        let Some(rest) = path.strip_prefix(self.base.as_bytes()) else { return false };
        if rest.is_empty() {
            return true;
        }
        let below = |name: &String| {
            let rest = rest.strip_prefix(b"/").and_then(|rest| rest.strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.names.iter().any(below)
    }
}

/// [`ReservedPaths`] with their upstream.
#[derive(Debug)]
pub(crate) struct Reserved {
    paths: ReservedPaths,
    /// A route that only [`Reserved::takes`] leads to.
    pub(crate) route: Arc<Route<RouteTarget>>,
}

impl Reserved {
    pub(crate) fn new(paths: &ReservedPaths) -> Self {
        let address = paths.address;
        let host = match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        let target = Target::new(Scheme::Http, host, address.port());
        let target = RouteTarget {
            chain: Chain::default(),
            upstream: Upstream::Http(Arc::new(target)),
            policy: None,
            series: AtomicU32::default(),
        };
        let route = Route {
            id: Arc::from(paths.base.as_str()),
            order: i32::MIN,
            position: u64::MAX,
            predicates: Predicates::default(),
            group: None,
            target,
        };
        Self { paths: paths.clone(), route: Arc::new(route) }
    }

    /// Whether requests for `path` are reserved.
    pub(crate) fn takes(&self, path: &[u8]) -> bool {
        self.paths.takes(path)
    }
}

#[cfg(test)]
mod tests {
    use super::{Reserved, ReservedPaths};

    #[test]
    fn only_what_is_named_is_taken() {
        let reserved = Reserved::new(&ReservedPaths {
            base: "/actuator".to_owned(),
            names: vec!["health".to_owned()],
            address: ([127, 0, 0, 1], 1).into(),
        });
        for path in ["/actuator", "/actuator/health", "/actuator/health/liveness"] {
            assert!(reserved.takes(path.as_bytes()), "{path}");
        }
        for path in ["/", "/actuator/", "/actuators", "/actuator/healthy", "/actuator/gateway"] {
            assert!(!reserved.takes(path.as_bytes()), "{path}");
        }
    }
}
