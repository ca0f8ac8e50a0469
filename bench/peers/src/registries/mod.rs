//! `cargo xtask peers registries`: weir with a real Kubernetes API server and a real Consul.
//!
//! Both are Go modules (`bench/peers/registries`), built on first use. Everything listens on free
//! ports in a network namespace of its own, and ends with this process.

mod api;
mod build;
mod consul;
mod forwarder;
mod gateway;
mod ground;
mod instance;
mod kubernetes;
mod namespace;

use std::path::PathBuf;

use anyhow::ensure;

use crate::interrupt::Interrupt;
use crate::program;
use crate::tools::{self, Tool};
use build::Registry;
use ground::Ground;

/// Arguments of `cargo xtask peers registries`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs Go 1.24 or newer, Debian's etcd-server and curl; says what is missing. The first run downloads and
builds the servers into target/registries: 15 minutes, 3 GB of memory, 6 GB of disk. Further runs take two minutes.
Exit code: 0 all checks pass, 1 one fails, or something does not start.")]
pub struct RegistriesArgs {
    /// A weir that is built, instead of building it
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// These registries only
    #[arg(long, value_delimiter = ',', default_value = "kubernetes,consul")]
    only: Vec<Registry>,
    /// Write answers of the servers to the tests of weir, too
    #[arg(long)]
    record: bool,
}

/// Runs it.
///
/// # Errors
/// Something does not build or start, or a check fails.
pub fn run(args: &RegistriesArgs) -> anyhow::Result<()> {
    tools::find(&[Tool::Go, Tool::Etcd, Tool::Curl], false)?;
    let weir = program::weir(args.weir.as_deref())?;
    if !namespace::is_entered() {
        for registry in &args.only {
            registry.server()?;
        }
        return namespace::enter();
    }
    let mut ground = Ground {
        folder: tempfile::tempdir()?,
        weir,
        interrupt: Interrupt::listen()?,
        record: args.record,
        failed: 0,
    };
    for registry in &args.only {
        match registry {
            Registry::Kubernetes => kubernetes::run(&mut ground)?,
            Registry::Consul => consul::run(&mut ground)?,
        }
    }
    ensure!(ground.failed == 0, "{} of the checks failed", ground.failed);
    println!("all checks pass");
    Ok(())
}
