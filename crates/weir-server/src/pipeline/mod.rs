//! Pipelines: additional listeners, for TCP and HTTP.
//!
//! Each worker listens for each pipeline. A reload swaps the configuration of a listener, opens new
//! listeners and closes removed ones; open connections keep their configuration.

mod balance;
mod counters;
mod dubbo;
mod end;
mod frame;
mod health;
mod http;
mod lifetime;
mod listening;
mod near;
mod relay;
mod set;
mod socks;
mod tcp;
mod turn;

pub use dubbo::DUBBO_CALL_MS_MAX;
pub(crate) use http::HttpPipeline;
pub(crate) use listening::{Order, take_orders};
pub(crate) use set::PipelineSet;
pub use set::PipelineStatus;
