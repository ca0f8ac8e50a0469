//! Pipelines: listeners of their own, for TCP and HTTP.
//!
//! Each worker listens for each pipeline. A reload swaps what a listener serves by, opens listeners
//! that are new and closes those that are gone; connections go on as they began.

mod balance;
mod counters;
mod dubbo;
mod end;
mod frame;
mod health;
mod lifetime;
mod listening;
mod near;
mod relay;
mod set;
mod socks;
mod tcp;
mod turn;

pub(crate) use listening::{Order, take_orders};
pub(crate) use set::PipelineSet;
pub use set::PipelineStatus;
