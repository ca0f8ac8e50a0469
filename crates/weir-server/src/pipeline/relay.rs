//! Bytes both ways between two connections, each direction ending on its own.

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use super::balance::Far;
use super::near::{Cut, Near};
use super::set::PipelineCounters;
use crate::drain::Phase;
use crate::http::direction::Direction;

/// Relays until both directions have ended, or one has failed, or it took too long.
pub(super) async fn both_ways(
    near: &mut Near,
    far: &mut Far,
    counters: &PipelineCounters,
) -> Result<(), Cut> {
    let mut up = Direction::new();
    let mut down = Direction::new();
    let result = pass(near, far, &mut up, &mut down).await;
    counters.sent.fetch_add(up.relay.content, Ordering::Relaxed);
    counters.received.fetch_add(down.relay.content, Ordering::Relaxed);
    result
}

async fn pass(
    near: &mut Near,
    far: &mut Far,
    up: &mut Direction,
    down: &mut Direction,
) -> Result<(), Cut> {
    let Near { worker, stream, carry, deadline, pipeline, drain, .. } = near;
    let timeouts = &pipeline.timeouts;
    let idle_ms = ms(timeouts.idle);
    let started_ms = worker.deadlines.refresh();
    let mut active_ms = started_ms;
    let mut moved = 0;
    // The end of the connection, by the worker's clock, if it is left alone from now on.
    let until = |active_ms: u64| {
        let max = started_ms.saturating_add(ms(timeouts.max));
        active_ms.saturating_add(idle_ms).min(max)
    };
    let arm = |now_ms: u64, until_ms: u64| match until_ms {
        u64::MAX => deadline.clear(),
        until_ms => deadline.set(Duration::from_millis(until_ms.saturating_sub(now_ms).max(1))),
    };
    arm(started_ms, until(active_ms));
    let result = poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        up.poll(cx, stream, carry, &mut far.stream, &mut scratch);
        down.poll(cx, &mut far.stream, &mut far.carry, stream, &mut scratch);
        if up.over && down.over || up.failed || down.failed {
            return Poll::Ready(Ok(()));
        }
        if drain.phase() == Phase::Stopped || worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(Cut::Gone));
        }
        let now_ms = worker.deadlines.now_ms();
        let now_moved = up.relay.moved + up.relay.content + down.relay.moved + down.relay.content;
        if now_moved != moved {
            (moved, active_ms) = (now_moved, now_ms);
        }
        while deadline.poll(cx) {
            let until_ms = until(active_ms);
            if until_ms <= now_ms {
                return Poll::Ready(Err(Cut::Expired));
            }
            // Something came since it was set.
            arm(now_ms, until_ms);
        }
        Poll::Pending
    })
    .await;
    deadline.clear();
    result
}

/// Milliseconds; none are for ever.
fn ms(time: Duration) -> u64 {
    match time.is_zero() {
        true => u64::MAX,
        false => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    }
}
