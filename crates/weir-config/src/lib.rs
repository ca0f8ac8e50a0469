//! Spring configuration files to a checked, compiled [`Snapshot`].
//!
//! Pure: text goes in, a snapshot or every problem at once (with its place) comes out. Reading
//! files and the environment is done by the caller.

#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod ambiguity;
mod breakers;
mod caching;
mod check;
mod compile;
mod compression;
mod cors;
mod definitions;
mod deviation;
mod diagnostic;
mod discovery;
mod fields;
mod forwards;
mod imports;
mod limits;
mod loaded;
mod memory;
mod mocks;
mod oauth;
mod options;
mod pipelines;
mod property;
mod redis;
mod routes;
mod security;
mod settings;
mod snapshot;
mod source;
mod spring;
mod upstreams;
mod uri;
mod value;

pub use ambiguity::{Ambiguity, AmbiguousPaths};
pub use compile::{Compiler, Part, Problem};
pub use definitions::{Definitions, Reader as DefinitionReader};
pub use deviation::{DEVIATIONS, Deviation};
pub use diagnostic::{
    Category, Code, Diagnostic, Severity, Style, findings_reference, is_secret, render, to_json,
};
pub use discovery::{Consul, Discovery, Dns, Eureka, Kubernetes, Nacos};
pub use imports::{
    ConfigServer, ConsulFormat, ConsulServer, Content, DataId, DataIdFormat, Fetched, Import,
    Location, NacosServer, Outcome, Retry, Server, Watching,
};
pub use loaded::{Checked, Compiled, Loaded, Loader};
pub use memory::Memory;
pub use mocks::{CommonMocks, FileAccess};
pub use pipelines::{
    AddressRule, Fits, FrameSettings, HealthCheck, Pattern, Pipeline, PipelineLimit, PipelineRoute,
    PipelineTimeouts, Protocol, ProxyProtocol, ProxyVersion, SocksRules,
};
pub use property::{
    Kind as PropertyKind, PropertySpec, Root as PropertyRoot, Usage as PropertyUsage, json_schema,
    reference, registry,
};
pub use security::Security;
pub use settings::{
    ADMIN_PORT, Access, AccessLog, AccessLogFormat, Admin, Compat, Management, PoolSettings,
    ScgLine, Secret, Settings,
};
pub use snapshot::{
    ForwardTo, RouteCors, RoutePolicy, RouteTarget, RouteTimeouts, Snapshot, Upstream,
};
pub use source::{Format, Place, SOURCE_BYTES_MAX, Source, Sources, Span};
