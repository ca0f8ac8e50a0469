//! `cargo xtask peers mock`: what an answer of a mock costs, beside nginx, Prism, WireMock and
//! MockServer. The measurement is `bench/mock-peers.sh`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use weir_testkit::tree;

use crate::program;

/// Arguments of `xtask peers mock`.
#[derive(Debug, clap::Args)]
pub struct MockArgs {
    /// Rounds, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: u32,
    /// How long each peer answers in a round
    #[arg(long, value_name = "SECONDS", default_value_t = 4)]
    seconds: u32,
    /// Where to write the figures as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The weir to measure; without it, weir is built in release
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
}

/// Measures, and prints the table.
///
/// # Errors
/// weir does not build, a tool is missing, or what has to answer does not.
pub fn run(args: &MockArgs) -> anyhow::Result<()> {
    let weir = program::weir(args.weir.as_deref())?;
    let mut script = Command::new("bash");
    script.arg(tree::root().join("bench/mock-peers.sh")).env("WEIR", weir);
    script.args([args.rounds.to_string(), args.seconds.to_string()]).args(&args.json);
    let status = script.status().context("bash does not start")?;
    ensure!(status.success(), "bench/mock-peers.sh failed: {status}");
    Ok(())
}
