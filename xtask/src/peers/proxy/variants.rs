//! weir beside itself: with an access log, without metrics, with a second worker.

use anyhow::Context;

use super::Plan;
use crate::peers::client::wrk::{Extra, script};
use crate::peers::compare::{Compared, Per};
use crate::peers::report::{Report, Table};
use crate::peers::shapes::Shape;
use crate::peers::stats::Spread;
use crate::peers::subject::{self, Peer, Running, Setup, Weir};

/// How often more the rounds are where the difference that is asked for is smaller than the
/// scatter.
const ROUNDS_TIMES: usize = 3;

/// A variant: its name, and how it differs.
struct Variant {
    name: &'static str,
    weir: Weir,
    cores: Vec<usize>,
}

fn measure(
    plan: &Plan<'_>,
    variants: &[Variant],
    rounds: usize,
    what: &str,
) -> anyhow::Result<Compared> {
    let (_upstream, address) = plan.bench.upstream()?;
    let mut running: Vec<Running> = Vec::new();
    for variant in variants {
        let setup = Setup {
            weir: variant.weir.clone(),
            cores: variant.cores.clone(),
            ..plan.setup(address)
        };
        let started = subject::start(plan.bench, Peer::Weir, variant.name, &setup)?;
        running.push(started.with_context(|| format!("{} is late", variant.name))?);
    }
    let lua = script("gateway.test", &Shape::Exact.patterns(), plan.routes, &Extra::default());
    Compared::of(plan.bench, rounds, &mut running, what, |running| {
        plan.bench.wrk(running, 64, &lua, plan.seconds)
    })
}

/// What watching costs.
pub(super) fn observe(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let log = plan.bench.folder("access-log")?.join("access.log");
    let with = |properties: &[&str]| Weir {
        properties: properties.iter().map(|property| (*property).to_owned()).collect(),
        ..Weir::default()
    };
    let cores = vec![plan.bench.cores.proxy];
    let variant = |name, weir| Variant { name, weir, cores: cores.clone() };
    let path = format!("weir.access-log.path={}", log.display());
    let variants = [
        variant("weir", with(&[])),
        variant("access log", with(&["weir.access-log.enabled=true", &path])),
        variant("no metrics", with(&["spring.cloud.gateway.server.webflux.metrics.enabled=false"])),
    ];
    let compared = measure(plan, &variants, plan.rounds * ROUNDS_TIMES, "observe")?;
    let mut table =
        compared.table("What an access log and metrics cost", Per::Request, &[Peer::Weir]);
    table.note("Goals: access log ≤ 1.05; metrics ≤ 1.02, so no metrics ≥ 0.98.");
    report.tables.push(table);
    let show = |at: usize| compared.ratio(at, 0).map(|r| r.show(2)).unwrap_or_default();
    super::summarise(report, "access log, CPU ratio", show(1), "≤ 1.05");
    let metrics = compared.ratio(0, 2).map(|r| r.show(2)).unwrap_or_default();
    super::summarise(report, "metrics, CPU ratio", metrics, "≤ 1.02");
    report.samples.insert("observe".to_owned(), compared.json());
    Ok(())
}

/// What a second worker on a second core gives.
pub(super) fn workers(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let cores = &plan.bench.cores;
    let roomy = plan.bench.machine.cores >= 4;
    let second = cores.second(plan.bench.machine.cores);
    let worker = |name, count, cores| Variant {
        name,
        weir: Weir { workers: Some(count), ..Weir::default() },
        cores,
    };
    let variants = [
        worker("weir", 1, vec![cores.proxy]),
        worker("weir, 2 workers", 2, vec![cores.proxy, second]),
    ];
    let compared = measure(plan, &variants, plan.rounds, "workers")?;
    let mut table = Table::new("A second worker", &["", "req/s", "CPU µs/request"]);
    for (at, variant) in variants.iter().enumerate() {
        let rate = compared.rate(at).map(|rate| rate.show(0)).unwrap_or_default();
        let cpu = Spread::of(compared.cpu(at, Per::Request)).map(|cpu| cpu.show(2));
        table.row([variant.name.to_owned(), rate, cpu.unwrap_or_default()]);
    }
    let rates = compared.rate(1).zip(compared.rate(0)).filter(|_| roomy);
    let text = match rates {
        Some((two, one)) => format!("{:.2}", two.median / one.median),
        None => "needs four cores".to_owned(),
    };
    table.note(format!("Rate of two workers to one: {text}. Goal: ≥ 1.8."));
    if !roomy {
        table.note(
            "With fewer than four cores the second worker shares its core with client and upstream: \
             they limit the rate, and neighbours on a core make each other's CPU cheaper. The table \
             shows that two workers serve, not how they scale.",
        );
    }
    report.tables.push(table);
    super::summarise(report, "2 workers, rate to 1", text, "≥ 1.8");
    report.samples.insert("workers".to_owned(), compared.json());
    Ok(())
}
