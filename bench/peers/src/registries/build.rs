//! Servers that are Go modules.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use weir_testkit::tree::{root, target};

use crate::tools::{Tool, path};

/// A registry whose server is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Registry {
    Kubernetes,
    Consul,
}

impl Registry {
    /// Its server, which is built unless it is.
    pub(super) fn server(self) -> anyhow::Result<PathBuf> {
        match self {
            Self::Kubernetes => built("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
            Self::Consul => built("consul", "github.com/hashicorp/consul"),
        }
    }
}

/// Builds the program of `bench/peers/registries/<module>` unless it is built; its path.
fn built(module: &str, package: &str) -> anyhow::Result<PathBuf> {
    let source = root().join("bench/peers/registries").join(module);
    let program = target().join("registries").join(module);
    let changed = |file: &PathBuf| file.metadata().and_then(|data| data.modified()).ok();
    if changed(&program).is_some_and(|built| Some(built) > changed(&source.join("go.sum"))) {
        return Ok(program);
    }
    eprintln!("building {package}; the first time this takes minutes");
    let status = Command::new(path(Tool::Go)?)
        .current_dir(&source)
        // Symbols for debuggers double its size.
        .args(["build", "-ldflags", "-s -w", "-o"])
        .arg(&program)
        .arg(package)
        .status()
        .context("go")?;
    ensure!(status.success(), "{package} does not build");
    Ok(program)
}
