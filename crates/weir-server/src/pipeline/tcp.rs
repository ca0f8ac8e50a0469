//! A pipeline of bytes: a connection to an upstream for each from a client.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use weir_config::Pipeline;
use weir_limit::{Admission as Turn, Key, Slot, Valve};

use super::balance::connect;
use super::listening::Active;
use super::relay;
use crate::deadline::Deadline;
use crate::drain::{DrainState, Phase};
use crate::http::body::Carry;
use crate::net::Socket;
use crate::pacer::{arm_if, now_ns};
use crate::worker::Worker;

/// How often a client that waits is looked at, to see whether it has gone.
const LOOK: Duration = Duration::from_millis(250);

/// A client's side of a connection.
pub(super) struct Near {
    pub(super) worker: Rc<Worker>,
    pub(super) stream: Socket,
    /// Who it is.
    pub(super) peer: SocketAddr,
    /// What it has sent and nobody has taken.
    pub(super) carry: Carry,
    pub(super) deadline: Deadline,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) drain: Arc<DrainState>,
}

/// Why a connection ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The limit turns it away.
    Limited,
    /// No upstream could be reached.
    Unreached,
    /// It took too long.
    Expired,
    /// The client went, or the gateway stops.
    Gone,
}

impl Near {
    pub(super) fn new(
        worker: Rc<Worker>,
        stream: Socket,
        peer: SocketAddr,
        pipeline: Arc<Pipeline>,
        drain: Arc<DrainState>,
    ) -> Self {
        let deadline = worker.deadline();
        Self { worker, stream, peer, carry: Carry::default(), deadline, pipeline, drain }
    }

    /// Whether everything is to end now.
    pub(super) fn is_over(&self) -> bool {
        self.drain.phase() == Phase::Stopped || self.worker.drain.phase() == Phase::Stopped
    }

    /// Runs `work` for `time` at most.
    pub(super) async fn within<T>(
        &self,
        time: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        let mut work = pin!(work);
        self.worker.deadlines.refresh();
        self.deadline.set(time);
        let result = poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            if self.is_over() {
                return Poll::Ready(Err(Cut::Gone));
            }
            if self.deadline.poll(cx) { Poll::Ready(Err(Cut::Expired)) } else { Poll::Pending }
        })
        .await;
        self.deadline.clear();
        result
    }
}

/// Serves a connection to its end.
pub(super) async fn serve(mut near: Near, active: Active) {
    let result = carry(&mut near, &active).await;
    let counters = active.counters();
    let counter = match result {
        Ok(()) | Err(Cut::Gone) => return,
        Err(Cut::Limited) => &counters.limited,
        Err(Cut::Unreached) => &counters.unreached,
        Err(Cut::Expired) => &counters.expired,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

async fn carry(near: &mut Near, active: &Active) -> Result<(), Cut> {
    let _turn = turn(near).await?;
    let group = Arc::clone(&near.pipeline.upstream);
    let mut far = connect(near, &group).await?;
    relay::both_ways(near, &mut far, active.counters()).await
}

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
