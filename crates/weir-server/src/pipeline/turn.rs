//! The turn of a connection, where a limit paces them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use weir_limit::{Admission as Turn, Key, Slot, Valve};

use super::near::{Cut, Near};
use crate::pacer::{arm_if, now_ns};

/// How often a client that waits is looked at, to see whether it has gone.
const LOOK: Duration = Duration::from_millis(250);

/// Waits for the turn of the connection, where there is a limit.
pub(super) async fn turn(near: &mut Near) -> Result<Option<Held>, Cut> {
    let Some(limit) = near.pipeline.limit.clone() else { return Ok(None) };
    let hash = if limit.by_ip { super::balance::hash_of(near.peer.ip()) } else { 0 };
    let valve = limit.valve;
    match valve.arrive(Key { hash, weight: 1 }, now_ns()) {
        Turn::Pass => {}
        Turn::Refused(_) => return Err(Cut::Limited),
        Turn::Wait(slot, due) => {
            arm_if(&valve, due);
            wait(near, &valve, &slot).await?;
        }
    }
    Ok(valve.holds().then(|| Held(valve)))
}

/// What is in service at a limit of concurrency; it gives back its place.
#[derive(Debug)]
pub(super) struct Held(Arc<Valve>);

impl Drop for Held {
    fn drop(&mut self) {
        arm_if(&self.0, self.0.done(now_ns()));
    }
}

/// Waits in the queue. Who closed only its own side waits on: its upstream may have to answer.
async fn wait(near: &mut Near, valve: &Arc<Valve>, slot: &Arc<Slot>) -> Result<(), Cut> {
    let mut place = Place { valve, slot, left: false };
    near.worker.deadlines.refresh();
    near.deadline.set(LOOK);
    let passes = poll_fn(|cx| {
        if let Poll::Ready(passes) = slot.poll(cx) {
            return Poll::Ready(Some(passes));
        }
        if near.is_over() {
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
        Some(passes) => {
            place.left = true;
            if passes { Ok(()) } else { Err(Cut::Limited) }
        }
    }
}

/// Leaves the queue when it is dropped before its turn.
struct Place<'a> {
    valve: &'a Arc<Valve>,
    slot: &'a Slot,
    left: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.left && self.valve.leave(self.slot) && self.valve.holds() {
            arm_if(self.valve, self.valve.done(now_ns()));
        }
    }
}
