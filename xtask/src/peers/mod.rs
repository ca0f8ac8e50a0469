//! `cargo xtask peers`: weir beside nginx, HAProxy, Spring Cloud Gateway and a bare forwarder, on
//! one machine in one run.
//!
//! Everything listens on free ports of 127.0.0.1, runs pinned, and ends with this process. Ratios
//! are what to read: absolute numbers belong to the machine of the run.

mod bench;
mod chart;
pub mod client;
mod compare;
mod generators;
pub mod interrupt;
mod launch;
pub mod machine;
pub mod maven;
pub mod process;
mod proxy;
pub mod report;
mod routes;
pub mod shapes;
mod stats;
mod subject;
mod system;
pub mod tools;
pub mod usage;

use std::path::PathBuf;

use bench::Bench;
use machine::Cores;
use report::Report;
use tools::Tool;

use crate::release::Build;
use crate::tree::root;

/// Arguments of `xtask peers`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs Debian's nginx, haproxy, wrk, apache2-utils and strace; says what is missing, or installs it with
--install. Loads 127.0.0.1 only. Two cores at least: with two, the proxy has core 0 to itself, client and
upstream share core 1; with more, each has one.

Results go to bench/runs/<date>-<machine>/ and, if nothing is left out, into docs/performance.md. A machine that
does something else at the same time spoils rates and latencies first, ratios of CPU last.")]
pub struct PeersArgs {
    #[command(subcommand)]
    measure: Measure,
}

#[derive(Debug, clap::Subcommand)]
enum Measure {
    /// What a proxied request costs: 35 minutes, longer with --full
    Proxy(proxy::ProxyArgs),
    /// What the number of routes costs: 15 minutes, hours with --full
    Routes(routes::RoutesArgs),
    /// Spring Cloud Gateway beside the others: 20 minutes; or alone, as a target
    Scg(proxy::ScgArgs),
    /// What each makes of the cases of tests/wire: 5 minutes
    Wire(crate::wire::WireArgs),
    /// What a request costs `weir bench`, wrk, wrk2, ab, hey and oha: 3 minutes
    Bench(generators::GeneratorArgs),
    /// weir and Spring Cloud Gateway with a real Eureka and its services: 2 minutes
    System(system::SystemArgs),
    /// Becomes another program on given cores
    #[command(hide = true)]
    Launch(launch::LaunchArgs),
}

/// What all measurements have in common.
#[derive(Clone, Debug, clap::Args)]
struct Common {
    /// How often each subject is measured
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Length of one measurement
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// As long as it takes for numbers to rely on
    #[arg(long)]
    full: bool,
    /// Folder for the results, instead of bench/runs/<date>-<machine>; leaves the README alone
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Prints the result as JSON instead of Markdown
    #[arg(long)]
    json: bool,
    /// Installs what is missing through apt-get
    #[arg(long)]
    install: bool,
    /// Measures weir as `cargo build --release` makes it, not as `cargo xtask release` does
    #[arg(long)]
    plain: bool,
    /// Leaves the README alone
    #[arg(long)]
    no_readme: bool,
    /// Cores of proxy, upstream and client, such as 0,1,2
    #[arg(long, value_name = "P,U,C", value_parser = Cores::parse)]
    cores: Option<Cores>,
}

impl Common {
    fn prepare(&self, needed: &[Tool]) -> anyhow::Result<Bench> {
        Bench::prepare(needed, self.install, Build::of(self.plain), self.cores.clone())
    }

    fn rounds(&self, short: usize, full: usize) -> usize {
        self.rounds.unwrap_or(if self.full { full } else { short }).max(1)
    }

    fn seconds(&self, short: u64, full: u64) -> u64 {
        self.seconds.unwrap_or(if self.full { full } else { short }).max(1)
    }

    /// Where the results of this run go.
    fn folder(&self, bench: &Bench) -> PathBuf {
        let folder = root().join("bench/runs").join(bench.machine.folder());
        self.out.clone().unwrap_or(folder)
    }

    /// Writes what there is so far of a run that goes on.
    fn keep(&self, bench: &Bench, report: &Report) -> anyhow::Result<()> {
        report.write(bench, &self.folder(bench)).map(drop)
    }

    /// Prints the result and writes it to where it belongs; the README only if it is `whole`.
    fn finish(&self, bench: &Bench, report: &Report, whole: bool) -> anyhow::Result<()> {
        let folder = self.folder(bench);
        match self.json {
            true => println!("{}", report.json(bench)?),
            false => println!("{}", report.markdown(bench)),
        }
        for file in report.write(bench, &folder)? {
            eprintln!("written: {}", crate::tree::shown(&file));
        }
        if whole && self.out.is_none() && !self.no_readme {
            report.publish(&folder)?;
            eprintln!("written: docs/performance.md");
        }
        Ok(())
    }
}

/// Runs it.
///
/// # Errors
/// A tool is missing, something does not start, or Ctrl-C.
pub fn run(args: &PeersArgs) -> anyhow::Result<()> {
    match &args.measure {
        Measure::Proxy(args) => proxy::run(args),
        Measure::Routes(args) => routes::run(args),
        Measure::Scg(args) => proxy::run_scg(args),
        Measure::Wire(args) => crate::wire::run(args),
        Measure::Bench(args) => generators::run(args),
        Measure::System(args) => system::run(args),
        Measure::Launch(args) => launch::run(args),
    }
}
