//! Short connections: ApacheBench, HTTP/1.0.

use super::frame::summarise;
use super::plan::Plan;
use crate::compare::{Compared, Per};
use crate::report::Report;
use crate::subject::Peer;

const REQUESTS: u64 = 50_000;

pub(super) fn run(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let peers = [Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Forwarder, Peer::Direct];
    let mut fleet = plan.fleet(&peers)?;
    // A run that is to be short altogether is short here, too.
    let requests = if plan.seconds < 3 { REQUESTS / 10 } else { REQUESTS };
    let target = format!("/{}", plan.routes * 7 / 9);
    let rounds = plan.rounds.min(5);
    let compared = Compared::of(plan.bench, rounds, &mut fleet.running, "short", |running| {
        plan.bench.ab(running, requests, &target)
    })?;
    let against = [Peer::Nginx, Peer::Forwarder];
    let mut table = compared.table("Short HTTP/1.0 connections", Per::Request, &against);
    table.note(format!("ab -q -r -c 100 -n {requests}"));
    table.note("Goal: weir ≤ 0.9 × nginx.");
    if let Some(ratio) = compared.ratio(0, 1) {
        summarise(report, "short HTTP/1.0, CPU to nginx", ratio.show(2), "≤ 0.90");
    }
    report.tables.push(table);
    report.samples.insert("short".to_owned(), compared.json());
    Ok(())
}
