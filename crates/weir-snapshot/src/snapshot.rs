//! The immutable runtime configuration that requests are served from, swapped as a whole. It has
//! pipelines, and each pipeline that speaks HTTP has a snapshot of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use weir_balance::{Cluster, Group, Service};
use weir_filter::cors::{CorsPolicy, CorsRule};
use weir_filter::forwarding::Forwarding;
use weir_filter::{Chain, Target};
use weir_mock::MockSource;
use weir_route::RouteGroup;
use weir_route::index::Index;

use crate::ambiguous_paths::AmbiguousPaths;
use crate::pipeline::{
    DubboSettings, FrameSettings, HealthCheck, PipelineLimit, PipelineRoute, PipelineTimeouts,
    ProxyProtocol, SocksRules,
};
use crate::security::Security;
use crate::settings::Settings;

/// The target of a route: what happens to a request that matches.
#[derive(Debug)]
pub struct RouteTarget {
    /// Filters, shared between routes with equal ones.
    pub chain: Chain,
    /// Destination of requests.
    pub upstream: Upstream,
    /// Gateway settings in the route's `metadata`; `None` for most routes, which costs one word.
    pub policy: Option<Arc<RoutePolicy>>,
    /// Index of its counters; 0 before its first request, and always 0 if its requests are counted
    /// together with those of other routes. It lies here because this cache line is read anyway.
    pub series: AtomicU32,
}

/// Gateway settings in the metadata of a route. Routes with equal timeouts and no CORS rules share
/// one.
#[derive(Debug)]
pub struct RoutePolicy {
    /// `metadata.cors`; input of the CORS policy of a [`Snapshot`].
    pub cors: Option<RouteCors>,
    /// `metadata.connect-timeout` and `metadata.response-timeout`.
    pub timeouts: RouteTimeouts,
    /// `metadata.ambiguous-paths`, else `weir.server.ambiguous-paths`.
    pub ambiguous_paths: AmbiguousPaths,
}

impl RouteTarget {
    /// The timeouts that the route sets for itself, if any.
    pub fn timeouts(&self) -> Option<&RouteTimeouts> {
        self.policy.as_ref().map(|policy| &policy.timeouts)
    }

    /// Policy for paths that servers parse differently.
    pub fn ambiguous_paths(&self) -> AmbiguousPaths {
        self.policy.as_ref().map(|policy| policy.ambiguous_paths).unwrap_or_default()
    }

    /// The CORS rules of the route, if any.
    pub fn cors(&self) -> Option<&RouteCors> {
        self.policy.as_ref().and_then(|policy| policy.cors.as_ref())
    }
}

/// CORS rules of a route.
#[derive(Debug)]
pub struct RouteCors {
    /// First pattern of the first Path predicate; `None` is every path.
    pub pattern: Option<String>,
    /// Group of the route, without its predicates.
    pub group: Option<Arc<RouteGroup>>,
    /// The rules.
    pub rule: Arc<CorsRule>,
}

/// Timeouts that a route sets for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RouteTimeouts {
    /// `metadata.connect-timeout`.
    pub connect: Option<Duration>,
    /// `metadata.response-timeout`; `Some(None)` switches the global one off.
    pub response: Option<Option<Duration>>,
}

/// Kinds of upstream (scg.md 1.6).
#[derive(Debug)]
pub enum Upstream {
    /// `http:`/`ws:`; interned, so equal targets are one allocation and one pool.
    Http(Arc<Target>),
    /// `lb:`; round robin over the instances of a service, which change while the route stays.
    Balanced(Arc<Service>),
    /// `lb:` or `upstream:`; a load-balancing policy chooses the instance.
    Clustered(Arc<Cluster>),
    /// `forward:`; the request is routed again with this path.
    Forward(Box<ForwardTo>),
    /// `mock:`; answers are made from API definitions.
    Mock(Box<MockSource>),
    /// `no:` and unknown schemes: no routing filter acts, 200 with an empty body.
    None,
}

/// Target of a `forward:` uri; boxed, so that other routes stay small.
#[derive(Debug)]
pub struct ForwardTo {
    /// The path.
    pub path: String,
}

/// Everything that a request needs of the configuration.
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
    /// Token verification, if requests need tokens.
    pub security: Option<Arc<Security>>,
    /// Listeners beside the gateway's own.
    pub pipelines: Arc<[Arc<Pipeline>]>,
}

impl Snapshot {
    /// Whether a path lies outside `spring.webflux.base-path`: then no route serves it, whatever
    /// its predicates, and no CORS rule applies.
    pub fn is_outside(&self, path: &[u8]) -> bool {
        let base = self.settings.base_path.as_bytes();
        if base.is_empty() {
            return false;
        }
        !path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

/// A pipeline: the data by which a worker serves the connections of a listener.
#[derive(Debug)]
pub struct Pipeline {
    /// Its name.
    pub id: String,
    /// Addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// Protocol of its clients.
    pub protocol: Protocol,
    /// Default upstream group, for connections that no route matches.
    pub upstream: Arc<Group>,
    /// Routes to other upstream groups.
    pub routes: Vec<PipelineRoute>,
    /// PROXY protocol headers that it accepts and sends.
    pub proxy_protocol: ProxyProtocol,
    /// Limit of new connections or messages; in an HTTP pipeline a filter applies it instead.
    pub limit: Option<PipelineLimit>,
    /// Name of the limit, also if a filter applies it.
    pub limit_name: Option<String>,
    /// Timeouts.
    pub timeouts: PipelineTimeouts,
    /// Health check of upstreams, if any.
    pub check: Option<HealthCheck>,
}

/// Protocol of a pipeline.
#[derive(Debug)]
pub enum Protocol {
    /// Plain TCP: bytes are passed on unread.
    Tcp,
    /// HTTP/1, with a route table of one route.
    Http(Arc<Snapshot>),
    /// SOCKS 4, 4a and 5: clients name the target.
    Socks(SocksRules),
    /// Messages of fixed length, or prefixed with their length.
    Frame(FrameSettings),
    /// Dubbo2 calls.
    Dubbo(DubboSettings),
}

impl Protocol {
    /// Name in the configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Http(_) => "http",
            Self::Socks(_) => "socks",
            Self::Frame(_) => "frame",
            Self::Dubbo(_) => "dubbo",
        }
    }
}
