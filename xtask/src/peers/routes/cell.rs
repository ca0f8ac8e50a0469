//! Everything about some proxies that have the same number of routes.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use super::Plan;
use super::change::add_route;
use crate::peers::bench::{Sample, interleaved};
use crate::peers::client::bench::{Latency, Paced};
use crate::peers::client::wrk::{Extra, script};
use crate::peers::process::Process;
use crate::peers::shapes::Shape;
use crate::peers::stats::grouped;
use crate::peers::subject::{self, Peer, Running, Setup, Weir};
use crate::peers::usage::Memory;

/// Connections of the load.
pub(super) const CONNECTIONS: usize = 64;
/// Share of the highest rate at which latency is measured.
const SHARE: f64 = 0.7;
/// Routes added while a proxy runs.
const CHANGES: usize = 3;
/// Name of the weir that has one route, beside which the others' cost is seen to be flat or not.
pub(super) const REFERENCE: &str = "weir, 1 route";

/// One proxy with so many routes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    /// Routes.
    pub(super) routes: u64,
    /// Its name.
    pub(super) name: String,
    /// Who.
    pub(super) peer: Peer,
    /// Seconds from its start to its first answer; `None` if it did not answer in time.
    pub(super) load: Option<f64>,
    /// It was not even started, having been too slow with fewer routes.
    pub(super) skipped: bool,
    /// Throughput, by round.
    pub(super) samples: Vec<Sample>,
    /// Latency at 70 % of its highest rate.
    pub(super) latency: Option<Latency>,
    /// After the load.
    pub(super) memory: Memory,
    /// Seconds until an added route served, each time; `None` if it did not in time.
    pub(super) changes: Vec<Option<f64>>,
    /// How it was started.
    pub(super) command: String,
}

/// Proxies that run at the same time.
pub(super) struct Group {
    routes: u64,
    running: Vec<Running>,
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
        let skipped = given_up.contains(name);
        let started = if skipped { None } else { subject::start(plan.bench, peer, name, setup)? };
        match started {
            Some(running) => {
                eprintln!("  {name:<18} answers after {:.2} s", running.load.as_secs_f64());
                self.running.push(running);
            }
            None => {
                eprintln!("  {name:<18} does not answer within {:?}", plan.patience);
                self.missing.push(Cell {
                    routes: self.routes,
                    name: name.to_owned(),
                    peer,
                    load: None,
                    skipped,
                    samples: Vec::new(),
                    latency: None,
                    memory: Memory::default(),
                    changes: Vec::new(),
                    command: String::new(),
                });
            }
        }
        Ok(())
    }

    /// Measures them all and ends them.
    pub(super) fn measure(mut self, plan: &Plan<'_>) -> anyhow::Result<Vec<Cell>> {
        let samples = self.throughput(plan)?;
        let mut cells = self.missing;
        for (mut running, samples) in self.running.into_iter().zip(samples) {
            let latency = latency(plan, &mut running, &samples, self.routes)?;
            let memory = Memory::of(&running.family());
            let changes = match running.name == REFERENCE {
                true => Vec::new(),
                false => changes(plan, &mut running, self.upstream)?,
            };
            cells.push(Cell {
                routes: self.routes,
                name: running.name.clone(),
                peer: running.peer,
                load: Some(running.load.as_secs_f64()),
                skipped: false,
                samples,
                latency: Some(latency),
                memory,
                changes,
                command: plan.bench.shown(running.command()),
            });
        }
        Ok(cells)
    }

    fn throughput(&mut self, plan: &Plan<'_>) -> anyhow::Result<Vec<Vec<Sample>>> {
        let routes = self.routes;
        let lua = |running: &Running| {
            let count = if running.name == REFERENCE { 1 } else { routes };
            script("gateway.test", &Shape::Exact.patterns(), count, &Extra::default())
        };
        for running in self.running.iter_mut().filter(|running| running.peer == Peer::Scg) {
            let lua = lua(running);
            plan.bench.warm_up(running, CONNECTIONS, &lua, plan.warm_up)?;
        }
        interleaved(plan.bench, plan.rounds, &mut self.running, |round, running| {
            let lua = lua(running);
            let sample = plan.bench.wrk(running, CONNECTIONS, &lua, plan.seconds)?;
            eprintln!(
                "  round {round}/{}: {:<18} {:>9} req/s {:9.2} CPU µs/request, {} errors",
                plan.rounds,
                running.name,
                grouped(sample.counted.rate, 0),
                sample.cpu_us(),
                sample.counted.errors
            );
            Ok(sample)
        })
    }
}

fn latency(
    plan: &Plan<'_>,
    running: &mut Running,
    samples: &[Sample],
    routes: u64,
) -> anyhow::Result<Latency> {
    let rates = samples.iter().map(|sample| sample.counted.rate);
    let rate = crate::peers::stats::Spread::of(rates).map_or(1.0, |rate| rate.median);
    let most = if running.name == REFERENCE { 0 } else { routes - 1 };
    let paced = Paced {
        base: format!("http://{}", running.address),
        path: format!("/${{random(0,{most})}}"),
        rate: rate * SHARE,
        connections: CONNECTIONS,
        seconds: plan.seconds,
    };
    plan.bench.paced(running, &paced)
}

/// Adds routes one after the other.
fn changes(
    plan: &Plan<'_>,
    running: &mut Running,
    upstream: SocketAddr,
) -> anyhow::Result<Vec<Option<f64>>> {
    let mut times = Vec::new();
    if matches!(running.peer, Peer::Direct | Peer::Forwarder) {
        return Ok(times);
    }
    for number in 0..CHANGES {
        let name = format!("added-{number}");
        let took = add_route(running, &name, upstream, plan.patience, &plan.bench.interrupt)?;
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
