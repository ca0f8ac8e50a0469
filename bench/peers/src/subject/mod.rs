//! The proxies that are measured, each configured as its own manual would have it for speed.

mod haproxy;
mod nginx;
mod peer;
mod running;
pub mod scg;
mod setup;
mod weir;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::bench::Bench;
use super::client::probe;
use super::process::Process;
pub use nginx::location;
pub use peer::Peer;
pub use running::Running;
use setup::Start;
pub use setup::{Setup, Weir, free_address};

/// A table with at least this many routes may cause work after the first answer: all proxies
/// return memory.
const SETTLES_FROM: u64 = 10_000;

/// Starts `peer` under `name` and waits until it answers; `None` if it does not within the setup's
/// patience.
///
/// # Errors
/// It cannot be started, or ends.
pub fn start(
    bench: &Bench,
    peer: Peer,
    name: &str,
    setup: &Setup,
) -> anyhow::Result<Option<Running>> {
    if peer == Peer::Direct {
        return Ok(Some(Running {
            peer,
            name: name.to_owned(),
            address: setup.upstream,
            admin: None,
            config: PathBuf::new(),
            process: None,
            load: Duration::ZERO,
        }));
    }
    let folder = bench.folder(name)?;
    let start = match peer {
        Peer::Direct | Peer::Forwarder | Peer::Copier => {
            let address = free_address()?;
            let bare = bench.tools.bare.display().to_string();
            let (listen, to) = (address.to_string(), setup.upstream.to_string());
            let how = if peer == Peer::Copier { "copy" } else { "forward" };
            let command = [&*bare, how, "--listen", &listen, "--to", &to];
            let command = command.map(str::to_owned).to_vec();
            Start { command, address, admin: None, config: PathBuf::new() }
        }
        Peer::Nginx => nginx::prepare(bench, &folder, setup)?,
        Peer::Haproxy => haproxy::prepare(bench, &folder, setup)?,
        Peer::Weir => weir::prepare(bench, &folder, setup)?,
        Peer::Scg => scg::prepare(bench, &folder, setup)?,
    };
    let began = Instant::now();
    let mut process = Process::start(&start.command, &setup.cores, &folder.join("log"))?;
    // The last route, so that all are there.
    let last = || setup.weir.shape.request(setup.routes.saturating_sub(1));
    let asked = setup.asked.clone().unwrap_or_else(last);
    let waited = probe::until_ok(
        start.address,
        &asked,
        Some(&mut process),
        (began, setup.patience),
        &bench.interrupt,
    );
    let Some(load) = waited.with_context(|| format!("{name} does not answer"))? else {
        return Ok(None);
    };
    let running = Running {
        peer,
        name: name.to_owned(),
        address: start.address,
        admin: start.admin,
        config: start.config,
        process: Some(process),
        load,
    };
    if setup.routes >= SETTLES_FROM {
        running.settle(&bench.interrupt)?;
    }
    Ok(Some(running))
}
