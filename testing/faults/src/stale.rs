//! Pooled connections that the upstream closes while they are idle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use weir_testkit::{Answer, Client, Gateway, Origin};

use crate::dice::Dice;
use crate::tally::{Size, Tally};
use crate::weir::{Weir, metric};

/// Clients at a time.
const CLIENTS: usize = 4;
/// One connection in so many is closed after a response.
const CLOSES_ONCE_IN: u64 = 3;
/// The maximum time that such a connection stays open: about the duration of a request, so that it
/// is closed before, during and after the next one.
const OPEN_MAX: Duration = Duration::from_millis(1);

/// An upstream that closes idle connections at random: every GET is answered, and no POST comes
/// twice. A POST that fails is 502.
pub(crate) async fn connections(weir: Weir, size: Size) -> Tally {
    let mut dice = Dice::new();
    let origin = Origin::answering(move |_| {
        let answer = Answer::ok();
        match dice.once_in(CLOSES_ONCE_IN) {
            true => answer.rest(dice.time(OPEN_MAX)).close(),
            false => answer,
        }
    })
    .await;
    let gateway = weir.before(origin.address(), "");
    let count = size.of(2_000, 10_000);
    let mut tally = gets(&gateway, count).await;
    let (posts, answered) = posts(&gateway, count / 2).await;
    let sent = posts.requests;
    tally.add(posts);
    let mut seen: HashMap<String, u64> = HashMap::new();
    for post in origin.requests().into_iter().filter(|got| got.method() == "POST") {
        *seen.entry(post.target()).or_default() += 1;
    }
    for (target, times) in &seen {
        tally.check(*times == 1, || format!("{target} came {times} times"));
    }
    for target in &answered {
        tally.check(seen.contains_key(target), || format!("{target}: 200, and never came"));
    }
    let lost = sent.saturating_sub(answered.len() as u64);
    tally.measure("POSTs answered 502, %", lost as f64 * 100.0 / sent as f64);
    let resent = metric(&gateway, "weir_upstream_resends_total").await;
    tally.check(resent > 0.0, || "no connection ever was stale".to_owned());
    tally
}

async fn gets(gateway: &Gateway, count: u64) -> Tally {
    let next = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (next, address) = (Arc::clone(&next), gateway.address());
        clients.spawn(async move {
            let mut tally = Tally::default();
            let mut client = Client::connect(address).await;
            while next.fetch_add(1, Ordering::Relaxed) < count {
                let response = client.get("/get").await;
                tally.request(response.status == 200, || format!("GET: {response:?}"));
            }
            tally
        });
    }
    sum(clients).await
}

/// Sends POSTs, each with a target of its own; returns the targets of those answered with 200.
async fn posts(gateway: &Gateway, count: u64) -> (Tally, Vec<String>) {
    let next = Arc::new(AtomicU64::new(0));
    let answered = Arc::new(Mutex::new(Vec::new()));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (next, address) = (Arc::clone(&next), gateway.address());
        let answered = Arc::clone(&answered);
        clients.spawn(async move {
            let mut tally = Tally::default();
            let mut client = Client::connect(address).await;
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= count {
                    return tally;
                }
                let target = format!("/post/{n}");
                let head =
                    format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
                let response = client.exchange(head + "body").await;
                let good = matches!(response.status, 200 | 502);
                tally.request(good, || format!("{target}: {response:?}"));
                if response.status == 200 {
                    answered.lock().unwrap_or_else(PoisonError::into_inner).push(target);
                }
                if response.closes {
                    client = Client::connect(address).await;
                }
            }
        });
    }
    let tally = sum(clients).await;
    let answered = std::mem::take(&mut *answered.lock().unwrap_or_else(PoisonError::into_inner));
    (tally, answered)
}

/// The sum of all tallies.
///
/// # Panics
/// If one of them did.
pub(crate) async fn sum(mut clients: JoinSet<Tally>) -> Tally {
    let mut tally = Tally::default();
    while let Some(ended) = clients.join_next().await {
        match ended {
            Ok(part) => tally.add(part),
            Err(error) => tally.check(false, || format!("a client gave up: {error}")),
        }
    }
    tally
}
