//! The admin side of the gateway: Spring Cloud Gateway's actuator, and what it lacks.
//!
//! [`Control`] is the one place that changes the route table; [`Server`] offers it over HTTP, on a
//! thread of its own. The data plane knows neither: it reads the snapshot that
//! [`Control::published`] gives, and what this crate needs to know of it arrives through [`Hooks`].

#![deny(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod access;
mod answer;
mod apis;
mod control;
mod definition;
mod display;
mod endpoint;
mod explain;
mod hooks;
mod patience;
mod secrecy;
mod serve;
mod site;

pub use access::AccessRules;
pub use control::{
    Batch, ChangeTimes, Condition, Control, Done, Entry, Filter, Loaded, Origin, Problem, Refusal,
    STORE_POSITION, View,
};
pub use definition::read_definition;
pub use endpoint::{
    breakers_metrics, breakers_prometheus, limits_metrics, limits_prometheus, openapi,
};
pub use explain::{Candidate, Explanation, Question, Step, explain};
pub use hooks::{Hooks, Level, Logger, ReadLoggers, ReadServices, Refresh, SetLogger};
pub use serve::Server;
pub use site::{ENDPOINTS, Exposure, Kind, Limits, Site, SiteOptions, on_main_port};
