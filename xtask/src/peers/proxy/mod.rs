//! `cargo xtask peers proxy`: what a proxied request costs, by weir and by its peers.

mod burst;
mod calls;
mod keepalive;
mod memory;
mod scg;
mod short;
mod traffic;
mod variants;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use super::Common;
use super::bench::Bench;
use super::process::Process;
use super::report::{Report, Table};
use super::subject::{self, Peer, Running, Setup, Weir};
use super::tools::Tool;
pub use scg::ScgArgs;
pub use scg::run as run_scg;

/// Routes that weir has loaded unless a scenario says otherwise.
const ROUTES: u64 = 100_000;
/// How often more the rounds are where the difference that is asked for is smaller than the
/// scatter.
const ROUNDS_TIMES: usize = 3;

/// Arguments of `xtask peers proxy`.
#[derive(Debug, clap::Args)]
pub struct ProxyArgs {
    #[command(flatten)]
    common: Common,
    /// Scenarios to run; all if not said
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Scenario>,
    /// Routes that weir has
    #[arg(long, value_name = "N", default_value_t = ROUTES)]
    max: u64,
    /// Another weir that takes part in keepalive, such as that of an earlier commit; leaves the
    /// README alone
    #[arg(long, value_name = "NAME=FILE", value_parser = Program::parse)]
    beside: Vec<Program>,
}

/// A weir that is not built here.
#[derive(Clone, Debug)]
struct Program {
    name: String,
    file: PathBuf,
}

impl Program {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, file) = text.split_once('=').ok_or("as NAME=FILE, such as before=/tmp/weir")?;
        // It names a folder, too.
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err("NAME is letters, digits and hyphens".to_owned());
        }
        let file =
            PathBuf::from(file).canonicalize().map_err(|error| format!("{file}: {error}"))?;
        Ok(Self { name: format!("weir {name}"), file })
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    /// 64 connections, 3-byte bodies; latency at 70 % of the highest rate
    Keepalive,
    /// A browser's headers, bodies down and up, chunks, 1,000 connections, pipelining
    Traffic,
    /// HTTP/1.0, a connection per request
    Short,
    /// Memory at 100 busy and 10,000 idle connections
    Memory,
    /// 3,000 connections in a second; with --full 10,000 and 20,000 users, too
    Burst,
    /// System calls per request
    Calls,
    /// One worker and two
    Workers,
    /// With an access log, without metrics
    Observe,
}

/// What a scenario needs.
struct Plan<'a> {
    bench: &'a Bench,
    rounds: usize,
    seconds: u64,
    routes: u64,
    full: bool,
    beside: &'a [Program],
}

/// Runs it.
///
/// # Errors
/// A tool is missing, a proxy fails, or Ctrl-C.
pub fn run(args: &ProxyArgs) -> anyhow::Result<()> {
    let asked = |scenario| args.only.is_empty() || args.only.contains(&scenario);
    anyhow::ensure!(
        args.beside.is_empty() || asked(Scenario::Keepalive),
        "--beside takes part in keepalive, which --only leaves out: say --only keepalive"
    );
    let names: BTreeSet<&str> = args.beside.iter().map(|program| &*program.name).collect();
    anyhow::ensure!(names.len() == args.beside.len(), "--beside: two programs have one name");
    let needed = [Tool::Nginx, Tool::Haproxy, Tool::Wrk, Tool::Ab, Tool::Strace];
    let bench = args.common.prepare(&needed)?;
    let plan = Plan { beside: &args.beside, ..Plan::of(&bench, &args.common, args.max) };
    let mut report = new_report("proxy", "CPU per proxied request, weir and its peers", &plan);
    use clap::ValueEnum;
    for scenario in Scenario::value_variants() {
        if !asked(*scenario) {
            continue;
        }
        match scenario {
            Scenario::Keepalive => {
                use Peer::{Copier, Direct, Forwarder, Haproxy, Nginx, Weir};
                let peers = [Weir, Nginx, Haproxy, Copier, Forwarder, Direct];
                keepalive::run(&plan, &peers, &mut report)?;
            }
            Scenario::Traffic => traffic::run(&plan, &mut report)?,
            Scenario::Short => short::run(&plan, &mut report)?,
            Scenario::Memory => memory::run(&plan, &mut report)?,
            Scenario::Burst => burst::run(&plan, &mut report)?,
            Scenario::Calls => calls::run(&plan, &mut report)?,
            Scenario::Workers => variants::workers(&plan, &mut report)?,
            Scenario::Observe => variants::observe(&plan, &mut report)?,
        }
    }
    report.readme = format!(
        "weir by the goals it has set itself, in one run with its peers ([run]({{folder}}/proxy.md), \
         `cargo xtask peers proxy`):\n\n{}",
        report.summary.markdown()
    );
    args.common.finish(&bench, &report, args.only.is_empty() && args.beside.is_empty())
}

/// Adds a line to what the README shows.
fn summarise(report: &mut Report, what: &str, weir: String, goal: &str) {
    report.summary.row([what.to_owned(), weir, goal.to_owned()]);
}

fn new_report(name: &'static str, title: &str, plan: &Plan<'_>) -> Report {
    Report {
        name,
        title: title.to_owned(),
        introduction: introduction(plan),
        summary: Table::new("Summary", &["", "weir", "goal"]),
        tables: Vec::new(),
        charts: Vec::new(),
        samples: serde_json::Map::new(),
        readme: String::new(),
    }
}

fn introduction(plan: &Plan<'_>) -> Vec<String> {
    let routes = match plan.routes {
        1 => "one route (`/0`),".to_owned(),
        count => format!("{} routes (`/0`, `/1`, …), each", super::stats::grouped(count as f64, 0)),
    };
    vec![format!(
        "weir has {routes} with AddRequestHeader and PrefixPath, metrics on; nginx has one \
         location and HAProxy one backend, each with one added header; all have one worker and pooled \
         upstream connections. The forwarders (`bench/baseline`) copy bytes and open an upstream \
         connection for each client connection, one with tokio's copy_bidirectional, the bare one on \
         epoll itself. Requests draw one of weir's routes at \
         random. CPU is user and system time of all processes of a proxy, from `/proc`. Subjects \
         take turns in random order; ratios are taken within a round, and shown as the median \
         (least–most) over the rounds."
    )]
}

/// Proxies that run, and their upstream.
struct Fleet {
    running: Vec<Running>,
    // Ends after the proxies that use it.
    upstream: (Process, SocketAddr),
}

impl<'a> Plan<'a> {
    fn of(bench: &'a Bench, common: &Common, routes: u64) -> Self {
        let (rounds, seconds) = (common.rounds(5, 10), common.seconds(3, 8));
        Self { bench, rounds, seconds, routes, full: common.full, beside: &[] }
    }

    /// A setup for one core and the usual routes.
    fn setup(&self, upstream: SocketAddr) -> Setup {
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
    fn fleet(&self, peers: &[Peer]) -> anyhow::Result<Fleet> {
        let (upstream, address) = self.bench.upstream()?;
        let setup = self.setup(address);
        let start = |&peer: &Peer| self.start(peer, peer.name(), &setup);
        let running = peers.iter().map(start).collect::<anyhow::Result<_>>()?;
        Ok(Fleet { running, upstream: (upstream, address) })
    }

    /// Starts the weirs to measure beside these.
    fn join(&self, fleet: &mut Fleet) -> anyhow::Result<()> {
        for Program { name, file } in self.beside {
            let weir = Weir { program: Some(file.clone()), ..Weir::default() };
            let setup = Setup { weir, ..self.setup(fleet.upstream.1) };
            fleet.running.push(self.start(Peer::Weir, name, &setup)?);
        }
        Ok(())
    }

    fn start(&self, peer: Peer, name: &str, setup: &Setup) -> anyhow::Result<Running> {
        let started = subject::start(self.bench, peer, name, setup)?;
        started.with_context(|| format!("{name} did not answer in time"))
    }
}
