//! `weir completions`: generated from the commands themselves.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Weir;

/// Arguments of `weir completions`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir completions bash > /etc/bash_completion.d/weir
  weir completions zsh > ~/.zfunc/_weir")]
pub struct CompletionsArgs {
    /// Which shell.
    pub shell: Shell,
}

/// Prints the completions of all commands.
///
/// # Errors
/// None.
pub fn run(args: CompletionsArgs) -> anyhow::Result<ExitCode> {
    clap_complete::generate(args.shell, &mut Weir::command(), "weir", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
