//! Load generation with honest latency: `weir bench`.
//!
//! A [`plan::Plan`] composes *arrival × stop × driver*; [`driver::run`] runs it; the rest turns the
//! record into verdicts, reports and comparisons. The design is in `docs/decisions/0006-bench.md`.

pub mod arrival;
pub mod cli;
pub mod clock;
pub mod conduct;
pub mod descriptors;
pub mod dialect;
pub mod dice;
pub mod driver;
pub mod environment;
pub mod import;
mod interrupt;
pub mod journey;
mod judged;
pub mod lab;
mod live;
pub mod network;
pub mod outcome;
pub mod plan;
pub mod plan_file;
pub mod process;
pub mod record;
pub mod report;
mod server;
pub mod stats;
pub mod target;
pub mod trace;
pub mod units;
pub mod verdict;
