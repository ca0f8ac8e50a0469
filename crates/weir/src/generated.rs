//! `weir completions` and `weir man`: generated from the commands themselves.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

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

/// Arguments of `weir man`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: weir man --out /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Directory to write to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
}

/// Prints the completions of `C`.
///
/// # Errors
/// None.
pub fn completions<C: CommandFactory>(args: CompletionsArgs) -> anyhow::Result<ExitCode> {
    clap_complete::generate(args.shell, &mut C::command(), "weir", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}

/// Writes the man pages of `C`.
///
/// # Errors
/// The directory cannot be written.
pub fn man<C: CommandFactory>(args: ManArgs) -> anyhow::Result<ExitCode> {
    clap_mangen::generate_to(C::command(), &args.out).with_context(|| {
        format!("cannot write to {}; name a directory with --out", args.out.display())
    })?;
    Ok(ExitCode::SUCCESS)
}
