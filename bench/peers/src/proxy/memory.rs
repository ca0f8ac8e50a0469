//! Memory: with some active connections, with many idle ones, and after they are closed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context;

use super::frame::summarise;
use super::plan::Plan;
use crate::client::wrk::{Extra, script};
use crate::report::{Report, Table};
use crate::shapes::Shape;
use crate::stats::grouped;
use crate::subject::{self, Peer, Running, Setup, Weir};
use crate::usage::Memory;

const ROUTES: u64 = 10;
const BUSY: usize = 100;
const IDLE: u64 = 10_000;
/// The time from the end of the load until memory is read again.
const AFTER: Duration = Duration::from_secs(3);

/// Resident bytes of the largest process, and of all processes together.
#[derive(Clone, Copy, Debug, serde::Serialize)]
struct Course {
    start: Memory,
    busy: Memory,
    idle: Memory,
    after: Memory,
    connections: u64,
}

pub(super) fn run(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let (_upstream, address) = plan.bench.upstream()?;
    let weir = Weir { admin: true, ..Weir::default() };
    let setup = Setup { routes: ROUTES, weir, ..plan.setup(address) };
    let busy = format!("{BUSY} at work");
    let idle = format!("{} idle", grouped(IDLE as f64, 0));
    let head = ["", "start", &busy, &idle, "KiB per idle one", "after", "after / before idle"];
    let mut table = Table::new("Memory by connections, MB resident", &head);
    for peer in [Peer::Weir, Peer::Nginx, Peer::Haproxy] {
        let started = subject::start(plan.bench, peer, peer.name(), &setup)?;
        let mut running = started.with_context(|| format!("{} is late", peer.name()))?;
        let course = course(plan, &mut running)?;
        let megabytes = |memory: Memory| format!("{:.1}", memory.largest as f64 / 1e6);
        let grown = course.idle.largest.saturating_sub(course.busy.largest) as f64;
        table.row([
            running.name.clone(),
            megabytes(course.start),
            megabytes(course.busy),
            megabytes(course.idle),
            format!("{:.2}", grown / 1024.0 / course.connections as f64),
            megabytes(course.after),
            format!("{:.2}", course.after.largest as f64 / course.busy.largest as f64),
        ]);
        if course.connections < IDLE {
            let count = course.connections;
            table.note(format!("{}: only {count} idle connections opened.", running.name));
        }
        if peer == Peer::Weir {
            summarise(report, "100 connections, MB", megabytes(course.busy), "< 5");
            summarise(report, "10,000 idle, MB", megabytes(course.idle), "≤ 60");
        }
        report.samples.insert(format!("memory {}", running.name), serde_json::json!(course));
    }
    table.note(format!(
        "VmRSS of the largest process. weir has {ROUTES} routes and its admin API; one worker each; \
         wrk -c{BUSY}; idle connections have had one answer each; after: {} s after they were closed.",
        AFTER.as_secs()
    ));
    table.note("Goals: < 5 MB at 100, ≤ 60 MB at 10,000 idle, ≤ 5 KiB each, back within 10 %.");
    report.tables.push(table);
    Ok(())
}

fn course(plan: &Plan<'_>, running: &mut Running) -> anyhow::Result<Course> {
    let family = running.family();
    let start = Memory::of(&family);
    let lua = script("gateway.test", &Shape::Exact.patterns(), ROUTES, &Extra::default());
    plan.bench.wrk(running, BUSY, &lua, plan.seconds)?;
    // The memory taken under load, which a proxy need not give back.
    let busy = Memory::of(&family);
    let wanted = IDLE.min(plan.bench.files.saturating_sub(1000));
    let connections = open(plan, running.address, wanted)?;
    let idle = Memory::of(&family);
    let opened = connections.len() as u64;
    drop(connections);
    plan.bench.interrupt.sleep(AFTER)?;
    running.check()?;
    Ok(Course { start, busy, idle, after: Memory::of(&family), connections: opened })
}

/// Opens connections and exchanges one request on each.
fn open(plan: &Plan<'_>, address: SocketAddr, wanted: u64) -> anyhow::Result<Vec<TcpStream>> {
    let mut connections = Vec::new();
    let mut buffer = [0; 4096];
    for _ in 0..wanted {
        plan.bench.interrupt.check()?;
        let Ok(mut stream) = TcpStream::connect(address) else { break };
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /0 HTTP/1.1\r\nHost: gateway.test\r\n\r\n")?;
        // A proxy that accepts no more connections leaves this one waiting.
        let Ok(count) = stream.read(&mut buffer) else { break };
        let answer = buffer.get(..count).unwrap_or_default();
        anyhow::ensure!(answer.starts_with(b"HTTP/1.1 200"), "an idle connection was not answered");
        connections.push(stream);
    }
    Ok(connections)
}
