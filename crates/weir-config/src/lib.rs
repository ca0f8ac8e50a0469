//! Compiles Spring configuration files to a checked [`Snapshot`](weir_snapshot::Snapshot).
//!
//! Pure: the input is text, the output a snapshot or all problems with their places. The caller
//! reads files and the environment.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod breakers;
mod caching;
mod check;
mod compile;
mod compiled;
mod compression;
mod cors;
mod definitions;
mod deviation;
mod diagnostic;
mod fields;
mod forwards;
mod imports;
mod limits;
mod loaded;
mod mocks;
mod oauth;
mod options;
mod pipelines;
mod property;
mod redis;
mod routes;
mod security;
mod source;
mod spring;
mod tenant_tokens;
mod upstreams;
mod uri;
mod value;

pub use compile::{Compiler, Part, Problem};
pub use compiled::{Checked, Compiled};
pub use definitions::{Definitions, Reader as DefinitionReader};
pub use deviation::{DEVIATIONS, Deviation};
pub use diagnostic::{
    Category, Code, Diagnostic, Severity, Style, findings_reference, is_secret, render, to_json,
};
pub use imports::{
    ConfigServer, ConsulFormat, ConsulServer, Content, DataId, DataIdFormat, Fetched, Import,
    Location, NacosServer, Outcome, Retry, Server, Watching,
};
pub use loaded::{Loaded, Loader};
pub use mocks::{CommonMocks, FileAccess, TenantRules};
pub use pipelines::DUBBO_SHARING;
pub use property::{
    Kind as PropertyKind, PropertySpec, Root as PropertyRoot, Usage as PropertyUsage, json_schema,
    reference, registry,
};
pub use source::{Format, Place, SOURCE_BYTES_MAX, Source, Sources, Span};
pub use weir_filter::{DESCRIPTOR_BYTES_MAX, Descriptors};
