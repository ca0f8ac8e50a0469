//! Other traffic than small answers on a few connections: headers, bodies, chunks, many
//! connections, pipelining.

use super::frame::summarise;
use super::plan::Plan;
use crate::client::browser;
use crate::client::wrk::{Body, Extra, script};
use crate::compare::{Compared, Per};
use crate::report::{Report, Table};
use crate::shapes::Shape;
use crate::stats::Spread;
use crate::subject::Peer;

/// One kind of traffic.
struct Kind {
    name: &'static str,
    connections: usize,
    extra: Extra,
    per: Per,
}

const MEGABYTE: usize = 1 << 20;

fn kinds() -> Vec<Kind> {
    let get = Extra::default;
    let answer = |size: &str| Extra { fields: format!("X-Answer: {size}\r\n"), ..get() };
    let post = |body| Extra { body, ..get() };
    let kind = |name, extra, per| Kind { name, connections: 64, extra, per };
    let mut both = answer("16384,chunked");
    both.body = Body::Chunked(16_384);
    vec![
        kind("1 KB of headers", Extra { fields: browser(), ..get() }, Per::Request),
        kind("16 KB down", answer("16384"), Per::Megabyte(16_384)),
        kind("1 MB down", answer("1048576"), Per::Megabyte(MEGABYTE)),
        kind("16 KB up", post(Body::Length(16_384)), Per::Megabyte(16_384)),
        kind("1 MB up", post(Body::Length(MEGABYTE)), Per::Megabyte(MEGABYTE)),
        kind("16 KB chunked, both ways", both, Per::Megabyte(32_768)),
        Kind { connections: 1000, ..kind("1,000 connections", get(), Per::Request) },
        kind("16 GETs pipelined", Extra { pipelined: 16, ..get() }, Per::Request),
    ]
}

pub(super) fn run(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let mut fleet = plan.fleet(&[Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Forwarder])?;
    let names: Vec<String> = fleet.running.iter().map(|running| running.name.clone()).collect();
    let head =
        ["", "unit", &*names[0], &*names[1], &*names[2], &*names[3], "weir to nginx", "errors"];
    let mut table = Table::new("Other traffic: CPU per request or per megabyte", &head);
    for kind in kinds() {
        let patterns = Shape::Exact.patterns();
        let lua = script("gateway.test", &patterns, plan.routes, &kind.extra);
        let seconds = plan.seconds.min(4);
        let rounds = plan.rounds.min(5);
        let compared =
            Compared::of(plan.bench, rounds, &mut fleet.running, kind.name, |running| {
                plan.bench.wrk(running, kind.connections, &lua, seconds)
            })?;
        let unit = if kind.per == Per::Request { "µs/request" } else { "ms/MB" };
        let mut row = vec![kind.name.to_owned(), unit.to_owned()];
        for at in 0..names.len() {
            let cpu = Spread::of(compared.cpu(at, kind.per));
            row.push(cpu.map(|cpu| cpu.show(2)).unwrap_or_default());
        }
        let ratio = compared.ratio(0, 1).map(|ratio| ratio.show(2)).unwrap_or_default();
        summarise(report, &format!("{}, CPU to nginx", kind.name), ratio.clone(), "≤ 1.00");
        row.push(ratio);
        row.push(compared.errors());
        table.row(row);
        report.samples.insert(kind.name.to_owned(), compared.json());
    }
    table.note("64 connections unless said otherwise; a megabyte is 10⁶ bytes of bodies.");
    table.note("Goal: weir never behind nginx (ratio ≤ 1.00).");
    report.tables.push(table);
    Ok(())
}
