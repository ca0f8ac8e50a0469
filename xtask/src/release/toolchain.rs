//! The parts of the toolchain that a profile-guided build needs: the host's name, and llvm-profdata
//! and llvm-nm of the same LLVM as rustc's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use weir_peers::interrupt::Interrupt;
use weir_peers::process::Process;
use weir_testkit::tree::root;

/// The time limit for rustup to install a component.
const PATIENCE: Duration = Duration::from_secs(300);

/// The toolchain in use.
#[derive(Debug)]
pub struct Toolchain {
    /// Such as `x86_64-unknown-linux-gnu`.
    pub host: String,
    /// The program that merges profiles.
    pub profdata: PathBuf,
    /// The program that lists symbols.
    pub nm: PathBuf,
}

impl Toolchain {
    /// Finds the toolchain, and makes rustup install llvm-tools if they are missing.
    ///
    /// # Errors
    /// There is no rustc, rustup does not have the tools, or Ctrl-C.
    pub fn find(interrupt: &Interrupt) -> anyhow::Result<Self> {
        let host = host(&rustc(&["-vV"])?)?;
        let sysroot = rustc(&["--print", "sysroot"])?;
        let [profdata, nm] =
            ["llvm-profdata", "llvm-nm"].map(|name| tool(Path::new(sysroot.trim()), &host, name));
        if !profdata.is_file() || !nm.is_file() {
            let add = ["rustup", "component", "add", "llvm-tools"].map(str::to_owned);
            eprintln!("{}", add.join(" "));
            Process::visible(&add, &[])?.finish(PATIENCE, interrupt)?;
        }
        for tool in [&profdata, &nm] {
            ensure!(tool.is_file(), missing(tool));
        }
        Ok(Self { host, profdata, nm })
    }

    /// Whether the linker accepts an order of functions: on this host only, rustc brings and uses
    /// one that does (LLD).
    pub fn takes_order(&self) -> bool {
        self.host == "x86_64-unknown-linux-gnu"
    }
}

fn rustc(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("rustc").current_dir(root()).args(arguments).output();
    let output = output.context("rustc is not on PATH: install Rust from https://rustup.rs")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "rustc {}: {}", arguments.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The host in what `rustc -vV` prints.
fn host(version: &str) -> anyhow::Result<String> {
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.with_context(|| format!("rustc -vV names no host:\n{version}"))?.trim().to_owned())
}

fn tool(sysroot: &Path, host: &str, name: &str) -> PathBuf {
    sysroot.join("lib/rustlib").join(host).join("bin").join(name)
}

fn missing(tool: &Path) -> String {
    format!(
        "{} is not there, and rustup has not brought it: run `rustup component add llvm-tools` \
         where rustup reaches its server; or do without a profile (`cargo build --release`)",
        tool.display()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{host, missing, tool};

    #[test]
    fn the_host_is_read() {
        let version = "rustc 1.95.0 (abc 2026-01-01)\nbinary: rustc\nhost: aarch64-unknown-linux-gnu\n\
                       release: 1.95.0\n";
        assert_eq!(host(version).unwrap(), "aarch64-unknown-linux-gnu");
        assert!(host("gcc 12").unwrap_err().to_string().contains("gcc 12"));
    }

    #[test]
    fn what_is_missing_is_told_with_what_to_do() {
        let path = tool(Path::new("/s y s"), "h-o-st", "llvm-profdata");
        assert_eq!(path, Path::new("/s y s/lib/rustlib/h-o-st/bin/llvm-profdata"));
        let told = missing(&path);
        for words in [&*path.display().to_string(), "rustup component add llvm-tools", "--release"]
        {
            assert!(told.contains(words), "{told}");
        }
    }
}
