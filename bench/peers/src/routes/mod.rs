//! `cargo xtask peers routes`: the cost of the number of routes.

mod cell;
mod change;
mod frame;
mod plan;
mod publish;
mod published;
mod shapes;

use std::collections::BTreeSet;
use std::time::Duration;

use weir_testkit::tree::root;

use super::common::Common;
use super::report::Report;
use super::stats::grouped;
use super::subject::Peer;
use super::tools::Tool;
use cell::{Cell, Group};
use plan::Plan;

/// Sizes of the tables.
const COUNTS: [u64; 7] = [1, 100, 1_000, 5_000, 10_000, 100_000, 1_000_000];
/// Sizes with `--quick`.
const COUNTS_QUICK: [u64; 3] = [1, 100, 10_000];
/// Above this number of routes, only weir is measured.
const PEERS_MAX: u64 = 100_000;

/// Arguments of `xtask peers routes`.
#[derive(Debug, clap::Args)]
pub struct RoutesArgs {
    #[command(flatten)]
    common: Common,
    /// Whom to measure; all if not said
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Peer>,
    /// Largest table; above 100,000 only weir has it
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max: u64,
    /// How long a start may take [default: 180, or 900 with --full]; a change a sixth of it
    #[arg(long, value_name = "S")]
    patience: Option<u64>,
    /// Only to see that everything runs, in 2 minutes: 1, 100 and 10,000 routes (10,000 of each
    /// shape), one round of 1 s; results go to target/peers
    #[arg(long, conflicts_with_all = ["full", "max"])]
    quick: bool,
    /// Only weir: tables of --max routes of each shape beside a table of one
    #[arg(long)]
    shapes: bool,
    /// With --shapes: which ones; all if not said
    #[arg(long, value_enum, value_delimiter = ',', requires = "shapes")]
    shape: Vec<super::shapes::Shape>,
}

/// Runs it.
///
/// # Errors
/// A tool is missing, a proxy fails, or Ctrl-C.
pub fn run(args: &RoutesArgs) -> anyhow::Result<()> {
    let asked = |peer: Peer| args.only.is_empty() || args.only.contains(&peer);
    let mut needed = vec![Tool::Wrk];
    if !args.shapes {
        for (peer, tools) in [
            (Peer::Nginx, &[Tool::Nginx][..]),
            (Peer::Haproxy, &[Tool::Haproxy]),
            (Peer::Scg, &[Tool::Maven, Tool::Java]),
        ] {
            if asked(peer) {
                needed.extend(tools);
            }
        }
    }
    let bench = args.common.prepare(&needed)?;
    let full = args.common.full;
    let patience = args.patience.unwrap_or(if full { 900 } else { 180 });
    let (rounds, seconds) = if args.quick { (1, 1) } else { (3, 2) };
    let plan = Plan {
        bench: &bench,
        rounds: args.common.rounds(rounds, 7),
        seconds: args.common.seconds(seconds, 5),
        patience: Duration::from_secs(patience),
        patience_change: Duration::from_secs(patience / 6),
        warm_up: Duration::from_secs(match (full, args.quick) {
            (true, _) => 120,
            (false, true) => 5,
            (false, false) => 30,
        }),
    };
    let mut common = args.common.clone();
    if args.quick {
        common.out.get_or_insert(root().join("target/peers"));
    }
    let keep = |report: &Report| common.keep(&bench, report);
    if args.shapes {
        let max = if args.quick { COUNTS_QUICK[2] } else { args.max };
        let report = shapes::run(&plan, max, &args.shape, keep)?;
        return common.finish(&bench, &report, args.shape.is_empty());
    }
    let counts: &[u64] = if args.quick { &COUNTS_QUICK } else { &COUNTS };
    let counts: Vec<u64> = counts.iter().copied().filter(|count| *count <= args.max).collect();
    let peers = [Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Scg, Peer::Forwarder, Peer::Direct];
    let peers: Vec<Peer> = peers.into_iter().filter(|peer| asked(*peer)).collect();
    let cells = measure(&plan, &peers, &counts, |cells| keep(&publish::report(&plan, cells)))?;
    let report = publish::report(&plan, &cells);
    common.finish(&bench, &report, args.only.is_empty())
}

/// Measures tables of all `counts`; `keep` is called with the cells so far after each, so that what
/// ends a long run half-way loses nothing.
fn measure(
    plan: &Plan<'_>,
    peers: &[Peer],
    counts: &[u64],
    keep: impl Fn(&[Cell]) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Cell>> {
    let mut cells = Vec::new();
    // A proxy that did not start with so many routes is not tried with more.
    let mut given_up = BTreeSet::new();
    for &count in counts {
        eprintln!("{} routes", grouped(count as f64, 0));
        let here = |peer: &Peer| match peer {
            Peer::Weir => true,
            Peer::Nginx | Peer::Haproxy | Peer::Scg => count <= PEERS_MAX,
            // These proxies have no routes: one measurement is enough.
            Peer::Forwarder | Peer::Copier | Peer::Direct => count == COUNTS[0],
        };
        let peers: Vec<Peer> = peers.iter().copied().filter(here).collect();
        let group = Group::start(plan, &peers, count, &given_up)?;
        let measured = group.measure(plan)?;
        let late = |cell: &&Cell| cell.load.is_none() && cell.failed.is_none();
        for cell in measured.iter().filter(late) {
            given_up.insert(cell.name.clone());
        }
        cells.extend(measured);
        keep(&cells)?;
    }
    Ok(cells)
}
