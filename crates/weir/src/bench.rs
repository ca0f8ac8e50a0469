//! `weir bench`: the load generator, a crate of its own.

use std::process::ExitCode;

/// Arguments of `weir bench`; boxed, because they are many.
pub type BenchArgs = Box<weir_bench::cli::Args>;

/// Generates load and reports what was measured.
///
/// # Errors
/// None: the exit code tells.
pub fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::from(weir_bench::cli::run(*args)))
}
