//! Load generation with honest latency: `weir bench`.
//!
//! A [`plan::Plan`] composes *arrival × stop × driver*; [`driver::run`] runs it; the rest turns what
//! was recorded into verdicts, reports and comparisons. The design is in
//! `docs/decisions/0006-bench.md`.

pub mod arrival;
pub mod clock;
pub mod dice;
pub mod driver;
pub mod journey;
pub mod plan;
pub mod record;
pub mod units;
