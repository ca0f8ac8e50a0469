//! The binaries as they are released.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::tree::root;

/// Builds `packages` in release; the folder that their binaries are in.
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
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    Ok(root().join(target).join("release"))
}

/// The weir that was `given`, in whatever folder it is run; else `weir` built in release.
///
/// # Errors
/// What was given is not there, or it does not build.
pub fn weir(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(file) = given else { return Ok(build(&["weir"])?.join("weir")) };
    let file = std::path::absolute(file)?;
    ensure!(file.is_file(), "{} is not there: give --weir the path of a binary", file.display());
    Ok(file)
}
