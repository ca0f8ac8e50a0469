//! What a request is served by: one immutable value, swapped whole.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use weir_filter::cors::CorsPolicy;
use weir_filter::forwarding::Forwarding;
use weir_filter::{Chain, Target};
use weir_route::index::Index;

use crate::settings::Settings;

/// What a matched route leads to.
#[derive(Debug)]
pub struct RouteTarget {
    /// Filters, shared between routes with equal ones.
    pub chain: Arc<Chain>,
    /// Where requests go.
    pub upstream: Upstream,
    /// `metadata.connect-timeout` and `metadata.response-timeout`; shared, `None` for most routes.
    pub timeouts: Option<Arc<RouteTimeouts>>,
}

/// Timeouts that a route sets for itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RouteTimeouts {
    /// `metadata.connect-timeout`.
    pub connect: Option<Duration>,
    /// `metadata.response-timeout`; `Some(None)` switches the global one off.
    pub response: Option<Option<Duration>>,
}

/// The kinds of upstream a route may have (scg.md 1.6).
#[derive(Debug)]
pub enum Upstream {
    /// `http:`/`ws:`; interned, so equal targets are one allocation and one pool.
    Http(Arc<Target>),
    /// `lb:`; the instances of a service in turn.
    Balanced(Arc<Service>),
    /// `no:` and unknown schemes: no routing filter acts, 200 with an empty body.
    None,
}

/// A service with static instances (`spring.cloud.discovery.client.simple.instances`).
#[derive(Debug)]
pub struct Service {
    /// Name as in `lb://name`.
    pub name: String,
    /// Instances in the order written; empty means 503.
    pub instances: Box<[Arc<Target>]>,
    /// Next turn of the round robin.
    pub turn: AtomicUsize,
}

/// Everything one request needs of the configuration.
#[derive(Debug)]
pub struct Snapshot {
    /// The route table.
    pub index: Index<RouteTarget>,
    /// Settings that apply to all routes.
    pub settings: Arc<Settings>,
    /// Hop-by-hop, Host, Forwarded and X-Forwarded-* rules.
    pub forwarding: Arc<Forwarding>,
    /// `globalcors` and every route's `metadata.cors`.
    pub cors: Arc<CorsPolicy>,
}
