//! What a request is served by: one immutable value, swapped whole.

use std::sync::Arc;
use std::time::Duration;

use weir_filter::{Chain, Target};

/// What a matched route leads to.
#[derive(Debug)]
pub struct RouteTarget {
    /// Filters, shared between routes with equal ones.
    pub chain: Arc<Chain>,
    /// Where requests go.
    pub upstream: Upstream,
    /// `metadata.connect-timeout`.
    pub connect_timeout: Option<Duration>,
    /// `metadata.response-timeout`; `Some(None)` switches the global one off.
    pub response_timeout: Option<Option<Duration>>,
}

/// The kinds of upstream a route may have (scg.md 1.6).
#[derive(Debug)]
pub enum Upstream {
    /// `http:`/`ws:`; interned, so equal targets are one allocation and one pool.
    Http(Arc<Target>),
    /// `lb:`; the instances of the service and a turn counter.
    Balanced(Arc<Service>),
    /// `no:` and unknown schemes: no routing filter acts, 200 with an empty body.
    None,
}

/// A service with static instances (`spring.cloud.discovery.client.simple.instances`).
#[derive(Debug)]
pub struct Service {
    /// Name as in `lb://name`.
    pub name: String,
    /// Instances in the order written.
    pub instances: Box<[Arc<Target>]>,
    /// Next turn of the round robin.
    pub turn: std::sync::atomic::AtomicUsize,
}

/// Everything one request needs of the configuration.
#[derive(Debug)]
pub struct Snapshot {}
