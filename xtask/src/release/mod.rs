//! The binaries as they are released: `cargo xtask release` builds weir by the profile of a
//! training, everything else is built plainly.

mod layout;
mod load;
mod order;
mod profiled;
mod toolchain;
mod training;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::peers::interrupt::Interrupt;
use crate::tree::{root, target};
pub use toolchain::Toolchain;

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
    println!("{}", Build::Profiled.weir(&interrupt)?.display());
    Ok(())
}

/// How weir is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As `cargo build --release` does.
    Plain,
    /// As `cargo xtask release` does.
    Profiled,
}

impl Build {
    /// What `--plain` asks for.
    pub fn of(plain: bool) -> Self {
        if plain { Self::Plain } else { Self::Profiled }
    }

    /// The weir that is built so.
    ///
    /// # Errors
    /// As for [`run`].
    pub fn weir(self, interrupt: &Interrupt) -> anyhow::Result<PathBuf> {
        match self {
            Self::Plain => Ok(build(&["weir"])?.join("weir")),
            Self::Profiled => profiled::build(&Toolchain::find(interrupt)?, interrupt),
        }
    }

    /// The line for the notes of a report.
    pub fn line(self) -> &'static str {
        match self {
            Self::Plain => "weir: `cargo build --release`",
            Self::Profiled => "weir: `cargo xtask release` (profile-guided)",
        }
    }
}

/// Builds `packages` in release, plainly; the folder that their binaries are in.
///
/// # Errors
/// They do not build.
pub fn build(packages: &[&str]) -> anyhow::Result<PathBuf> {
    eprintln!("building {} in release", packages.join(" and "));
    let built = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["build", "--release", "--quiet"])
        .args(packages.iter().flat_map(|package| ["-p", package]))
        .status()
        .context("cargo")?;
    ensure!(built.success(), "{} does not build", packages.join(" or "));
    Ok(target().join("release"))
}

/// The weir that was `given`, in whatever folder it is run; else `weir` built in release, plainly.
///
/// # Errors
/// What was given is not there, or it does not build.
pub fn weir(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(file) = given else { return Ok(build(&["weir"])?.join("weir")) };
    let file = std::path::absolute(file)?;
    ensure!(file.is_file(), "{} is not there: give --weir the path of a binary", file.display());
    Ok(file)
}
