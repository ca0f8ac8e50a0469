//! `weir bench import FORMAT FILE`: requests of another tool as a plan in YAML.

use crate::import::{Format, Given, plan};
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
    /// Base URL of the plan, instead of the one in the file
    #[arg(long, value_name = "URL")]
    target: Option<String>,
}

/// Prints the plan.
pub(super) fn run(args: &ImportArgs) -> anyhow::Result<u8> {
    let name = || args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).with_context(name)?;
    let file = name();
    let given = Given { target: args.target.as_deref(), file: &file };
    super::say(&plan(args.format, &text, &given).with_context(name)?);
    Ok(super::OK)
}
