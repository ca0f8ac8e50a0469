//! `cargo xtask peers routes --shapes`: whether weir's cost is flat for every kind of predicate.

use clap::ValueEnum;

use super::cell::CONNECTIONS;
use super::frame::frame;
use super::plan::Plan;
use crate::client::wrk::{Extra, script};
use crate::compare::{Compared, Per};
use crate::report::{Report, Table};
use crate::shapes::Shape;
use crate::stats::{Spread, grouped};
use crate::subject::{self, Peer, Running, Setup, Weir};
use crate::usage::Memory;

/// Measures tables of `max` routes of each of `shapes` (all if empty) beside tables of one; `keep`
/// is called with the report so far after each.
pub(super) fn run(
    plan: &Plan<'_>,
    max: u64,
    shapes: &[Shape],
    keep: impl Fn(&Report) -> anyhow::Result<()>,
) -> anyhow::Result<Report> {
    let shapes = if shapes.is_empty() { Shape::value_variants() } else { shapes };
    let many = grouped(max as f64, 0);
    let introduction = format!(
        "weir with {many} routes of one shape beside weir with one such route: the same filters, the \
         same load (wrk, 64 connections, {} s, {} rounds in random order behind one that does not count), \
         requests to routes drawn at random. Goal: CPU ≤ 1.05 × one route.",
        plan.seconds, plan.rounds
    );
    let title = format!("weir: {many} routes of each shape");
    let mut report = frame("shapes", &title, introduction);
    let cpu = format!("{many}: CPU µs/request");
    let load = format!("{many}: load s");
    let memory = format!("{many}: memory MB");
    let head = ["shape", "1: CPU µs/request", &cpu, "ratio", &load, &memory, "errors"];
    report.tables.push(Table::new(&title, &head));
    for &shape in shapes {
        let name = shape.name();
        eprintln!("{name}");
        let row = one(plan, shape, max, &mut report).or_else(|error| {
            // An error in one shape does not end the run; Ctrl-C does.
            plan.bench.interrupt.check()?;
            eprintln!("  {error:#}");
            anyhow::Ok(vec![name.clone(), String::new(), plan.bench.shown(&format!("{error:#}"))])
        })?;
        for table in &mut report.tables {
            table.row(row.clone());
            report.readme = format!("{}\n([run]({{folder}}/shapes.md))", table.markdown());
        }
        keep(&report)?;
    }
    Ok(report)
}

/// The row of one shape.
fn one(
    plan: &Plan<'_>,
    shape: Shape,
    max: u64,
    report: &mut Report,
) -> anyhow::Result<Vec<String>> {
    let name = shape.name();
    let (_process, upstream) = plan.bench.upstream()?;
    let mut running = Vec::new();
    for routes in [1, max] {
        let setup = Setup {
            upstream,
            address: None,
            routes,
            peers_have_all: true,
            cores: vec![plan.bench.cores.proxy],
            weir: Weir { shape, ..Weir::default() },
            asked: None,
            patience: plan.patience,
        };
        let started = subject::start(plan.bench, Peer::Weir, &routes.to_string(), &setup)?;
        running.extend(started);
    }
    let [_, last] = &*running else {
        return Ok(vec![name, String::new(), "did not start in time".to_owned()]);
    };
    let load = last.load.as_secs_f64();
    let compared = measure(plan, &mut running, shape, max, &name)?;
    let cpu = |at: usize| {
        let spread = Spread::of(compared.cpu(at, Per::Request));
        spread.map(|spread| spread.show(2)).unwrap_or_default()
    };
    let memory = Memory::of(&running[1].family()).shared_out as f64 / 1e6;
    let row = vec![
        name.clone(),
        cpu(0),
        cpu(1),
        compared.ratio(1, 0).map(|ratio| ratio.show(2)).unwrap_or_default(),
        format!("{load:.1}"),
        grouped(memory, 0),
        compared.errors(),
    ];
    report.samples.insert(name, compared.json());
    Ok(row)
}

fn measure(
    plan: &Plan<'_>,
    running: &mut [Running],
    shape: Shape,
    max: u64,
    name: &str,
) -> anyhow::Result<Compared> {
    let patterns = shape.patterns();
    // A table of one route of four kinds has only the first kind.
    let one = script("gateway.test", patterns.get(..1).unwrap_or_default(), 1, &Extra::default());
    let many = script("gateway.test", &patterns, max, &Extra::default());
    let measure = |running: &mut Running| {
        let lua = if running.name == "1" { &one } else { &many };
        plan.bench.wrk(running, CONNECTIONS, lua, plan.seconds)
    };
    // The first requests meet a table that was just moved.
    for running in running.iter_mut() {
        measure(running)?;
    }
    Compared::of(plan.bench, plan.rounds, running, name, measure)
}
