//! Those who wait too long, leave, or are sent away.

use std::task::Poll;

use super::Valve;
use super::tests::{MS, SECOND, one, passes, rate, said, told, waits};
use crate::{Admission, Arrival, Concurrency, Ended, LimitSettings, Order, Reason};

#[test]
fn who_has_waited_until_its_deadline_is_refused() {
    let settings =
        LimitSettings { concurrency: Some(Concurrency::Fixed(1)), ..LimitSettings::default() };
    let valve = Valve::new("a", settings);
    valve.arrive(one(1), 0);
    let slot = waits(&valve, Arrival { patience_ns: Some(SECOND), ..one(1) }, 0);
    assert_eq!(valve.release(SECOND - 1), Some(SECOND), "called again then");
    assert!(told(&slot).is_pending());
    assert_eq!((valve.release(SECOND), told(&slot)), (None, Poll::Ready(Err(Reason::Deadline))));
    let counts = valve.counts();
    assert_eq!((counts.refused_deadline, counts.cancelled, counts.depth), (1, 0, 0));
}

#[test]
fn nobody_waits_longer_than_the_maximum_whatever_it_waits_for() {
    let settings = LimitSettings { wait_max_ns: SECOND, ..rate("10/s") };
    let busy = LimitSettings { concurrency: Some(Concurrency::Fixed(1)), ..settings.clone() };
    let valve = Valve::new("busy", busy.clone());
    valve.arrive(one(1), 0);
    let slot = waits(&valve, one(1), 100 * MS);
    // Room is made too late, before it was looked at.
    valve.done(Ended::Unknown, 1_101 * MS);
    assert_eq!(told(&slot), Poll::Ready(Err(Reason::TooLong)));
    assert_eq!((valve.counts().in_service, valve.counts().refused_wait), (0, 1));
    let valve = Valve::new("paused", settings.clone());
    valve.pause();
    let Admission::Wait(slot, due) = valve.arrive(one(1), 0) else { panic!("paused") };
    assert_eq!((due, valve.release(SECOND)), (Some(SECOND), None));
    assert_eq!(told(&slot), Poll::Ready(Err(Reason::TooLong)));
    let valve = Valve::new("nobody waits", LimitSettings { wait_max_ns: 0, ..busy });
    valve.arrive(one(1), 0);
    let Admission::Refused(refusal) = valve.arrive(one(1), 0) else { panic!("refused") };
    assert_eq!(refusal.reason, Reason::TooLong);
    // A late release does not make late: its turn was in time.
    let valve = Valve::new("late release", settings);
    valve.arrive(one(1), 0);
    let slots: Vec<_> = (0..10).map(|_| waits(&valve, one(1), 0)).collect();
    valve.release(3 * SECOND);
    assert!(slots.iter().all(|slot| passes(slot)));
}

#[test]
fn who_is_refused_while_it_waits_is_told_when_the_next_turn_is() {
    let valve = Valve::new("a", LimitSettings { wait_max_ns: 10_000 * SECOND, ..rate("1/h") });
    valve.arrive(one(1), 0);
    waits(&valve, one(1), 0);
    assert_eq!(valve.flush(), 1);
    assert_eq!(valve.retry_ns(600 * SECOND), 3_000 * SECOND);
    assert_eq!((valve.counts().refused_flushed, valve.counts().depth), (1, 0));
}

#[test]
fn a_cost_is_owed_whatever_changes() {
    let valve = Valve::new("a", rate("10/s"));
    let dear = Arrival { cost: 100, ..one(1) };
    assert!(matches!(valve.arrive(dear, 0), Admission::Pass));
    let next = |valve: &Valve, now| said(&valve.arrive(one(1), now)).1;
    valve.change(LimitSettings { queue_max: 5, ..rate("10/s") }, SECOND);
    assert_eq!(next(&valve, SECOND), Some(10 * SECOND));
    // Half of it is paid, the rest at twice the rate.
    valve.change(rate("20/s"), 5 * SECOND);
    assert_eq!(valve.release(5 * SECOND), Some(7_500 * MS));
}

#[test]
fn who_leaves_when_it_is_admitted_but_not_woken_yet_gives_its_place_back() {
    let settings =
        LimitSettings { concurrency: Some(Concurrency::Fixed(1)), ..LimitSettings::default() };
    let valve = Valve::new("a", settings);
    valve.arrive(one(1), 0);
    let slot = waits(&valve, one(1), 0);
    let mut told = Vec::new();
    valve.with(|core| {
        core.in_service = 0;
        core.release(1, &mut told);
    });
    assert!(valve.leave(&slot), "it has been admitted: its place is to be given back");
    assert_eq!((told.len(), valve.counts().in_service, valve.counts().cancelled), (1, 1, 0));
}

#[test]
fn those_who_wait_hold_no_more_bytes_than_there_is_room_for() {
    let settings = LimitSettings { queue_bytes_max: 100, wait_max_ns: SECOND, ..rate("10/s") };
    let valve = Valve::new("a", settings);
    let big = |bytes| Arrival { bytes, ..one(1) };
    assert!(matches!(valve.arrive(big(1_000), 0), Admission::Pass), "it does not wait");
    let held = || (valve.counts().depth, valve.counts().held_bytes);
    let slots = [30, 30, 40].map(|bytes| waits(&valve, big(bytes), 0));
    let Admission::Refused(refusal) = valve.arrive(big(1), 0) else { panic!("refused") };
    assert_eq!((refusal.reason, held()), (Reason::Full, (3, 100)));
    valve.release(100 * MS);
    assert_eq!(held(), (2, 70));
    valve.leave(&slots[1]);
    assert_eq!(held(), (1, 40));
    waits(&valve, big(60), 0);
    valve.pause();
    valve.release(SECOND);
    assert_eq!(held(), (0, 0), "they have waited too long");
    waits(&valve, big(60), SECOND);
    valve.flush();
    assert_eq!(held(), (0, 0));
}

#[test]
fn keys_that_are_held_back_are_known_by_name() {
    for order in [Order::Fifo, Order::Fair] {
        let valve = Valve::new("a", LimitSettings { order, queue_max: 30, ..rate("1/s") });
        let come = |hash: u64, times: u64| {
            for _ in 0..times {
                valve.arrive(one(hash), 0);
                valve.name_key(hash, || format!("key {hash}"));
            }
        };
        come(0, 10);
        come(1, 15);
        come(2, 20);
        come(3, 3);
        let told = valve.top_keys();
        let found: Vec<(&str, u64, u64)> =
            told.iter().map(|key| (key.name.as_str(), key.waited, key.refused)).collect();
        // Of the 48 of all keys the first passes and 30 wait. The third is too rare.
        assert_eq!(found, [("key 2", 6, 14), ("key 1", 15, 0)]);
    }
}
