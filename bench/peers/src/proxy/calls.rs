//! System calls of a keep-alive request, counted by strace in a run of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;

use super::frame::summarise;
use super::plan::Plan;
use crate::client::bench::Latency;
use crate::process::Process;
use crate::report::{Report, Table};
use crate::shapes::drawn;
use crate::subject::{Peer, Running};
use crate::tools::{Tool, path};

/// Calls that wait for events.
const WAIT: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];
/// Requests of the two runs whose difference is taken.
const FEW: u64 = 5_000;
const MANY: u64 = 25_000;
/// The time limit of a run under strace.
const LONGEST: Duration = Duration::from_secs(60);
/// The time limit for strace to attach.
const ATTACH: Duration = Duration::from_secs(1);
/// The time for the connections of a run to end; both runs include it.
const END: Duration = Duration::from_secs(1);

/// Calls by name, and whether they name a socket: a timer is read by `read` too.
type Calls = BTreeMap<(String, bool), u64>;

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
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for ((name, _socket), count) in &calls {
            *by_name.entry(name).or_default() += count;
        }
        let on_sockets = calls.iter().filter(|((_name, socket), _)| *socket);
        let on_sockets = each(on_sockets.map(|(_, count)| count).sum());
        let waits = each(WAIT.iter().filter_map(|name| by_name.get(name)).sum());
        let all = each(by_name.values().sum());
        let mut frequent: Vec<(&str, f64)> =
            by_name.into_iter().map(|(name, count)| (name, each(count))).collect();
        frequent.retain(|(_, each)| *each >= 0.01);
        frequent.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let frequent: Vec<String> =
            frequent.iter().map(|(name, each)| format!("{name} {each:.2}")).collect();
        let (socket, wait) = (format!("{on_sockets:.2}"), format!("{waits:.2}"));
        eprintln!("calls: {:<18} {socket} socket calls per request", running.name);
        if running.peer == Peer::Weir {
            summarise(report, "socket calls per request", socket.clone(), "≤ 4");
        }
        let all = format!("{all:.2}");
        table.row([running.name.clone(), socket, wait, all, frequent.join(", ")]);
        let key = format!("calls {}", running.name);
        let calls: Vec<_> = calls
            .iter()
            .map(|((name, socket), count)| {
                serde_json::json!({ "name": name, "socket": socket, "count": count })
            })
            .collect();
        report.samples.insert(key, serde_json::json!({ "requests": MANY - FEW, "calls": calls }));
    }
    table.note(format!(
        "strace -f -y of weir bench -t 1 -c 64, once with {FEW} requests and once with {MANY}: the \
         difference is what requests take without opening and ending their connections. Socket \
         calls are all that name a socket. strace slows what it watches, so waits are fewer or \
         more than without it.",
    ));
    table.note("Goal: 4 socket calls at most.");
    report.tables.push(table);
    Ok(())
}

/// System calls for this number of requests. The client is `weir bench`, as wrk would stop amid
/// requests.
fn count(plan: &Plan<'_>, running: &mut Running, requests: u64) -> anyhow::Result<Calls> {
    let folder = plan.bench.folder("strace")?;
    let trace = folder.join("trace");
    let mut command = vec![path(Tool::Strace)?];
    command.extend(["-f", "-y", "-s", "0", "-o"].map(str::to_owned));
    command.push(trace.display().to_string());
    for pid in running.family() {
        command.extend(["-p".to_owned(), pid.to_string()]);
    }
    let mut strace = Process::start(&command, &[], &folder.join("log"))?;
    plan.bench.interrupt.sleep(ATTACH)?;
    strace.check()?;
    let path = drawn("/{n}", 0, plan.routes);
    let (url, requests) = (format!("http://{}{path}", running.address), requests.to_string());
    let load = [&*url, "-t", "1", "-c", "64", "-n", &requests].map(str::to_owned);
    let answers = plan.bench.bench(running, &[load.to_vec()], LONGEST)?;
    plan.bench.interrupt.sleep(END)?;
    strace.signal(Signal::INT);
    strace.finish(Duration::from_secs(20), &plan.bench.interrupt)?;
    let calls = parse(&std::fs::read_to_string(&trace).context("strace wrote nothing")?);
    std::fs::remove_file(&trace)?;
    anyhow::ensure!(!calls.is_empty(), "strace saw no call");
    let Latency { ok, failed, .. } = answers;
    anyhow::ensure!(ok.to_string() == requests, "{ok} of {requests} succeeded, {failed} failed");
    Ok(calls)
}

/// The calls of `long` that `short` does not have.
fn difference(long: &Calls, short: &Calls) -> Calls {
    let mut calls = long.clone();
    for (call, count) in &mut calls {
        *count = count.saturating_sub(short.get(call).copied().unwrap_or(0));
    }
    calls.retain(|_, count| *count > 0);
    calls
}

/// Counts what `strace -f -y` wrote, a call a line: `PID name(FD<socket:[N]>, ...) = RESULT`. A
/// call that another thread's interrupted is counted by its first half.
fn parse(text: &str) -> Calls {
    let mut calls = Calls::new();
    for line in text.lines() {
        let call = line.split_once(' ').map_or("", |(_pid, call)| call.trim_start());
        let Some((name, rest)) = call.split_once('(') else { continue };
        if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            *calls.entry((name.to_owned(), rest.contains("<socket:["))).or_default() += 1;
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::{Calls, difference, parse};

    fn counted(calls: &[(&str, bool, u64)]) -> Calls {
        calls.iter().map(|(name, socket, count)| (((*name).to_owned(), *socket), *count)).collect()
    }

    #[test]
    fn what_both_runs_have_is_left_out() {
        let long = counted(&[
            ("sendto", true, 900),
            ("recvfrom", true, 800),
            ("accept4", true, 64),
            ("read", false, 5),
            ("read", true, 1),
        ]);
        let short = counted(&[
            ("recvfrom", true, 100),
            ("sendto", true, 300),
            ("accept4", true, 64),
            ("read", false, 9),
        ]);
        let expected =
            counted(&[("recvfrom", true, 700), ("sendto", true, 600), ("read", true, 1)]);
        assert_eq!(difference(&long, &short), expected);
    }

    #[test]
    fn traces_are_read() {
        let text = r#"
4242 recvfrom(12<socket:[901]>, ""..., 16384, 0, NULL, NULL) = 78
4242  sendto(13<socket:[902]>, ""..., 91, MSG_NOSIGNAL, NULL, 0 <unfinished ...>
4243  read(7<anon_inode:[timerfd]>, ""..., 8) = 8
4242  <... sendto resumed>)             = 91
4242  accept4(5<socket:[900]>, NULL, NULL, SOCK_CLOEXEC) = -1 EAGAIN (Try again)
4242  socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 14<socket:[903]>
4242  epoll_wait(3<anon_inode:[eventpoll]>, [{events=EPOLLIN, data={u32=1, u64=1}}], 1024, -1) = 1
4242  recvfrom(12<socket:[901]>, "", 16384, 0, NULL, NULL) = 0
4242 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=1, si_uid=0} ---
4243 +++ exited with 0 +++
"#;
        let expected = counted(&[
            ("recvfrom", true, 2),
            ("sendto", true, 1),
            ("read", false, 1),
            ("accept4", true, 1),
            ("socket", true, 1),
            ("epoll_wait", false, 1),
        ]);
        assert_eq!(parse(text), expected);
        assert!(
            parse("strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted").is_empty()
        );
    }
}
