//! The admin side of the gateway: Spring Cloud Gateway's actuator, and what it lacks.
//!
//! [`Server`] offers the route table of a [`Control`](weir_control::Control) over HTTP, on a thread
//! of its own. What this crate needs to know of the data plane arrives through [`Hooks`].

#![deny(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod access;
mod answer;
mod definition;
mod display;
mod endpoint;
mod explain;
mod explanation;
mod hooks;
mod redact;
mod rights;
mod serve;
mod site;
mod write_timeout;

pub use access::{AccessRules, TenantRule};
pub use definition::read_definition;
pub use endpoint::{
    breakers_metrics, breakers_prometheus, limits_metrics, limits_prometheus, openapi,
};
pub use explain::explain;
pub use explanation::{Candidate, Explanation, Question, Step};
pub use hooks::{Hooks, Level, Logger, ReadLoggers, ReadServices, Refresh, SetLogger};
pub use serve::Server;
pub use site::{ENDPOINTS, Exposure, Kind, Limits, Site, SiteOptions, on_main_port};
