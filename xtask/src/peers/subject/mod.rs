//! The proxies that are measured, each configured as its own manual would have it for speed.

mod haproxy;
mod nginx;
pub mod scg;
mod weir;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::bench::Bench;
use super::client::probe;
use super::interrupt::Interrupt;
use super::process::Process;
use super::usage::Cpu;
pub use nginx::location;
pub use weir::Weir;

/// A table of as many routes may have work left when it answers: weir moves it to huge pages, and
/// all give memory back.
const SETTLES_FROM: u64 = 10_000;
/// A proxy is quiet that used no more than this of a second of CPU in each of some seconds.
const QUIET_S: f64 = 0.02;
/// So many seconds.
const QUIET_SECONDS: u32 = 3;
/// As long is waited for it at most.
const SETTLE_SECONDS_MAX: u32 = 30;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    /// No proxy: the client asks the upstream.
    Direct,
    /// The bare TCP forwarder of this repository, on epoll itself: the floor.
    Forwarder,
    /// The one with tokio's `copy_bidirectional`: what the goal for keep-alive requests is set by.
    Copier,
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
    /// weir.
    Weir,
    /// Spring Cloud Gateway.
    Scg,
}

impl Peer {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Forwarder => "bare forwarder",
            Self::Copier => "tokio forwarder",
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Weir => "weir",
            Self::Scg => "SCG 5.0.3",
        }
    }

    /// Whether it has routes: the others pass on whatever comes.
    pub fn has_routes(self) -> bool {
        match self {
            Self::Direct | Self::Forwarder | Self::Copier => false,
            Self::Nginx | Self::Haproxy | Self::Weir | Self::Scg => true,
        }
    }
}

/// What a proxy is to do.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where requests go.
    pub upstream: SocketAddr,
    /// Where to listen (Spring Cloud Gateway only); a free port if not said.
    pub address: Option<SocketAddr>,
    /// Number of routes: `/0`, `/1`, … each with an added header of its own and a prefix.
    pub routes: u64,
    /// nginx and HAProxy, too, have that many; otherwise one that takes everything.
    pub peers_have_all: bool,
    /// Cores to run on; all of them if empty.
    pub cores: Vec<usize>,
    /// What only weir is told.
    pub weir: Weir,
    /// The request by whose answer a start is seen; the last route's if not said.
    pub asked: Option<probe::Asked>,
    /// How long a start may take.
    pub patience: Duration,
}

/// A proxy that answers.
#[derive(Debug)]
pub struct Running {
    /// Who.
    pub peer: Peer,
    /// Its name in tables.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where its routes are changed, if over HTTP.
    pub admin: Option<SocketAddr>,
    /// Its configuration file.
    pub config: PathBuf,
    /// `None` for [`Peer::Direct`].
    pub process: Option<Process>,
    /// From its start to its first proxied answer.
    pub load: Duration,
}

impl Running {
    /// Its processes.
    pub fn family(&self) -> Vec<u32> {
        self.process.as_ref().map(Process::family).unwrap_or_default()
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// With what it printed last.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.process.as_mut().map_or(Ok(()), Process::check)
    }

    /// Waits until it has no work left from its start.
    ///
    /// # Errors
    /// Ctrl-C.
    fn settle(&self, interrupt: &Interrupt) -> anyhow::Result<()> {
        let family = self.family();
        let (mut quiet, mut before) = (0, Cpu::of(&family).all_s);
        for _ in 0..SETTLE_SECONDS_MAX {
            interrupt.sleep(Duration::from_secs(1))?;
            let now = Cpu::of(&family).all_s;
            quiet = if now - before <= QUIET_S { quiet + 1 } else { 0 };
            before = now;
            if quiet == QUIET_SECONDS {
                break;
            }
        }
        Ok(())
    }

    /// How it was started.
    pub fn command(&self) -> &str {
        self.process.as_ref().map_or("", |process| &process.shown)
    }
}

/// What is started: the command, the ports and the files of one proxy.
struct Start {
    command: Vec<String>,
    address: SocketAddr,
    admin: Option<SocketAddr>,
    config: PathBuf,
}

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

/// An address of 127.0.0.1 whose port is free now.
///
/// # Errors
/// There is none.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
