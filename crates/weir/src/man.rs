//! `weir man`: generated from the commands themselves.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::Weir;

/// Arguments of `weir man`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: weir man --out /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Directory to write to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
}

/// Writes the man pages of all commands.
///
/// # Errors
/// The directory cannot be written.
pub fn run(args: ManArgs) -> anyhow::Result<ExitCode> {
    clap_mangen::generate_to(Weir::command(), &args.out).with_context(|| {
        format!("cannot write to {}; name a directory with --out", args.out.display())
    })?;
    Ok(ExitCode::SUCCESS)
}
