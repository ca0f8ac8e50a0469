//! The inputs of a scenario, and the proxies that it starts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use crate::bench::Bench;
use crate::common::Common;
use crate::process::Process;
use crate::subject::{self, Peer, Running, Setup, Weir};

/// The factor by which the number of rounds grows where the expected difference is smaller than the
/// scatter.
pub(super) const ROUNDS_TIMES: usize = 3;

/// The inputs of a scenario.
pub(super) struct Plan<'a> {
    pub(super) bench: &'a Bench,
    pub(super) rounds: usize,
    pub(super) seconds: u64,
    pub(super) routes: u64,
    pub(super) full: bool,
    pub(super) beside: &'a [Program],
}

/// A weir that is not built here.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    file: PathBuf,
}

impl Program {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, file) = text.split_once('=').ok_or("as NAME=FILE, such as before=/tmp/weir")?;
        // The name is also that of a folder.
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err("NAME is letters, digits and hyphens".to_owned());
        }
        let file =
            PathBuf::from(file).canonicalize().map_err(|error| format!("{file}: {error}"))?;
        Ok(Self { name: format!("weir {name}"), file })
    }
}

/// Proxies that run, and their upstream.
pub(super) struct Fleet {
    pub(super) running: Vec<Running>,
    // Ends after the proxies that use it.
    pub(super) upstream: (Process, SocketAddr),
}

impl<'a> Plan<'a> {
    pub(super) fn of(bench: &'a Bench, common: &Common, routes: u64) -> Self {
        let (rounds, seconds) = (common.rounds(5, 10), common.seconds(3, 8));
        Self { bench, rounds, seconds, routes, full: common.full, beside: &[] }
    }

    /// A setup for one core and the usual routes.
    pub(super) fn setup(&self, upstream: SocketAddr) -> Setup {
        Setup {
            upstream,
            address: None,
            routes: self.routes,
            peers_have_all: false,
            cores: vec![self.bench.cores.proxy],
            weir: Weir::default(),
            asked: None,
            patience: Duration::from_secs(120),
        }
    }

    /// Starts `peers` with the usual setup and the bare upstream.
    pub(super) fn fleet(&self, peers: &[Peer]) -> anyhow::Result<Fleet> {
        let (upstream, address) = self.bench.upstream()?;
        let setup = self.setup(address);
        let start = |&peer: &Peer| self.start(peer, peer.name(), &setup);
        let running = peers.iter().map(start).collect::<anyhow::Result<_>>()?;
        Ok(Fleet { running, upstream: (upstream, address) })
    }

    /// Starts the builds of weir to measure beside these.
    pub(super) fn join(&self, fleet: &mut Fleet) -> anyhow::Result<()> {
        for Program { name, file } in self.beside {
            let weir = Weir { program: Some(file.clone()), ..Weir::default() };
            let setup = Setup { weir, ..self.setup(fleet.upstream.1) };
            fleet.running.push(self.start(Peer::Weir, name, &setup)?);
        }
        Ok(())
    }

    pub(super) fn start(&self, peer: Peer, name: &str, setup: &Setup) -> anyhow::Result<Running> {
        let started = subject::start(self.bench, peer, name, setup)?;
        started.with_context(|| format!("{name} did not answer in time"))
    }
}
