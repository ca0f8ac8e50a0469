//! `weir lab`: weir's own experiments, part of the load generator's crate.

use std::process::ExitCode;

/// Arguments of `weir lab`.
pub type LabArgs = weir_bench::lab::Args;

/// Runs an experiment.
///
/// # Errors
/// None: the exit code tells.
pub fn run(args: LabArgs) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::from(weir_bench::lab::run(&args)))
}
