//! The turn of a connection or a message, where a limit paces them.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_limit::{Admission, Arrival, Ended, Key, Slot, Valve, Way};
use weir_snapshot::PipelineLimit;

use super::balance::hash_of;
use super::near::{Cut, Near};
use crate::http::pace::Pace;
use crate::net::poll_hung_up;
use crate::pacer::{arm_if, now_ns};
use crate::worker::Worker;

/// Interval at which a waiting client that has closed its own side is checked for a broken
/// connection.
const LOOK: Duration = Duration::from_millis(250);

/// Decision of a limit about a connection or message.
pub(super) enum Ruling {
    /// It may pass.
    Pass,
    /// It has to wait.
    Wait(Place),
    /// It is turned away.
    Refused,
}

/// Comes to `limit`, from `peer`, with so many bytes that are held while they wait.
pub(super) fn arrive(limit: &PipelineLimit, peer: SocketAddr, bytes: usize) -> Ruling {
    let (valve, key) = valve_of(limit, peer);
    let bytes = bytes as u64;
    let arrival = Arrival { key, cost: limit.cost, bytes, ..Arrival::default() };
    match valve.arrive(arrival, now_ns()) {
        Admission::Pass => Ruling::Pass,
        Admission::Refused(_) => Ruling::Refused,
        Admission::Wait(slot, due) => {
            arm_if(&valve, due);
            Ruling::Wait(Place { valve, slot, is_over: false })
        }
    }
}

/// The valve that `peer` meets, and its key.
fn valve_of(limit: &PipelineLimit, peer: SocketAddr) -> (Arc<Valve>, Key) {
    let hash = if limit.by_ip { hash_of(peer.ip()) } else { 0 };
    limit.valve.name_key(hash, || peer.ip().to_canonical().to_string());
    (limit.valve.of_key(hash, now_ns()), Key { hash, weight: 1 })
}

/// Bandwidth limit for one direction of a connection, if its limit has one.
pub(super) fn pace(near: &Near, way: Way) -> Option<Box<Pace>> {
    pace_of(&near.worker, near.pipeline.limit.as_ref()?, near.peer, way)
}

/// Bandwidth limit for a connection with `peer` under `limit`.
pub(super) fn pace_of(
    worker: &Worker,
    limit: &PipelineLimit,
    peer: SocketAddr,
    way: Way,
) -> Option<Box<Pace>> {
    let (valve, key) = valve_of(limit, peer);
    let stream = valve.stream(key, way, now_ns)?;
    let mut pace = Box::new(Pace::new(&worker.deadlines));
    pace.add(stream);
    Some(pace)
}

/// Takes a place in service, if concurrency is limited.
pub(super) fn hold(limit: &PipelineLimit, peer: SocketAddr) -> Option<Held> {
    limit.valve.holds().then(|| Held(valve_of(limit, peer).0))
}

/// Waits for the turn of the connection, where there is a limit.
pub(super) async fn turn(near: &mut Near) -> Result<Option<Held>, Cut> {
    let Some(limit) = near.pipeline.limit.clone() else { return Ok(None) };
    match arrive(&limit, near.peer, 0) {
        Ruling::Pass => {}
        Ruling::Refused => return Err(Cut::Limited),
        Ruling::Wait(place) => wait(near, place).await?,
    }
    Ok(hold(&limit, near.peer))
}

/// A place in a concurrency limit, given back on drop.
#[derive(Debug)]
pub(super) struct Held(Arc<Valve>);

impl Drop for Held {
    fn drop(&mut self) {
        arm_if(&self.0, self.0.done(Ended::Unknown, now_ns()));
    }
}

/// Waits in the queue. A client that closed only its own side keeps waiting: its upstream may still
/// have to answer.
async fn wait(near: &mut Near, mut place: Place) -> Result<(), Cut> {
    near.worker.deadlines.refresh();
    near.deadline.set(LOOK);
    let passes = poll_fn(|cx| {
        if let Poll::Ready(passes) = place.poll(cx) {
            return Poll::Ready(Some(passes));
        }
        if near.is_over() {
            return Poll::Ready(None);
        }
        // At once: its turn is for the next one.
        if poll_hung_up(&mut near.stream).is_ready() && near.stream.has_broken() {
            return Poll::Ready(None);
        }
        while near.deadline.poll(cx) {
            if near.stream.has_broken() {
                return Poll::Ready(None);
            }
            near.deadline.set(LOOK);
        }
        Poll::Pending
    })
    .await;
    near.deadline.clear();
    match passes {
        None => Err(Cut::Gone),
        Some(true) => Ok(()),
        Some(false) => Err(Cut::Limited),
    }
}

/// A place in the queue of a limit; it is left when this is dropped before its turn.
#[derive(Debug)]
pub(super) struct Place {
    valve: Arc<Valve>,
    slot: Arc<Slot>,
    is_over: bool,
}

impl Place {
    /// Whether it is decided.
    pub(super) fn is_told(&self) -> bool {
        self.slot.is_told()
    }

    /// Whether it may pass, once that is decided.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<bool> {
        let polled = self.slot.poll(cx);
        self.is_over |= polled.is_ready();
        polled.map(|told| told.is_ok())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_over && self.valve.leave(&self.slot) && self.valve.holds() {
            arm_if(&self.valve, self.valve.done(Ended::Unknown, now_ns()));
        }
    }
}
