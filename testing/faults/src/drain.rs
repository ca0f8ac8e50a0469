//! Stopping under load.

use std::time::Duration;

use crate::dice::Dice;
use crate::tally::{Size, Tally};
use crate::traffic::{Kind, Manners, Traffic, upstream};
use crate::weir::Weir;

const TRAFFIC: [(Kind, usize); 3] = [(Kind::KeepAlive, 4), (Kind::Short, 4), (Kind::Upload, 2)];
/// The maximum time from the clients' start until the gateway is stopped.
const BEGUN_MAX: Duration = Duration::from_millis(150);

/// SIGTERM under load, again and again: every request whose connection was taken is answered.
pub(crate) async fn under_load(weir: Weir, size: Size) -> Tally {
    let origin = upstream();
    let mut dice = Dice::new();
    let mut tally = Tally::default();
    for round in 0..size.of(5, 100) {
        // Each worker accepts, or a thread does that hands over.
        let acceptors = format!("weir.server.acceptors: {}", round % 2);
        let mut gateway = weir.before(origin.address(), &acceptors);
        let manners = Manners { pace: Duration::ZERO, until_closed: true };
        let traffic = Traffic::start(gateway.address(), &TRAFFIC, manners);
        tokio::time::sleep(Duration::from_millis(20) + dice.time(BEGUN_MAX)).await;
        gateway.terminate();
        tally.add(traffic.wait().tally);
        let status = gateway.wait_for_exit();
        let whole = status.success() && gateway.output().contains("every request was answered");
        tally.check(whole, || format!("{gateway:?}"));
    }
    tally
}
