//! A gateway with fewer file descriptors than there are clients.

use std::process::Command;
use std::time::{Duration, Instant};

use weir_testkit::{Answer, Client, Gate, Gateway, Origin, PATIENCE};

use crate::tally::{Size, Tally};
use crate::traffic::{Kind, Manners, Traffic, upstream};
use crate::weir::{Weir, config, metric, open_files, rises, settles, ticks};

/// Files the gateway may open.
const FILES: usize = 256;
/// The ticks that an idle gateway may use while it cannot accept, of the 100 in a second of each
/// processor. A busy loop uses all ticks of at least one processor.
const TICKS_PER_SECOND_MAX: u64 = 50;
/// Counts who had to wait for a file.
const WAITS: &str = "weir_accept_waits_total";
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// More clients than file descriptors, which are silent, send requests continuously, or wait for an
/// upstream that does not answer: the gateway neither spins nor ends nor runs out of descriptors.
/// Accepted clients are served, the others are served in turn or refused with an answer, and the
/// admin API answers.
pub(crate) async fn exhausted(weir: Weir, size: Size) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..size.of(1, 3) {
        silent(&mut tally, &weir, size.of(Duration::from_secs(1), Duration::from_secs(3))).await;
        busy(&mut tally, &weir, size.of(Duration::from_secs(1), Duration::from_secs(10))).await;
        waiting(&mut tally, &weir).await;
    }
    tally
}

/// A gateway that may open [`FILES`] files, whatever this process may.
fn limited(weir: &Weir, config: &str) -> Gateway {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {FILES} && exec \"$0\" \"$@\"")]).arg(weir.path());
    Gateway::launch(command, &["run", "{config}"], &[("weir.yaml", config.as_bytes())])
}

/// Silent connections must not keep out clients with requests.
async fn silent(tally: &mut Tally, weir: &Weir, idle: Duration) {
    let origin = Origin::answering(|_| Answer::ok()).await;
    let gateway = limited(weir, &config(origin.address(), ""));
    let mut first = Client::connect(gateway.address()).await;
    asks(tally, &gateway, &mut first, "before the crowd").await;
    let mut crowd = Vec::new();
    for _ in 0..2 * FILES {
        crowd.push(Client::connect(gateway.address()).await);
    }
    let mut last = Client::connect(gateway.address()).await;
    // Silent connections are accepted a second late (`weir.server.defer-accept`).
    rises(&gateway, WAITS).await;
    let before = ticks(&gateway);
    tokio::time::sleep(idle).await;
    let used = ticks(&gateway) - before;
    let max = TICKS_PER_SECOND_MAX * idle.as_secs();
    tally.check(used <= max, || format!("{used} ticks in {idle:?} without work"));
    tally.measure("ticks per second while out of files", used as f64 / idle.as_secs_f64());
    let since = Instant::now();
    asks(tally, &gateway, &mut last, "behind a silent crowd").await;
    tally.measure("s behind a silent crowd", since.elapsed().as_secs_f64());
    asks(tally, &gateway, &mut first, "as one of those served before the crowd").await;
    let mut newcomer = Client::connect(gateway.address()).await;
    asks(tally, &gateway, &mut newcomer, "as a newcomer in a silent crowd").await;
    drop((crowd, first, last, newcomer));
    recovers(tally, &gateway).await;
}

/// More clients than file descriptors, all of which send requests continuously, take turns: none
/// fails or starves.
async fn busy(tally: &mut Tally, weir: &Weir, time: Duration) {
    let origin = upstream();
    let gateway = limited(weir, &config(origin.address(), ""));
    let manners = Manners { pace: Duration::from_millis(20), until_closed: false };
    let clients = [(Kind::KeepAlive, FILES), (Kind::Upload, FILES / 2)];
    let traffic = Traffic::start(gateway.address(), &clients, manners);
    tokio::time::sleep(time).await;
    let files = open_files(&gateway);
    let mut load = traffic.finish();
    tally.measure("files open in a busy crowd", files as f64);
    tally.measure("p99 in a busy crowd, ms", load.p99_us() / 1000.0);
    tally.add(load.tally);
    recovers(tally, &gateway).await;
}

/// Every place is taken by a request that waits for its upstream: new clients are refused with an
/// answer, and the waiting ones get their responses once the upstream answers.
async fn waiting(tally: &mut Tally, weir: &Weir) {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::answering(move |_| Answer::nothing().pause(&held).write(OK)).await;
    let gateway = limited(weir, &config(origin.address(), ""));
    let mut clients = Vec::new();
    for _ in 0..2 * FILES {
        let mut client = Client::connect(gateway.address()).await;
        client.send(GET).await;
        clients.push(client);
    }
    let since = Instant::now();
    let refused = "weir_errors_total{kind=\"no_files\"}";
    while metric(&gateway, refused).await < FILES as f64 && since.elapsed() < 2 * PATIENCE {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    gate.open();
    let mut statuses = [0; 2];
    for mut client in clients {
        let status = client.try_read_response_to("GET").await.map(|response| response.status);
        let at = [200, 503].iter().position(|one| status == Ok(*one));
        tally.request(at.is_some(), || format!("{status:?} instead of 200 or 503"));
        if let Some(count) = at.and_then(|at| statuses.get_mut(at)) {
            *count += 1;
        }
    }
    let [served, refused] = statuses;
    let shares = served >= FILES / 4 && refused >= FILES / 2;
    tally.check(shares, || format!("{served} served, {refused} told that there is no room"));
    recovers(tally, &gateway).await;
}

/// Sends a request on a connection, and again on a new one if it was closed in between, as may
/// happen to idle ones under load.
async fn asks(tally: &mut Tally, gateway: &Gateway, client: &mut Client, when: &str) {
    let sent = client.try_send(GET).await.is_ok();
    let mut got = match sent {
        true => client.try_read_response_to("GET").await.ok(),
        false => None,
    };
    if got.is_none() {
        *client = Client::connect(gateway.address()).await;
        got = Some(client.exchange(GET).await);
    }
    let status = got.map_or(0, |response| response.status);
    tally.request(status == 200, || format!("{status} {when}"));
}

/// Once all have left, the gateway is as before; and it never ran out of files on the way.
async fn recovers(tally: &mut Tally, gateway: &Gateway) {
    settles(gateway, "weir_connections", 0.0).await;
    let mut client = Client::connect(gateway.address()).await;
    asks(tally, gateway, &mut client, "after all had left").await;
    let waits = metric(gateway, WAITS).await;
    tally.check(waits > 0.0, || "there were files enough for everybody".to_owned());
    let failed = metric(gateway, "weir_accept_failures_total").await;
    tally.check(failed == 0.0, || format!("{failed} accepts failed for want of files"));
}
