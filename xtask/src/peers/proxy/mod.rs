//! `cargo xtask peers proxy`: what a proxied request costs, by weir and by its peers.

mod keepalive;
mod short;
mod traffic;

use std::time::Duration;

use super::Common;
use super::bench::Bench;
use super::process::Process;
use super::report::Report;
use super::subject::{self, Peer, Running, Setup, Weir};
use super::tools::Tool;

/// Routes that weir has loaded unless a scenario says otherwise.
const ROUTES: u64 = 100_000;

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
}

/// What a scenario needs.
struct Plan<'a> {
    bench: &'a Bench,
    rounds: usize,
    seconds: u64,
    routes: u64,
}

/// Runs it.
///
/// # Errors
/// A tool is missing, a proxy fails, or Ctrl-C.
pub fn run(args: &ProxyArgs) -> anyhow::Result<()> {
    let needed = [Tool::Nginx, Tool::Haproxy, Tool::Wrk, Tool::Ab, Tool::Strace];
    let bench = args.common.prepare(&needed)?;
    let plan = Plan {
        bench: &bench,
        rounds: args.common.rounds(5, 10),
        seconds: args.common.seconds(3, 8),
        routes: args.max,
    };
    let mut report = Report {
        name: "proxy",
        title: "CPU per proxied request, weir and its peers".to_owned(),
        introduction: introduction(&plan),
        tables: Vec::new(),
        charts: Vec::new(),
        samples: serde_json::Map::new(),
        readme: String::new(),
    };
    use clap::ValueEnum;
    for scenario in Scenario::value_variants() {
        if !args.only.is_empty() && !args.only.contains(scenario) {
            continue;
        }
        match scenario {
            Scenario::Keepalive => keepalive::run(&plan, &mut report)?,
            Scenario::Traffic => traffic::run(&plan, &mut report)?,
            Scenario::Short => short::run(&plan, &mut report)?,
        }
    }
    args.common.finish(&bench, &report, args.only.is_empty())
}

fn introduction(plan: &Plan<'_>) -> Vec<String> {
    vec![format!(
        "weir has {} routes, each with AddRequestHeader and PrefixPath, metrics on; nginx has one \
         location and HAProxy one backend, each with one added header; all have one worker and pooled \
         upstream connections. The bare forwarder (`crates/weir-bare`) copies bytes and opens an \
         upstream connection for each client connection. Requests draw one of weir's routes at \
         random. CPU is user and system time of all processes of a proxy, from `/proc`. Subjects \
         take turns in random order; ratios are taken within a round, and shown as the median \
         (least–most) over the rounds.",
        super::stats::grouped(plan.routes as f64, 0)
    )]
}

/// Proxies that run, and their upstream.
struct Fleet {
    running: Vec<Running>,
    // Ends after the proxies that use it.
    _upstream: Process,
}

impl Plan<'_> {
    /// A setup for one core and the usual routes.
    fn setup(&self, upstream: std::net::SocketAddr) -> Setup {
        Setup {
            upstream,
            address: None,
            routes: self.routes,
            peers_have_all: false,
            cores: vec![self.bench.cores.proxy],
            weir: Weir::default(),
            patience: Duration::from_secs(120),
        }
    }

    /// Starts `peers` with the usual setup and the bare upstream.
    fn fleet(&self, peers: &[Peer]) -> anyhow::Result<Fleet> {
        let (upstream, address) = self.bench.upstream()?;
        let setup = self.setup(address);
        let mut running = Vec::new();
        for &peer in peers {
            let started = subject::start(self.bench, peer, peer.name(), &setup)?;
            running.extend(started);
        }
        anyhow::ensure!(running.len() == peers.len(), "a proxy did not answer in time");
        Ok(Fleet { running, _upstream: upstream })
    }
}
