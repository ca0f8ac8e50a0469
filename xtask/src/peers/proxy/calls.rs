//! System calls of a keep-alive request, counted by strace in a run of their own.

use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;

use super::Plan;
use crate::peers::client::wrk::{Extra, script};
use crate::peers::process::Process;
use crate::peers::report::{Report, Table};
use crate::peers::shapes::Shape;
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
/// Seconds of the two runs whose difference is taken.
const SHORT: u64 = 1;
const LONG: u64 = 4;
/// How long strace may take to attach.
const ATTACH: Duration = Duration::from_secs(1);

pub(super) fn run(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let mut fleet = plan.fleet(&[Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Forwarder])?;
    let head = ["", "socket calls", "waits", "all", "most frequent"];
    let mut table = Table::new("System calls per keep-alive request", &head);
    for running in &mut fleet.running {
        let counted = count(plan, running, SHORT).and_then(|short| {
            let long = count(plan, running, LONG)?;
            Ok((long.0.saturating_sub(short.0), difference(&long.1, &short.1)))
        });
        let (requests, calls) = match counted {
            Ok(counted) => counted,
            Err(error) => {
                plan.bench.interrupt.check()?;
                table.note(format!("{}: not counted: {error:#}", running.name));
                continue;
            }
        };
        let each = |calls: u64| calls as f64 / requests as f64;
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
        report.samples.insert(key, serde_json::json!({ "requests": requests, "calls": calls }));
    }
    table.note(format!(
        "strace -c -f of wrk -t1 -c64, once for {SHORT} s and once for {LONG} s: the difference is \
         what requests take without opening their connections. strace slows what it watches, so \
         waits are fewer or more than without it.",
    ));
    table.note("Goal: 4 socket calls at most.");
    report.tables.push(table);
    Ok(())
}

/// Requests answered in so many seconds, and calls by name, most frequent first.
fn count(
    plan: &Plan<'_>,
    running: &mut Running,
    seconds: u64,
) -> anyhow::Result<(u64, Vec<(String, u64)>)> {
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
    let lua = script("gateway.test", &Shape::Exact.patterns(), plan.routes, &Extra::default());
    let sample = plan.bench.wrk(running, 64, &lua, seconds)?;
    strace.signal(Signal::INT);
    strace.finish(Duration::from_secs(20), &plan.bench.interrupt)?;
    let text = std::fs::read_to_string(&summary).context("strace wrote nothing")?;
    let calls = parse(&text);
    anyhow::ensure!(!calls.is_empty(), "strace counted nothing:\n{text}");
    Ok((sample.counted.requests, calls))
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
