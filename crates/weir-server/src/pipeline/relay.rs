//! Bytes both ways between two connections, each direction ending on its own.

use std::future::poll_fn;
use std::task::Poll;

use weir_limit::Way;

use super::balance::Far;
use super::counters::{PipelineCounters, Tally};
use super::lifetime::Lifetime;
use super::near::{Cut, Near};
use super::turn::pace;
use crate::drain::Phase;
use crate::http::direction::Direction;

/// Relays until both directions have ended, or one has failed, or it took too long.
pub(super) async fn both_ways(
    near: &mut Near,
    far: &mut Far,
    counters: &PipelineCounters,
) -> Result<(), Cut> {
    let mut up = Direction::new(pace(near, Way::Up));
    let mut down = Direction::new(pace(near, Way::Down));
    let Near { worker, stream, carry, deadline, pipeline, drain, .. } = near;
    let mut lifetime = Lifetime::begin(&pipeline.timeouts, deadline, worker.deadlines.refresh());
    let mut tally = Tally::new(counters);
    let result = poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        up.poll(cx, stream, carry, &mut far.stream, &mut scratch, down.over);
        down.poll(cx, &mut far.stream, &mut far.carry, stream, &mut scratch, up.over);
        let has_moved = tally.add(up.relay.moved, down.relay.moved);
        if up.over && down.over || up.failed || down.failed {
            return Poll::Ready(Ok(()));
        }
        if drain.phase() == Phase::Stopped || worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(Cut::Gone));
        }
        let now_ms = worker.deadlines.now_ms();
        if has_moved {
            lifetime.moved(now_ms);
        }
        match lifetime.is_over(cx, deadline, now_ms) {
            true => Poll::Ready(Err(Cut::Expired)),
            false => Poll::Pending,
        }
    })
    .await;
    deadline.clear();
    result
}
