//! The measurements of proxies with the same number of routes.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use super::change::add_route;
use super::plan::Plan;
use crate::bench::{Sample, interleaved};
use crate::client::bench::{Gets, Latency};
use crate::client::wrk::{Extra, script};
use crate::process::Process;
use crate::shapes::Shape;
use crate::stats::grouped;
use crate::subject::{self, Peer, Running, Setup, Weir};
use crate::usage::Memory;

/// Connections of the load.
pub(super) const CONNECTIONS: usize = 64;
/// Share of the highest rate at which latency is measured.
const SHARE: f64 = 0.7;
/// Routes added while a proxy runs.
const CHANGES: usize = 3;
/// Name of the weir with one route: the reference that shows whether the cost of the others is
/// flat.
pub(super) const REFERENCE: &str = "weir, 1 route";

/// One proxy with a given number of routes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    /// Routes.
    pub(super) routes: u64,
    /// Its name.
    pub(super) name: String,
    /// The proxy.
    pub(super) peer: Peer,
    /// Seconds from its start to its first answer; `None` if it did not answer in time.
    pub(super) load: Option<f64>,
    /// It was not started, as it was too slow with fewer routes.
    pub(super) skipped: bool,
    /// Throughput, by round.
    pub(super) samples: Vec<Sample>,
    /// Latency at 70 % of its highest rate.
    pub(super) latency: Option<Latency>,
    /// After the load.
    pub(super) memory: Memory,
    /// Seconds until an added route served, each time; `None` if it did not in time.
    pub(super) changes: Vec<Option<f64>>,
    /// The command that started it.
    pub(super) command: String,
    /// The failure, if any; earlier measurements stay valid.
    pub(super) failed: Option<String>,
}

impl Cell {
    fn new(routes: u64, name: &str, peer: Peer) -> Self {
        Self {
            routes,
            name: name.to_owned(),
            peer,
            load: None,
            skipped: false,
            samples: Vec::new(),
            latency: None,
            memory: Memory::default(),
            changes: Vec::new(),
            command: String::new(),
            failed: None,
        }
    }

    /// Notes a failure and continues without this proxy; only Ctrl-C ends the run.
    fn fail(&mut self, plan: &Plan<'_>, error: &anyhow::Error) -> anyhow::Result<()> {
        plan.bench.interrupt.check()?;
        eprintln!("  {:<18} {error:#}", self.name);
        self.failed = Some(plan.bench.shown(&format!("{error:#}")));
        Ok(())
    }
}

/// Proxies that run at the same time.
pub(super) struct Group {
    routes: u64,
    running: Vec<(Running, Cell)>,
    missing: Vec<Cell>,
    upstream: SocketAddr,
    // Ends after the proxies that use it.
    _upstream: Process,
}

impl Group {
    /// Starts `peers` with `routes` routes each, and a weir with one.
    pub(super) fn start(
        plan: &Plan<'_>,
        peers: &[Peer],
        routes: u64,
        given_up: &BTreeSet<String>,
    ) -> anyhow::Result<Self> {
        let (process, upstream) = plan.bench.upstream()?;
        let mut group =
            Self { routes, running: Vec::new(), missing: Vec::new(), upstream, _upstream: process };
        let setup = Setup {
            upstream,
            address: None,
            routes,
            peers_have_all: true,
            cores: vec![plan.bench.cores.proxy],
            weir: Weir { admin: true, ..Weir::default() },
            asked: None,
            patience: plan.patience,
        };
        for &peer in peers {
            group.add(plan, peer, peer.name(), &setup, given_up)?;
        }
        if routes > 1 && peers.contains(&Peer::Weir) {
            group.add(plan, Peer::Weir, REFERENCE, &Setup { routes: 1, ..setup }, given_up)?;
        }
        Ok(group)
    }

    fn add(
        &mut self,
        plan: &Plan<'_>,
        peer: Peer,
        name: &str,
        setup: &Setup,
        given_up: &BTreeSet<String>,
    ) -> anyhow::Result<()> {
        let mut cell = Cell::new(self.routes, name, peer);
        cell.skipped = given_up.contains(name);
        if cell.skipped {
            self.missing.push(cell);
            return Ok(());
        }
        match subject::start(plan.bench, peer, name, setup) {
            Ok(Some(running)) => {
                eprintln!("  {name:<18} answers after {:.2} s", running.load.as_secs_f64());
                cell.load = Some(running.load.as_secs_f64());
                cell.command = plan.bench.shown(running.command());
                self.running.push((running, cell));
            }
            Ok(None) => {
                eprintln!("  {name:<18} does not answer within {:?}", plan.patience);
                self.missing.push(cell);
            }
            Err(error) => {
                cell.fail(plan, &error)?;
                self.missing.push(cell);
            }
        }
        Ok(())
    }

    /// Measures them all and ends them.
    pub(super) fn measure(mut self, plan: &Plan<'_>) -> anyhow::Result<Vec<Cell>> {
        self.throughput(plan)?;
        let mut cells = self.missing;
        for (mut running, mut cell) in self.running {
            let rest = rest(plan, &mut running, &mut cell, self.upstream);
            if cell.failed.is_none()
                && let Err(error) = rest
            {
                cell.fail(plan, &error)?;
            }
            cells.push(cell);
        }
        Ok(cells)
    }

    fn throughput(&mut self, plan: &Plan<'_>) -> anyhow::Result<()> {
        let routes = self.routes;
        let lua = |running: &Running| {
            let count = if running.name == REFERENCE { 1 } else { routes };
            script("gateway.test", &Shape::Exact.patterns(), count, &Extra::default())
        };
        for (running, cell) in &mut self.running {
            let lua = lua(running);
            let warmed = match running.peer {
                Peer::Scg => plan.bench.warm_up(running, CONNECTIONS, &lua, plan.warm_up),
                _ => plan.bench.wrk(running, CONNECTIONS, &lua, plan.seconds).map(|_| ()),
            };
            if let Err(error) = warmed {
                cell.fail(plan, &error)?;
            }
        }
        interleaved(plan.bench, plan.rounds, &mut self.running, |round, (running, cell)| {
            if cell.failed.is_some() {
                return Ok(());
            }
            let sample = match plan.bench.wrk(running, CONNECTIONS, &lua(running), plan.seconds) {
                Ok(sample) => sample,
                Err(error) => return cell.fail(plan, &error),
            };
            eprintln!(
                "  round {round}/{}: {:<18} {:>9} req/s {:9.2} CPU µs/request, {} errors",
                plan.rounds,
                running.name,
                grouped(sample.counted.rate, 0),
                sample.cpu_us(),
                sample.counted.errors
            );
            cell.samples.push(sample);
            Ok(())
        })
        .map(drop)
    }
}

/// The measurements of each proxy after the load of all.
fn rest(
    plan: &Plan<'_>,
    running: &mut Running,
    cell: &mut Cell,
    upstream: SocketAddr,
) -> anyhow::Result<()> {
    cell.memory = Memory::of(&running.family());
    if cell.failed.is_some() {
        return Ok(());
    }
    cell.latency = Some(latency(plan, running, &cell.samples, cell.routes)?);
    cell.memory = Memory::of(&running.family());
    if running.name != REFERENCE {
        cell.changes = changes(plan, running, upstream)?;
    }
    Ok(())
}

fn latency(
    plan: &Plan<'_>,
    running: &mut Running,
    samples: &[Sample],
    routes: u64,
) -> anyhow::Result<Latency> {
    let rates = samples.iter().map(|sample| sample.counted.rate);
    let rate = crate::stats::Spread::of(rates).map_or(1.0, |rate| rate.median);
    let most = if running.name == REFERENCE { 0 } else { routes - 1 };
    let gets = Gets {
        base: format!("http://{}", running.address),
        path: format!("/${{random(0,{most})}}"),
        rate: Some(rate * SHARE),
        connections: CONNECTIONS,
        seconds: plan.seconds,
    };
    plan.bench.paced(running, &gets)
}

/// Adds routes one after the other.
fn changes(
    plan: &Plan<'_>,
    running: &mut Running,
    upstream: SocketAddr,
) -> anyhow::Result<Vec<Option<f64>>> {
    let mut times = Vec::new();
    if !running.peer.has_routes() {
        return Ok(times);
    }
    for number in 0..CHANGES {
        let name = format!("added-{number}");
        let took =
            add_route(running, &name, upstream, plan.patience_change, &plan.bench.interrupt)?;
        eprintln!("  {:<18} one route more: {}", running.name, shown(took));
        times.push(took.map(|took| took.as_secs_f64()));
        if took.is_none() {
            break;
        }
    }
    Ok(times)
}

fn shown(took: Option<Duration>) -> String {
    took.map_or("not in time".to_owned(), |took| format!("{:.1} ms", took.as_secs_f64() * 1e3))
}
