//! The turn of a connection or a message, where a limit paces them.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_limit::{Admission, Arrival, Ended, Key, Slot, Valve, Way};

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

/// The limit of a pipeline as one connection meets it, from its beginning to its end.
#[derive(Debug)]
pub(super) struct OwnLimit {
    /// That of the client's key, where each key has the limit for itself.
    pub(super) valve: Arc<Valve>,
    key: Key,
    cost: u64,
    peer: SocketAddr,
}

impl OwnLimit {
    /// The limit that the client of `near` meets, if there is one.
    pub(super) fn of(near: &Near) -> Option<Self> {
        let (limit, peer) = (near.pipeline.limit.as_ref()?, near.peer);
        let hash = if limit.by_ip { hash_of(peer.ip()) } else { 0 };
        let valve = limit.valve.of_key(hash, now_ns);
        Some(Self { valve, key: Key { hash, weight: 1 }, cost: limit.cost, peer })
    }

    /// A connection or message comes, with so many bytes that are held while it waits.
    pub(super) fn arrive(&self, bytes: usize) -> Ruling {
        let (key, cost, bytes) = (self.key, self.cost, bytes as u64);
        self.valve.name_key(key.hash, || self.peer.ip().to_canonical().to_string());
        match self.valve.arrive(Arrival { key, cost, bytes, ..Arrival::default() }, now_ns()) {
            Admission::Pass => Ruling::Pass,
            Admission::Refused(_) => Ruling::Refused,
            Admission::Wait(slot, due) => {
                arm_if(&self.valve, due);
                Ruling::Wait(Place { valve: Arc::clone(&self.valve), slot, is_over: false })
            }
        }
    }

    /// Takes a place in service, if concurrency is limited.
    pub(super) fn hold(&self) -> Option<Held> {
        self.valve.holds().then(|| Held(Arc::clone(&self.valve)))
    }

    /// Bandwidth limit for one direction, if there is one.
    pub(super) fn pace(&self, worker: &Worker, way: Way) -> Option<Box<Pace>> {
        let stream = self.valve.stream(self.key, way, now_ns)?;
        let mut pace = Box::new(Pace::new(&worker.deadlines));
        pace.add(stream);
        Some(pace)
    }
}

/// Bandwidth limit for one direction of a connection, if its limit has one.
pub(super) fn pace(near: &Near, way: Way) -> Option<Box<Pace>> {
    OwnLimit::of(near)?.pace(&near.worker, way)
}

/// Waits for the turn of the connection, where there is a limit.
pub(super) async fn turn(near: &mut Near) -> Result<Option<Held>, Cut> {
    let Some(limit) = OwnLimit::of(near) else { return Ok(None) };
    match limit.arrive(0) {
        Ruling::Pass => {}
        Ruling::Refused => return Err(Cut::Limited),
        Ruling::Wait(place) => wait(near, place).await?,
    }
    Ok(limit.hold())
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
