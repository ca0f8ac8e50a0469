//! Keep-alive connections, 3-byte bodies: the highest rate, its CPU, and latency below it.

use std::time::Duration;

use super::frame;
use super::plan::{Plan, ROUNDS_TIMES};
use crate::bench::interleaved;
use crate::client::bench::{Gets, Latency};
use crate::client::wrk::{Extra, script};
use crate::compare::{Compared, Per};
use crate::report::{Report, Table};
use crate::shapes::Shape;
use crate::stats::{Spread, grouped};
use crate::subject::{Peer, Running};

const CONNECTIONS: usize = 64;
/// Share of the highest rate at which latency is measured.
const SHARE: f64 = 0.7;

/// Measures `peers`; their CPU.
pub(super) fn run(
    plan: &Plan<'_>,
    peers: &[Peer],
    report: &mut Report,
) -> anyhow::Result<Compared> {
    let mut fleet = plan.fleet(peers)?;
    plan.join(&mut fleet)?;
    let extra = Extra::default();
    let lua = script("gateway.test", &Shape::Exact.patterns(), plan.routes, &extra);
    let warm_up = Duration::from_secs(if plan.full { 180 } else { 60 });
    for running in &mut fleet.running {
        if running.peer == Peer::Scg {
            plan.bench.warm_up(running, CONNECTIONS, &lua, warm_up)?;
        } else {
            plan.bench.wrk(running, CONNECTIONS, &lua, plan.seconds)?;
        }
    }
    let mut against = vec![Peer::Nginx, Peer::Copier, Peer::Forwarder];
    if !plan.beside.is_empty() {
        against.push(Peer::Weir);
    }
    let title = |client| format!("64 keep-alive connections, 3-byte bodies, {client}");
    let rounds = plan.rounds * ROUNDS_TIMES;
    let what = "keep-alive by wrk";
    let by_wrk = Compared::of(plan.bench, rounds, &mut fleet.running, what, |running| {
        plan.bench.wrk(running, CONNECTIONS, &lua, plan.seconds)
    })?;
    let mut table = by_wrk.table(&title("by wrk"), Per::Request, &against);
    table.note(format!("wrk -t1 -c64 -d{}s, requests from a script", plan.seconds));
    for running in &fleet.running {
        if running.process.is_some() {
            let command = plan.bench.shown(running.command());
            table.note(format!("{}: `{command}`", running.name));
        }
    }
    report.tables.push(table);
    report.samples.insert("keepalive-wrk".to_owned(), by_wrk.json());
    let what = "keep-alive by weir bench";
    let compared = Compared::of(plan.bench, rounds, &mut fleet.running, what, |running| {
        plan.bench.closed(running, &gets(plan, running, None))
    })?;
    let mut table = compared.table(&title("by weir bench"), Per::Request, &against);
    table.note(format!("weir bench plan: closed loop, 64 connections, {} s", plan.seconds));
    table.note("Goals: weir ≤ 0.85 × nginx, ≤ 1.10 × the tokio forwarder.");
    report.tables.push(table);
    report.samples.insert("keepalive".to_owned(), compared.json());
    summarise(&compared, "by weir bench", report);
    summarise(&by_wrk, "by wrk", report);
    latency(plan, &mut fleet.running, &compared, report)?;
    Ok(compared)
}

/// GETs of the routes that weir has.
fn gets(plan: &Plan<'_>, running: &Running, rate: Option<f64>) -> Gets {
    Gets {
        base: format!("http://{}", running.address),
        path: format!("/${{random(0,{})}}", plan.routes - 1),
        rate,
        connections: CONNECTIONS,
        seconds: plan.seconds,
    }
}

fn summarise(compared: &Compared, client: &str, report: &mut Report) {
    let goals = [(Peer::Nginx, "≤ 0.85"), (Peer::Copier, "≤ 1.10"), (Peer::Forwarder, "the floor")];
    for (peer, goal) in goals {
        let pair = compared.position(Peer::Weir).zip(compared.position(peer));
        if let Some(ratio) = pair.and_then(|(weir, other)| compared.ratio(weir, other)) {
            let what = format!("keep-alive {client}, CPU to {}", peer.name());
            frame::summarise(report, &what, ratio.show(2), goal);
        }
    }
}

/// A proxy under a rate: 70 % of its own maximum, or of nginx's. Without a proxy, at weir's rate or
/// nginx's: the latency of client and upstream alone.
struct Paced70 {
    at: usize,
    name: String,
    rate: f64,
    own: bool,
}

fn latency(
    plan: &Plan<'_>,
    running: &mut [Running],
    compared: &Compared,
    report: &mut Report,
) -> anyhow::Result<()> {
    let rate = |at: usize| compared.rate(at).map_or(0.0, |rate| rate.median * SHARE);
    let common = compared.position(Peer::Nginx).map_or(0.0, rate);
    let weirs = compared.position(Peer::Weir).map_or(0.0, rate);
    let mut runs = Vec::new();
    for (at, running) in running.iter().enumerate() {
        let (own, name) = match running.peer {
            Peer::Direct => (weirs, format!("{} at weir's rate", running.name)),
            _ => (rate(at), running.name.clone()),
        };
        runs.push(Paced70 { at, name, rate: own, own: true });
        // A rate above its maximum is meaningless for a proxy.
        if common <= rate(at) / SHARE {
            runs.push(Paced70 { at, name: running.name.clone(), rate: common, own: false });
        }
    }
    let rounds = plan.rounds * ROUNDS_TIMES;
    let results = interleaved(plan.bench, rounds, &mut runs, |round, run| {
        let running = &mut running[run.at];
        let latency = plan.bench.paced(running, &gets(plan, running, Some(run.rate)))?;
        eprintln!(
            "latency, round {round}/{rounds}: {:<21} {:>9} req/s p99 {:.2} ms, {}",
            run.name,
            grouped(latency.rate, 0),
            latency.p99_ms,
            latency.verdict
        );
        Ok(latency)
    })?;
    tables(plan, running, &runs, &results, report);
    report.samples.insert("latency".to_owned(), {
        let all = runs.iter().zip(&results);
        all.map(|(run, latencies)| {
            serde_json::json!({ "name": run.name, "rate": run.rate, "runs": latencies })
        })
        .collect()
    });
    Ok(())
}

fn tables(
    plan: &Plan<'_>,
    running: &[Running],
    runs: &[Paced70],
    results: &[Vec<Latency>],
    report: &mut Report,
) {
    for (own, title) in [
        (true, "Latency at 70 % of each one's own highest rate"),
        (false, "Latency at the same rate: 70 % of nginx's highest"),
    ] {
        let head = ["", "asked req/s", "p50 ms", "p99 ms", "p99 to nginx", "failed", "verdicts"];
        let mut table = Table::new(title, &head);
        let nginx = runs
            .iter()
            .zip(results)
            .find(|(run, _)| run.own == own && running[run.at].peer == Peer::Nginx);
        for (run, latencies) in runs.iter().zip(results).filter(|(run, _)| run.own == own) {
            let cells =
                row(run.name.clone(), run.rate, latencies, nginx.map(|(_, latencies)| latencies));
            if run.name == Peer::Weir.name() {
                let what = if own { "its own" } else { "nginx's" };
                let what = format!("p99 at 70 % of {what} highest rate, to nginx");
                frame::summarise(report, &what, cells[4].clone(), "≤ 1.00");
            }
            table.row(cells);
        }
        table.note(format!(
            "weir bench plan: open loop, Poisson, 64 connections, {} s; response times from when \
             a request was due. The row `direct` has no proxy in between: its client and upstream \
             share their core as they do with one.",
            plan.seconds
        ));
        report.tables.push(table);
    }
}

fn row(
    name: String,
    rate: f64,
    latencies: &[Latency],
    nginx: Option<&Vec<Latency>>,
) -> Vec<String> {
    let times = |of: fn(&Latency) -> f64| latencies.iter().map(of).collect::<Vec<f64>>();
    let show = |values: &[f64]| {
        Spread::of(values.iter().copied()).map(|spread| spread.show(2)).unwrap_or_default()
    };
    let p99 = times(|latency| latency.p99_ms);
    let theirs: Vec<f64> = nginx.into_iter().flatten().map(|latency| latency.p99_ms).collect();
    let ratio = Spread::ratio(&p99, &theirs).map(|ratio| ratio.show(2)).unwrap_or_default();
    let mut verdicts: Vec<&str> = latencies.iter().map(|latency| &*latency.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    vec![
        name,
        grouped(rate, 0),
        show(&times(|latency| latency.p50_ms)),
        show(&p99),
        ratio,
        Latency::show_failures(latencies),
        verdicts.join(", "),
    ]
}
