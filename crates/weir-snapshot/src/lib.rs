//! Data that the gateway runs on: settings and the [`Snapshot`] that requests are served from.
//!
//! Pure, and mostly data: `weir-config` makes it, the data plane reads it. A snapshot is immutable;
//! a new configuration or a changed route makes a new snapshot.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod ambiguity;
mod ambiguous_paths;
mod discovery;
mod memory;
mod pipeline;
mod reach;
mod secret;
mod security;
mod settings;
mod snapshot;

pub use ambiguity::Ambiguity;
pub use ambiguous_paths::AmbiguousPaths;
pub use discovery::{Consul, Discovery, Dns, Eureka, Kubernetes, Nacos, Zookeeper};
pub use memory::Memory;
pub use pipeline::{
    AddressRule, DubboSettings, Fits, FrameSettings, HealthCheck, Pattern, PipelineLimit,
    PipelineRoute, PipelineTimeouts, ProxyProtocol, ProxyVersion, Sharing, SocksRules, network,
};
pub use reach::{is_admin, is_link_local, is_metadata};
pub use secret::Secret;
pub use security::Security;
pub use settings::{
    ADMIN_PORT, Access, AccessLog, AccessLogFormat, Admin, Compat, FIXED_POOL_SIZE, Management,
    PoolSettings, ScgLine, Settings, TenantToken,
};
pub use snapshot::{
    ForwardTo, Pipeline, Protocol, RouteCors, RoutePolicy, RouteTarget, RouteTimeouts, Snapshot,
    Upstream,
};
