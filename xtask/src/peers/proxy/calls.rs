//! System calls of a keep-alive request, counted by strace in a run of their own.

use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;

use super::Plan;
use crate::peers::client::bench::Latency;
use crate::peers::process::Process;
use crate::peers::report::{Report, Table};
use crate::peers::shapes::drawn;
use crate::peers::subject::{Peer, Running};
use crate::peers::tools::{Tool, path};

/// Calls that move bytes or make and end connections.
const SOCKET: [&str; 16] = [
    "recvfrom",
    "sendto",
    "read",
    "write",
    "readv",
    "writev",
    "recvmsg",
    "sendmsg",
    "splice",
    "tee",
    "accept4",
    "connect",
    "socket",
    "close",
    "shutdown",
    "setsockopt",
];
/// Calls that wait for events.
const WAIT: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];
/// Requests of the two runs whose difference is taken.
const FEW: u64 = 5_000;
const MANY: u64 = 25_000;
/// How long they may take while each call is watched.
const LONGEST: Duration = Duration::from_secs(60);
/// How long strace may take to attach.
const ATTACH: Duration = Duration::from_secs(1);

pub(super) fn run(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let mut fleet = plan.fleet(&[Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Forwarder])?;
    let head = ["", "socket calls", "waits", "all", "most frequent"];
    let mut table = Table::new("System calls per keep-alive request", &head);
    for running in &mut fleet.running {
        let counted = count(plan, running, FEW)
            .and_then(|few| Ok(difference(&count(plan, running, MANY)?, &few)));
        let calls = match counted {
            Ok(calls) => calls,
            Err(error) => {
                plan.bench.interrupt.check()?;
                table.note(format!("{}: not counted: {error:#}", running.name));
                continue;
            }
        };
        let each = |calls: u64| calls as f64 / (MANY - FEW) as f64;
        let sum = |names: &[&str]| {
            let these = calls.iter().filter(|(name, _)| names.contains(&name.as_str()));
            each(these.map(|(_, calls)| calls).sum())
        };
        let frequent = calls.iter().filter(|(_, calls)| each(*calls) >= 0.01);
        let frequent: Vec<String> =
            frequent.map(|(name, calls)| format!("{name} {:.2}", each(*calls))).collect();
        let all = each(calls.iter().map(|(_, calls)| calls).sum());
        let (socket, wait) = (format!("{:.2}", sum(&SOCKET)), format!("{:.2}", sum(&WAIT)));
        eprintln!("calls: {:<18} {socket} socket calls per request", running.name);
        if running.peer == Peer::Weir {
            super::summarise(report, "socket calls per request", socket.clone(), "≤ 4");
        }
        let all = format!("{all:.2}");
        table.row([running.name.clone(), socket, wait, all, frequent.join(", ")]);
        let key = format!("calls {}", running.name);
        report.samples.insert(key, serde_json::json!({ "requests": MANY - FEW, "calls": calls }));
    }
    table.note(format!(
        "strace -c -f of weir bench -t 1 -c 64, once with {FEW} requests and once with {MANY}: the \
         difference is what requests take without opening their connections. strace slows what it \
         watches, so waits are fewer or more than without it.",
    ));
    table.note("Goal: 4 socket calls at most.");
    report.tables.push(table);
    Ok(())
}

/// Calls that so many requests take, by name, most frequent first. wrk would stop in the middle of
/// some.
fn count(
    plan: &Plan<'_>,
    running: &mut Running,
    requests: u64,
) -> anyhow::Result<Vec<(String, u64)>> {
    let folder = plan.bench.folder("strace")?;
    let summary = folder.join("summary");
    let mut command = vec![path(Tool::Strace)?, "-c".to_owned(), "-f".to_owned()];
    command.extend(["-o".to_owned(), summary.display().to_string()]);
    for pid in running.family() {
        command.extend(["-p".to_owned(), pid.to_string()]);
    }
    let mut strace = Process::start(&command, &[], &folder.join("log"))?;
    plan.bench.interrupt.sleep(ATTACH)?;
    strace.check()?;
    let path = drawn("/{n}", 0, plan.routes);
    let (url, requests) = (format!("http://{}{path}", running.address), requests.to_string());
    let load = [&*url, "-t", "1", "-c", "64", "-n", &requests].map(str::to_owned);
    let answers = plan.bench.bench(running, &load, LONGEST)?;
    strace.signal(Signal::INT);
    strace.finish(Duration::from_secs(20), &plan.bench.interrupt)?;
    let text = std::fs::read_to_string(&summary).context("strace wrote nothing")?;
    let calls = parse(&text);
    anyhow::ensure!(!calls.is_empty(), "strace counted nothing:\n{text}");
    let Latency { ok, failed, .. } = answers;
    anyhow::ensure!(ok.to_string() == requests, "{ok} of {requests} succeeded, {failed} failed");
    Ok(calls)
}

/// The calls of `long` that `short` does not have, most frequent first.
fn difference(long: &[(String, u64)], short: &[(String, u64)]) -> Vec<(String, u64)> {
    let before = |name: &str| short.iter().find(|(other, _)| other == name).map_or(0, |two| two.1);
    let calls = long.iter().map(|(name, count)| (name.clone(), count.saturating_sub(before(name))));
    let mut calls: Vec<_> = calls.filter(|(_, count)| *count > 0).collect();
    calls.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    calls
}

/// Reads the table of `strace -c`: calls by name, most frequent first.
fn parse(text: &str) -> Vec<(String, u64)> {
    let mut calls = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // % time, seconds, usecs/call, calls, [errors], syscall
        let (Some(&name), Some(Ok(count))) = (words.last(), words.get(3).map(|word| word.parse()))
        else {
            continue;
        };
        if words.len() >= 5 && name != "total" {
            calls.push((name.to_owned(), count));
        }
    }
    calls.sort_by_key(|(_, count): &(String, u64)| std::cmp::Reverse(*count));
    calls
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_both_runs_have_is_left_out() {
        let counted = |calls: &[(&str, u64)]| -> Vec<(String, u64)> {
            calls.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let long = counted(&[("sendto", 900), ("recvfrom", 800), ("accept4", 64), ("madvise", 1)]);
        let short = counted(&[("recvfrom", 100), ("sendto", 300), ("accept4", 64), ("mmap", 9)]);
        let expected = counted(&[("recvfrom", 700), ("sendto", 600), ("madvise", 1)]);
        assert_eq!(super::difference(&long, &short), expected);
    }

    #[test]
    fn summaries_are_read() {
        let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.600000           3    200000           sendto
 39.00    0.390000           1    210000     10000 recvfrom
  1.00    0.010000           1       500           epoll_pwait2
------ ----------- ----------- --------- --------- ----------------
100.00    1.000000           2    410500     10000 total
";
        let expected = [("recvfrom", 210_000), ("sendto", 200_000), ("epoll_pwait2", 500)];
        let got = super::parse(text);
        let got: Vec<(&str, u64)> = got.iter().map(|(name, calls)| (&**name, *calls)).collect();
        assert_eq!(got, expected);
        assert!(super::parse("strace: attach: Operation not permitted").is_empty());
    }
}
