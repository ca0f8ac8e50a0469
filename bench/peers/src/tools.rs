//! The programs a run needs: found, installed through apt-get on request, or built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::program::{self, Build};

/// A program of Debian's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The web server.
    Nginx,
    /// The proxy.
    Haproxy,
    /// The load generator with a closed loop.
    Wrk,
    /// ApacheBench.
    Ab,
    /// Counts system calls.
    Strace,
    /// Builds Spring Cloud Gateway.
    Maven,
    /// Runs it.
    Java,
    /// Builds the servers that are Go modules.
    Go,
    /// Keeps the objects of Kubernetes.
    Etcd,
    /// Asks HTTP APIs with TLS.
    Curl,
}

impl Tool {
    /// Name of the program, and of Debian's package.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Nginx => ("nginx", "nginx-light"),
            Self::Haproxy => ("haproxy", "haproxy"),
            Self::Wrk => ("wrk", "wrk"),
            Self::Ab => ("ab", "apache2-utils"),
            Self::Strace => ("strace", "strace"),
            Self::Maven => ("mvn", "maven"),
            Self::Java => ("java", "openjdk-17-jdk-headless"),
            Self::Go => ("go", "golang-go"),
            Self::Etcd => ("etcd", "etcd-server"),
            Self::Curl => ("curl", "curl"),
        }
    }

    /// The path of the program.
    fn path(self) -> Option<PathBuf> {
        let path = std::env::var("PATH").unwrap_or_default();
        let folders =
            path.split(':').chain(["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/go/bin"]);
        folders.map(|folder| Path::new(folder).join(self.names().0)).find(|file| file.is_file())
    }

    /// Its version.
    fn version(self) -> Option<String> {
        let flag = match self {
            Self::Nginx | Self::Haproxy | Self::Wrk => "-v",
            Self::Ab | Self::Strace => "-V",
            Self::Maven | Self::Java => "-version",
            Self::Go => "version",
            Self::Etcd | Self::Curl => "--version",
        };
        version_of(&self.path()?, flag)
    }
}

/// The first line with a digit in a program's version output.
pub fn version_of(program: &Path, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()))?;
    let line = line.split("https://").next()?.split("Copyright").next()?;
    let line = line.trim_start_matches("\u{1b}[1m").trim_end_matches("\u{1b}[m");
    Some(line.trim_end_matches([' ', '-']).to_owned())
}

/// Paths of the programs of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Tools {
    /// The path of `weir`, built for release by default.
    pub weir: PathBuf,
    /// `weir-bare`, built in release.
    pub bare: PathBuf,
    /// The build of weir, and versions of the others, a line each.
    pub versions: Vec<String>,
}

impl Tools {
    /// Finds or installs `needed` and builds ours.
    ///
    /// # Errors
    /// Something is missing, or does not build.
    pub fn prepare(needed: &[Tool], install: bool, weir: Build) -> anyhow::Result<Self> {
        find(needed, install)?;
        let versions = needed.iter().filter_map(|tool| tool.version());
        let versions = std::iter::once(weir.line().to_owned()).chain(versions).collect();
        let weir = weir.weir()?;
        let bare = program::build(&["weir-bare"])?.join("weir-bare");
        Ok(Self { weir, bare, versions })
    }
}

/// Finds or installs `needed`.
///
/// # Errors
/// Something is missing.
pub fn find(needed: &[Tool], install: bool) -> anyhow::Result<()> {
    let missing = || -> Vec<&str> {
        needed.iter().filter(|tool| tool.path().is_none()).map(|tool| tool.names().1).collect()
    };
    let packages = missing();
    if packages.is_empty() {
        return Ok(());
    }
    if install {
        eprintln!("apt-get install {}", packages.join(" "));
        let run = |arguments: &[&str]| {
            Command::new("apt-get")
                .args(arguments)
                .env("DEBIAN_FRONTEND", "noninteractive")
                .status()
        };
        run(&["update", "-q"])?;
        run(&[&["install", "-y", "-q", "--no-install-recommends"][..], &packages].concat())?;
    }
    match missing() {
        still if still.is_empty() => Ok(()),
        still => bail!(
            "not on this machine; run this as root, or say --install as root:\n  apt-get install {}",
            still.join(" ")
        ),
    }
}

/// The path of a tool that [`Tools::prepare`] found.
///
/// # Errors
/// It is not there.
pub fn path(tool: Tool) -> anyhow::Result<String> {
    let path = tool.path().with_context(|| format!("{} is not here", tool.names().0))?;
    Ok(path.display().to_string())
}
