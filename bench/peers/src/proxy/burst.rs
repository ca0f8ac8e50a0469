//! A burst of users before a slow upstream, on default settings.

use std::time::Duration;

use anyhow::Context;
use weir_bench::descriptors::OTHERS;

use super::frame::summarise;
use super::plan::Plan;
use crate::bench::interleaved;
use crate::client::bench::Latency;
use crate::report::{Report, Table};
use crate::stats::{Spread, grouped};
use crate::subject::{self, Peer, Running, Setup, Weir};

/// Runs of the burst.
const RUNS: usize = 8;
/// As clients have addresses of their own: a closed connection keeps its port for a minute, and one
/// address has 28,000.
const LOCAL_ADDRESSES: &str = "127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5";
const ROUTE: &str =
    "    - { id: hello, uri: \"{upstream}\", predicates: [ \"Path=/hello/**\" ] }\n";

/// Users of the largest crowd.
const USERS: u64 = 20_000;

/// A crowd of users: their number, arrival rate and behaviour.
struct Crowd {
    name: String,
    users: u64,
    /// The quantity that has a goal, and how it is read; with the goal.
    judged: (&'static str, fn(&Latency) -> f64),
    goal: &'static str,
    arguments: String,
    path: &'static str,
    longest: Duration,
}

pub(super) fn run(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let command = [&*plan.bench.tools.weir.display().to_string(), "origin", "--quiet"]
        .into_iter()
        .chain(["--listen", "127.0.0.1:0"])
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let cores = [plan.bench.cores.upstream];
    let (_upstream, address) = plan.bench.listening(&command, "listening http ", &cores)?;
    let routes = ROUTE.replace("{upstream}", &format!("http://{address}"));
    let weir = Weir { workers: None, routes: Some(routes), ..Weir::default() };
    let asked = ("GET", "/hello/0".to_owned(), String::new());
    let setup = Setup { weir, asked: Some(asked), ..plan.setup(address) };
    let mut running = Vec::new();
    for peer in [Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Direct] {
        let started = subject::start(plan.bench, peer, peer.name(), &setup)?;
        running.push(started.with_context(|| format!("{} is late", peer.name()))?);
    }
    let crowd = Crowd {
        name: "burst of 3,000".to_owned(),
        users: 3000,
        judged: ("average", |latency| latency.mean_ms),
        goal: "≤ 520 ms, 0 failed",
        arguments: "--ramp 1s --loops 2 --timeout 30s --drain 30s".to_owned(),
        path: "/hello/500",
        longest: Duration::from_secs(60),
    };
    let title = "Burst: 3,000 connections within 1 s, two requests each, upstream takes 500 ms";
    let runs = if plan.seconds < 3 { 1 } else { RUNS };
    measure(plan, &mut running, &crowd, runs, title, report)?;
    if plan.full {
        // Half as many, too: where client and upstream have one core, it may not do for all.
        for users in [USERS / 2, USERS] {
            let count = grouped(users as f64, 0);
            let crowd = Crowd {
                name: format!("{count} users"),
                users,
                judged: ("p95", |latency| latency.p95_ms),
                goal: "≤ 105 ms, 0 failed",
                arguments: format!(
                    "--ramp 30s --loops 30 --think 1s..2s --timeout 30s --drain 30s \
                     --local-address {LOCAL_ADDRESSES}"
                ),
                path: "/hello/100",
                longest: Duration::from_secs(150),
            };
            let title = format!(
                "{count} users, ramp 30 s, 30 requests each, 1 to 2 s apart, upstream takes 100 ms"
            );
            measure(plan, &mut running, &crowd, 1, &title, report)?;
        }
    }
    Ok(())
}

fn measure(
    plan: &Plan<'_>,
    running: &mut [Running],
    crowd: &Crowd,
    runs: usize,
    title: &str,
    report: &mut Report,
) -> anyhow::Result<()> {
    // A connection needs a descriptor at each end, and a client needs further ones.
    let shares = shares(crowd.users, plan.bench.files.saturating_sub(OTHERS));
    let results = interleaved(plan.bench, runs, running, |round, running| {
        let url = format!("http://{}{}", running.address, crowd.path);
        let client = |users: u64| {
            let mut arguments = vec![url.clone(), "--users".to_owned(), users.to_string()];
            arguments.extend(crowd.arguments.split(' ').map(str::to_owned));
            arguments.extend(["-t", "1"].map(str::to_owned));
            arguments
        };
        let clients: Vec<_> = shares.iter().map(|users| client(*users)).collect();
        let latency = plan.bench.bench(running, &clients, crowd.longest)?;
        eprintln!(
            "burst, run {round}/{runs}: {:<18} average {:.0} ms, max {:.0} ms, {} failed, {}",
            running.name, latency.mean_ms, latency.max_ms, latency.failed, latency.verdict
        );
        Ok(latency)
    })?;
    let head = ["", "runs", "answers", "failed", "average ms", "p95 ms", "p99 ms", "max ms"];
    let mut table = Table::new(title, &head);
    for (running, latencies) in running.iter().zip(&results) {
        let sum =
            |of: fn(&Latency) -> u64| grouped(latencies.iter().map(of).sum::<u64>() as f64, 0);
        let show = |of: fn(&Latency) -> f64| {
            let spread = Spread::of(latencies.iter().map(of));
            spread.map(|spread| spread.show(0)).unwrap_or_default()
        };
        table.row([
            running.name.clone(),
            latencies.len().to_string(),
            sum(|latency| latency.ok),
            Latency::show_failures(latencies),
            show(|latency| latency.mean_ms),
            show(|latency| latency.p95_ms),
            show(|latency| latency.p99_ms),
            show(|latency| latency.max_ms),
        ]);
        let key = format!("{title}: {}", running.name);
        report.samples.insert(key, serde_json::json!(latencies));
        if running.peer == Peer::Weir {
            let failed = sum(|latency| latency.failed);
            let text = format!("{} ms, {failed} failed", show(crowd.judged.1));
            let what = format!("{}, {}", crowd.name, crowd.judged.0);
            summarise(report, &what, text, crowd.goal);
        }
    }
    let each: Vec<String> = shares.iter().map(u64::to_string).collect();
    table.note(format!(
        "weir bench URL --users {} {} -t 1{}; weir on default settings, pinned as ever; upstream: \
         weir origin.",
        each.join(" and "),
        crowd.arguments,
        if shares.len() > 1 { ", as so many clients at once" } else { "" },
    ));
    report.tables.push(table);
    Ok(())
}

/// The division of `users` among the fewest clients with at most `each_max` users each.
fn shares(users: u64, each_max: u64) -> Vec<u64> {
    let clients = users.div_ceil(each_max.max(1));
    (0..clients).map(|n| (users + n) / clients).collect()
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn users_are_shared_out_among_as_few_clients_as_can_be() {
        assert_eq!(shares(3000, 19_900), [3000]);
        assert_eq!(shares(20_000, 20_000), [20_000]);
        assert_eq!(shares(20_000, 19_900), [10_000, 10_000]);
        assert_eq!(shares(20_000, 924).iter().sum::<u64>(), 20_000);
        assert!(shares(20_000, 924).iter().all(|users| *users <= 924));
        assert_eq!(shares(2, 0), [1, 1]);
    }
}
