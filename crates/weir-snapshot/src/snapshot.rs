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

/// What a matched route leads to.
#[derive(Debug)]
pub struct RouteTarget {
    /// Filters, shared between routes with equal ones.
    pub chain: Chain,
    /// Where requests go.
    pub upstream: Upstream,
    /// What `metadata` says to the gateway; `None` for most routes, and one word for them.
    pub policy: Option<Arc<RoutePolicy>>,
    /// The number of its counters; 0 before its first request, and for good if it is counted
    /// together with others. It lies here because that is in a cache when a request is routed.
    pub series: AtomicU32,
}

/// What the metadata of a route says to the gateway. Shared between routes that say the same of
/// timeouts and nothing of origins.
#[derive(Debug)]
pub struct RoutePolicy {
    /// `metadata.cors`. The policy of a [`Snapshot`] is made from them.
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

    /// What becomes of paths that servers read in different ways.
    pub fn ambiguous_paths(&self) -> AmbiguousPaths {
        self.policy.as_ref().map(|policy| policy.ambiguous_paths).unwrap_or_default()
    }

    /// The cross-origin rules that the route brings, if any.
    pub fn cors(&self) -> Option<&RouteCors> {
        self.policy.as_ref().and_then(|policy| policy.cors.as_ref())
    }
}

/// Cross-origin rules that a route brings.
#[derive(Debug)]
pub struct RouteCors {
    /// First pattern of the first Path predicate; `None` is every path.
    pub pattern: Option<String>,
    /// Where the route's group stands, if it has one; without predicates.
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

/// The kinds of upstream a route may have (scg.md 1.6).
#[derive(Debug)]
pub enum Upstream {
    /// `http:`/`ws:`; interned, so equal targets are one allocation and one pool.
    Http(Arc<Target>),
    /// `lb:`; the instances of a service in turn, which change beneath the route.
    Balanced(Arc<Service>),
    /// `lb:` or `upstream:`; an instance is chosen by rules.
    Clustered(Arc<Cluster>),
    /// `forward:`; the request goes to the route of this path.
    Forward(Box<ForwardTo>),
    /// `mock:`; answers are made from API definitions.
    Mock(Box<MockSource>),
    /// `no:` and unknown schemes: no routing filter acts, 200 with an empty body.
    None,
}

/// Where a `forward:` uri leads; behind one pointer, so that other routes stay small.
#[derive(Debug)]
pub struct ForwardTo {
    /// The path.
    pub path: String,
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
    /// Whose tokens requests must carry, if any.
    pub security: Option<Arc<Security>>,
    /// Listeners beside the gateway's own.
    pub pipelines: Arc<[Arc<Pipeline>]>,
}

impl Snapshot {
    /// Whether a path lies outside of `spring.webflux.base-path`: no route serves it, whatever its
    /// predicates say, and no rule for origins applies.
    pub fn is_outside(&self, path: &[u8]) -> bool {
        let base = self.settings.base_path.as_bytes();
        if base.is_empty() {
            return false;
        }
        !path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

/// One pipeline: data that a worker serves connections by.
#[derive(Debug)]
pub struct Pipeline {
    /// Its name.
    pub id: String,
    /// Where it listens.
    pub listen: Vec<SocketAddr>,
    /// What it speaks.
    pub protocol: Protocol,
    /// Where connections go that no route fits.
    pub upstream: Arc<Group>,
    /// Other ways out.
    pub routes: Vec<PipelineRoute>,
    /// Whether it takes and sends PROXY headers.
    pub proxy_protocol: ProxyProtocol,
    /// By what new connections or messages are paced; of one that speaks HTTP a filter does it.
    pub limit: Option<PipelineLimit>,
    /// Name of the limit, whoever applies it.
    pub limit_name: Option<String>,
    /// How long what may take.
    pub timeouts: PipelineTimeouts,
    /// How upstreams are looked at, if they are.
    pub check: Option<HealthCheck>,
}

/// What a pipeline speaks.
#[derive(Debug)]
pub enum Protocol {
    /// Bytes, whatever they mean.
    Tcp,
    /// HTTP/1, with a route table of one route.
    Http(Arc<Snapshot>),
    /// SOCKS 4, 4a and 5: clients say where to connect to.
    Socks(SocksRules),
    /// Messages of a fixed length, or with their length in front.
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
