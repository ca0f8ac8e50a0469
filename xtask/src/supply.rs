//! Third-party dependencies: licences, sources, banned and duplicate crates, known vulnerabilities.
//!
//! `cargo deny` judges it by `deny.toml`. `cargo xtask tools` installs it under `target/`; where it
//! is missing, the check is left out and says so.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use weir_testkit::tree::root;

/// Version of cargo-deny that `deny.toml` is written for.
const VERSION: &str = "0.20.2";

/// The message where cargo-deny is missing.
const MISSING: &str = "\
left out: dependencies against deny.toml: there is no cargo-deny; `cargo xtask tools` installs it\n";

/// The platform that `deny.toml` judges for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Every dependency that deny.toml rejects; reports it if the check could not run.
pub fn findings() -> Vec<String> {
    let Some(tool) = tool() else {
        // Not by `eprintln`, which a test that passes keeps to itself.
        let _ = std::io::stderr().write_all(MISSING.as_bytes());
        return Vec::new();
    };
    judge(&tool, root()).unwrap_or_else(|error| vec![format!("{error:#}")])
}

/// Installs cargo-deny, unless it is there.
///
/// # Errors
/// It could not be built, or the crate registry is not in reach.
pub fn install() -> anyhow::Result<()> {
    if let Some(tool) = tool() {
        println!("cargo-deny is there: {}", tool.display());
        return Ok(());
    }
    let home = home();
    let building = home.join("build");
    eprintln!("installing cargo-deny {VERSION} in {} (about a minute)", home.display());
    let status = Command::new(env!("CARGO"))
        .args(["install", "cargo-deny", "--version", VERSION, "--locked", "--debug"])
        .arg("--root")
        .arg(&home)
        .arg("--target-dir")
        .arg(&building)
        .status()?;
    ensure!(
        status.success(),
        "cargo-deny {VERSION} could not be installed: try again with the crate registry in reach"
    );
    Ok(std::fs::remove_dir_all(building)?)
}

/// The findings of cargo-deny, at `tool`, in the workspace at `root`, warnings included.
fn judge(tool: &Path, root: &Path) -> anyhow::Result<Vec<String>> {
    let manifest = root.join("Cargo.toml");
    let mut fetch = Command::new(env!("CARGO"));
    fetch.args(["fetch", "--locked", "--quiet", "--target", TARGET, "--manifest-path"]);
    // Needed before a first build only; otherwise the registry is not contacted.
    ensure!(
        fetch.arg(&manifest).status()?.success(),
        "what Cargo.lock names could not be fetched: try again with the crate registry in reach"
    );
    let mut checks = vec!["licenses", "bans", "sources"];
    // The database is not fetched here: advisories are checked where there is a local copy.
    if has_advisories().unwrap_or(false) {
        checks.push("advisories");
    }
    let output = Command::new(tool)
        .args(["--format", "json", "--offline", "--locked", "--manifest-path"])
        .arg(&manifest)
        .args(["check", "--deny", "warnings"])
        .args(checks)
        .output()
        .context("cargo-deny does not start")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let findings: Vec<String> = said.lines().filter_map(finding).collect();
    ensure!(output.status.success() || !findings.is_empty(), "cargo-deny: {}", said.trim());
    Ok(findings)
}

/// The message of one line of its report, if that is a finding.
fn finding(line: &str) -> Option<String> {
    let told: serde_json::Value = serde_json::from_str(line).ok()?;
    let fields = &told["fields"];
    let bad = matches!(fields["severity"].as_str()?, "error" | "warning");
    let place = fields["labels"][0]["span"].as_str().unwrap_or_default();
    bad.then(|| format!("{} {place}", fields["message"].as_str().unwrap_or(line)))
}

/// Whether the database of `cargo deny fetch` is present.
fn has_advisories() -> Option<bool> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let mut copies = std::fs::read_dir(home.join("advisory-dbs")).ok()?;
    Some(copies.any(|entry| entry.is_ok_and(|entry| entry.path().is_dir())))
}

/// cargo-deny: that of `cargo xtask tools`, else one of the same version on the search path.
fn tool() -> Option<PathBuf> {
    let own = home().join("bin/cargo-deny");
    if own.exists() {
        return Some(own);
    }
    let output = Command::new("cargo-deny").arg("--version").output().ok()?;
    let told = String::from_utf8_lossy(&output.stdout);
    (told.trim() == format!("cargo-deny {VERSION}")).then(|| "cargo-deny".into())
}

/// The folder in which `cargo xtask tools` installs it.
fn home() -> PathBuf {
    root().join("target/tools").join(format!("cargo-deny-{VERSION}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    #[test]
    fn the_dependencies_are_allowed() {
        assert_eq!(super::findings(), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_allowed_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        write("src/lib.rs", "");
        write(
            "Cargo.toml",
            "[package]\nname = \"bad\"\nversion = \"1.0.0\"\nlicense = \"GPL-3.0\"\n",
        );
        write("Cargo.lock", "version = 4\n[[package]]\nname = \"bad\"\nversion = \"1.0.0\"\n");
        let rules = "[licenses]\nallow = [\n    \"MIT\",\n]\n[bans]\ndeny = [\n    \"bad\",\n]\n";
        write("deny.toml", rules);
        let Some(tool) = super::tool() else {
            eprint!("{}", super::MISSING);
            return;
        };
        let found = super::judge(&tool, folder.path()).unwrap().join("\n");
        for part in ["license", "banned"] {
            assert!(found.contains(part), "{part}: {found}");
        }
    }
}
