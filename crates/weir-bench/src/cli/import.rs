//! `weir bench import FORMAT FILE`: requests of another tool as a plan in YAML.

use crate::import::{Format, plan};
use anyhow::Context;
use std::path::PathBuf;

/// Arguments of `import`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ImportArgs {
    /// What the file is
    #[arg(value_enum)]
    format: Format,
    /// The file; the plan is written to standard output
    file: PathBuf,
}

/// Prints the plan.
pub(super) fn run(args: &ImportArgs) -> anyhow::Result<u8> {
    let name = || args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).with_context(name)?;
    super::say(&plan(args.format, &text).with_context(name)?);
    Ok(super::OK)
}
