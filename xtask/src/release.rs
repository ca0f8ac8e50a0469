//! The binaries as they are released.

use std::path::PathBuf;
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

/// `weir`, built in release.
///
/// # Errors
/// It does not build.
pub fn weir() -> anyhow::Result<PathBuf> {
    Ok(build(&["weir"])?.join("weir"))
}
