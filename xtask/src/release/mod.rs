//! The binary as it is released: `cargo xtask release` builds weir by the profile of a training.

mod layout;
mod load;
mod order;
mod profiled;
mod toolchain;
mod training;

use weir_peers::interrupt::Interrupt;

use toolchain::Toolchain;

/// Arguments of `xtask release`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Builds weir with counters, lets it do a gateway's work on 127.0.0.1 for about a minute, and builds
it anew by what was counted: 10 to 15 minutes on two cores. What has not changed is not done again.
RUSTFLAGS are kept; flags of a cargo configuration give way to them, as ever.
Needs rustup's llvm-tools and adds them. Prints the path of the program.
Ctrl-C ends it with everything it started.")]
pub struct ReleaseArgs {}

/// Runs it.
///
/// # Errors
/// There is no llvm-profdata, weir does not build or fails in its training, or Ctrl-C.
pub fn run(_: &ReleaseArgs) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    println!("{}", profiled::build(&Toolchain::find(&interrupt)?, &interrupt)?.display());
    Ok(())
}
