//! A gateway without file descriptors.

use std::process::Command;
use std::time::{Duration, Instant};

use weir_testkit::{Answer, Client, Gateway, Origin, PATIENCE};

use crate::tally::{Size, Tally};
use crate::weir::{Weir, config, metric, ticks};

/// Files the gateway may open.
const FILES: usize = 256;
/// Of the 100 ticks in a second of each processor, those an idle gateway may use while it cannot
/// accept. One that spins uses all of at least one.
const TICKS_PER_SECOND_MAX: u64 = 50;

/// More clients than file descriptors: the gateway neither spins nor ends, answers those it has
/// taken, and is itself again when they have left.
pub(crate) async fn exhausted(weir: Weir, size: Size) -> Tally {
    if !Command::new("prlimit").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return Tally::skipped("there is no prlimit");
    }
    let origin = Origin::answering(|_| Answer::ok()).await;
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={FILES}:{FILES}")).arg(weir.path());
    let text = config(origin.address(), "");
    let gateway = Gateway::launch(command, &["run", "{config}"], &[("weir.yaml", text.as_bytes())]);
    let mut tally = Tally::default();
    for _ in 0..size.of(1, 5) {
        crowd(&mut tally, &gateway, size.of(Duration::from_secs(1), Duration::from_secs(3))).await;
        recovers(&mut tally, &gateway).await;
    }
    let failed = metric(&gateway, "weir_accept_failures_total").await;
    tally.check(failed > 0.0, || "the gateway never was out of file descriptors".to_owned());
    tally
}

/// Connects more clients than there are descriptors and looks at what that costs.
async fn crowd(tally: &mut Tally, gateway: &Gateway, idle: Duration) {
    let mut first = Client::connect(gateway.address()).await;
    let status = first.get("/").await.status;
    tally.request(status == 200, || format!("{status} before the crowd"));
    let mut clients = Vec::new();
    for _ in 0..2 * FILES {
        clients.push(Client::connect(gateway.address()).await);
    }
    let before = ticks(gateway);
    tokio::time::sleep(idle).await;
    let used = ticks(gateway) - before;
    let max = TICKS_PER_SECOND_MAX * idle.as_secs();
    tally.check(used <= max, || format!("{used} ticks in {idle:?} without work"));
    tally.measure("ticks per second while out of files", used as f64 / idle.as_secs_f64());
    // Whoever was served before still is, if only with the news that no upstream can be reached.
    let status = first.get("/").await.status;
    tally.request(matches!(status, 200 | 502), || format!("{status} instead of 200 or 502"));
}

async fn recovers(tally: &mut Tally, gateway: &Gateway) {
    let since = Instant::now();
    let mut status = 0;
    while status != 200 && since.elapsed() < PATIENCE {
        let mut client = Client::connect(gateway.address()).await;
        status = client.get("/").await.status;
    }
    tally.request(status == 200, || format!("{status} after all had left"));
}
