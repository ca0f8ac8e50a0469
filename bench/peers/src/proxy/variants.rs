//! weir beside itself: with an access log, without metrics, with a second worker.

use std::net::SocketAddr;

use super::frame::summarise;
use super::plan::{Plan, ROUNDS_TIMES};
use crate::client::wrk::{Extra, script};
use crate::compare::{Compared, Per};
use crate::report::{Report, Table};
use crate::shapes::Shape;
use crate::stats::{Spread, grouped};
use crate::subject::{Peer, Running, Setup, Weir};

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
    busy: bool,
) -> anyhow::Result<Compared> {
    let (_upstream, address) = plan.bench.upstream()?;
    let routes = busy.then(|| busy_route(address));
    let mut running: Vec<Running> = Vec::new();
    for variant in variants {
        let setup = Setup {
            weir: Weir { routes: routes.clone(), ..variant.weir.clone() },
            cores: variant.cores.clone(),
            ..plan.setup(address)
        };
        running.push(plan.start(Peer::Weir, variant.name, &setup)?);
    }
    let lua = script("gateway.test", &Shape::Exact.patterns(), plan.routes, &Extra::default());
    Compared::of(plan.bench, rounds, &mut running, what, |running| {
        plan.bench.wrk(running, 64, &lua, plan.seconds)
    })
}

/// The cost of observability.
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
    let compared = measure(plan, &variants, plan.rounds * ROUNDS_TIMES, "observe", false)?;
    let mut table =
        compared.table("What an access log and metrics cost", Per::Request, &[Peer::Weir]);
    table.note("Goals: access log ≤ 1.05; metrics ≤ 1.02, so no metrics ≥ 0.98.");
    report.tables.push(table);
    let show = |at: usize| compared.ratio(at, 0).map(|r| r.show(2)).unwrap_or_default();
    summarise(report, "access log, CPU ratio", show(1), "≤ 1.05");
    let metrics = compared.ratio(0, 2).map(|r| r.show(2)).unwrap_or_default();
    summarise(report, "metrics, CPU ratio", metrics, "≤ 1.02");
    report.samples.insert("observe".to_owned(), compared.json());
    Ok(())
}

/// The number of filters of a route that makes weir's work outweigh that of client and upstream.
const FILTERS_BUSY: usize = 10_000;

/// The gain of a second worker on a second core: for plain requests where client and upstream have
/// cores of their own, and on all machines for requests whose filters dominate.
pub(super) fn workers(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let roomy = plan.bench.machine.cores >= 4;
    let (mut plain, ratio) = second_worker(plan, report, "A second worker", "workers", false)?;
    if !roomy {
        plain.note(
            "With fewer than four cores the second worker shares its core with client and upstream: \
             they limit the rate, and neighbours on a core make each other's CPU cheaper. The table \
             shows that two workers serve, not how they scale.",
        );
    }
    report.tables.push(plain);
    let text = if roomy { ratio } else { "needs four cores".to_owned() };
    summarise(report, "2 workers, rate to 1", text, "≥ 1.8");
    let title = "A second worker, where weir alone has much to do";
    let (mut busy, ratio) = second_worker(plan, report, title, "workers-busy", true)?;
    let count = grouped(FILTERS_BUSY as f64, 0);
    busy.note(format!(
        "One route with {count} RewritePath filters: client and upstream, which the second worker \
         shares a core with where there are fewer than four, need little beside it."
    ));
    report.tables.push(busy);
    let what = format!("2 workers, rate to 1, {count} filters");
    summarise(report, &what, ratio, "≥ 1.8");
    Ok(())
}

/// One worker and two, and the ratio of their rates.
fn second_worker(
    plan: &Plan<'_>,
    report: &mut Report,
    title: &str,
    what: &str,
    busy: bool,
) -> anyhow::Result<(Table, String)> {
    let cores = &plan.bench.cores;
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
    let compared = measure(plan, &variants, plan.rounds, what, busy)?;
    let mut table = Table::new(title, &["", "req/s", "CPU µs/request", "errors"]);
    for (at, variant) in variants.iter().enumerate() {
        let rate = compared.rate(at).map(|rate| rate.show(0)).unwrap_or_default();
        let cpu = Spread::of(compared.cpu(at, Per::Request)).map(|cpu| cpu.show(2));
        let errors = compared.errors_of(at).to_string();
        table.row([variant.name.to_owned(), rate, cpu.unwrap_or_default(), errors]);
    }
    let ratio = compared.rates(1, 0).map(|ratio| ratio.show(2)).unwrap_or_default();
    table.note(format!("Rate of two workers to one: {ratio}. Goal: ≥ 1.8."));
    report.samples.insert(what.to_owned(), compared.json());
    Ok((table, ratio))
}

/// A route below `routes:` whose filters are slow and change nothing.
fn busy_route(upstream: SocketAddr) -> String {
    let filters = ["\"RewritePath=/(?<rest>.*), /$\\\\{rest}\""; FILTERS_BUSY].join(", ");
    format!(
        "    - {{ id: busy, uri: \"http://{upstream}\", predicates: [ \"Path=/**\" ], filters: [ \
         {filters} ] }}\n"
    )
}
