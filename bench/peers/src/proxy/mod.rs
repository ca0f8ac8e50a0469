//! `cargo xtask peers proxy`: the cost of a proxied request, for weir and for its peers.

mod burst;
mod calls;
mod frame;
mod keepalive;
mod memory;
mod plan;
mod scg;
mod short;
mod traffic;
mod variants;

use std::collections::BTreeSet;

use super::common::Common;
use super::subject::Peer;
use super::tools::Tool;
use frame::new_report;
use plan::{Plan, Program};
pub use scg::ScgArgs;
pub use scg::run as run_scg;

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
    /// Another weir that takes part in keepalive, such as that of an earlier commit; leaves the
    /// README alone
    #[arg(long, value_name = "NAME=FILE", value_parser = Program::parse)]
    beside: Vec<Program>,
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
