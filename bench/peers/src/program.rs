//! The measured programs of this repository: built, or given.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use weir_testkit::tree::{root, target};

/// The kind of weir's build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As `cargo build --release` does.
    Plain,
    /// As `cargo xtask release` does.
    Profiled,
}

impl Build {
    /// The build that `--plain` selects.
    pub fn of(plain: bool) -> Self {
        if plain { Self::Plain } else { Self::Profiled }
    }

    /// The weir that is built so.
    ///
    /// # Errors
    /// It does not build; by its profile, with the flag that does without.
    pub fn weir(self) -> anyhow::Result<PathBuf> {
        match self {
            Self::Plain => Ok(build(&["weir"])?.join("weir")),
            Self::Profiled => released()
                .context("weir is measured as it is released, or as built plainly with --plain"),
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

/// The program that `cargo xtask release` builds. It says on its standard output only where that
/// is.
fn released() -> anyhow::Result<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["run", "--quiet", "--package", "xtask", "--", "release"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo")?;
    ensure!(output.status.success(), "`cargo xtask release` failed");
    let file = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    ensure!(file.is_file(), "{}, which `cargo xtask release` names, is not there", file.display());
    Ok(file)
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
