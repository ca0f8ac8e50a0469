//! Limits in virtual time, against their closed forms.

use std::task::{Context, Poll, Waker};

use proptest::prelude::*;

use super::*;
use crate::arrival::{Reason, Refusal};
use crate::rate::Rate;
use crate::settings::{Concurrency, Mode, Order};

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;

pub(super) fn rate(text: &str) -> LimitSettings {
    let rate = Some(Rate::parse(text).expect("a rate"));
    LimitSettings { rate, wait_max_ns: u64::MAX, ..LimitSettings::default() }
}

pub(super) fn one(hash: u64) -> Arrival {
    Arrival { key: Key { hash, weight: 1 }, ..Arrival::default() }
}

pub(super) fn told(slot: &Slot) -> Poll<Result<(), Reason>> {
    slot.poll(&Context::from_waker(Waker::noop()))
}

pub(super) fn passes(slot: &Slot) -> bool {
    slot.poll(&Context::from_waker(Waker::noop())) == Poll::Ready(Ok(()))
}

/// `clients` ask again as soon as they have passed, until `count` have; the time of each passing.
/// A release comes `late_ns` after it was due.
fn closed_loop(valve: &Valve, clients: usize, count: usize, late_ns: u64) -> Vec<u64> {
    let mut times = Vec::new();
    let mut waiting: Vec<Arc<Slot>> = Vec::new();
    let (mut now, mut due, mut free) = (0, None, clients);
    while times.len() < count {
        for _ in 0..std::mem::take(&mut free) {
            match valve.arrive(one(1), now) {
                Admission::Pass => {
                    times.push(now);
                    free += 1;
                }
                Admission::Wait(slot, next) => {
                    waiting.push(slot);
                    due = next.or(due);
                }
                Admission::Refused(refusal) => panic!("{refusal:?}"),
            }
            if times.len() == count {
                return times;
            }
        }
        if free == 0 {
            now = now.max(due.expect("somebody waits") + late_ns);
            due = valve.release(now);
            let before = waiting.len();
            waiting.retain(|slot| !passes(slot));
            free = before - waiting.len();
            times.extend(std::iter::repeat_n(now, free));
        }
    }
    times
}

#[test]
fn a_pace_is_kept_exactly_and_evenly() {
    for text in ["500/s", "300/s", "333.3/s", "2500/s", "20000/s", "30/min"] {
        let valve = Valve::new("a", rate(text));
        let times = closed_loop(&valve, 100, 5_000, 0);
        let expected = Rate::parse(text).expect("a rate").time_of(4_999);
        assert_eq!(times.last(), Some(&expected), "{text}");
        let step = Rate::parse(text).expect("a rate").time_of(1);
        assert!(times.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(step) <= 1), "{text}");
    }
}

#[test]
fn a_late_release_catches_up_and_never_exceeds_what_is_owed() {
    let valve = Valve::new("a", rate("500/s"));
    let times = closed_loop(&valve, 100, 5_000, 5 * MS);
    assert!(times.last().expect("times") - 4_999 * 2 * MS <= 5 * MS);
    for (n, time) in times.iter().enumerate() {
        assert!(*time >= n as u64 * 2 * MS, "the {n}th passes before its time");
    }
    assert!(valve.counts().late_max_ns >= 5 * MS);
}

#[test]
fn after_a_late_release_a_hundred_milliseconds_have_what_is_owed_and_no_more() {
    // 50 are due in 100 ms, one more on the edge, and what one late release owes.
    for (late_ms, most) in [(0, 51), (1, 51), (2, 52), (4, 53), (6, 54)] {
        let valve = Valve::new("a", rate("500/s"));
        (0..200).for_each(|_| drop(valve.arrive(one(1), SECOND)));
        let mut times = vec![SECOND];
        while times.len() < 200 {
            let due = SECOND + times.len() as u64 * 2 * MS;
            let now = if times.len() == 100 { due + late_ms * MS } else { due };
            valve.release(now);
            times.resize(valve.counts().admitted as usize, now);
        }
        let in_100_ms =
            |from: u64| times.iter().filter(|time| (from..=from + 100 * MS).contains(time)).count();
        assert_eq!(times.iter().map(|from| in_100_ms(*from)).max(), Some(most), "{late_ms}");
        assert_eq!(times.last(), Some(&(SECOND + 199 * 2 * MS)), "none is lost");
    }
}

#[test]
fn slots_are_lost_only_when_nobody_waits_for_them() {
    // Clients need 3 ms to ask again, and a release comes 1 ms late: 64 of them can ask 16,000
    // times a second, 128 of them for more than 20,000.
    for (clients, is_exact) in [(64, false), (128, true)] {
        let valve = Valve::new("a", rate("20000/s"));
        let mut back: std::collections::VecDeque<(u64, usize)> = [(SECOND, clients)].into();
        let (mut passed, mut due, mut now) = (0, None, SECOND);
        while now < 2 * SECOND {
            let next = back.front().map(|(at, _)| *at);
            let release = due.map(|due: u64| due.max(now) + MS);
            now = release.into_iter().chain(next).min().expect("something comes");
            if next == Some(now) {
                for _ in 0..back.pop_front().map_or(0, |(_, count)| count) {
                    if let Admission::Wait(_, at) = valve.arrive(one(1), now) {
                        due = at.or(due);
                    }
                }
            } else {
                due = valve.release(now);
            }
            let admitted = valve.counts().admitted as usize;
            if admitted > passed {
                back.push_back((now + 3 * MS, admitted - passed));
                passed = admitted;
            }
        }
        assert_eq!(passed.abs_diff(20_000) < 40, is_exact, "{clients}: {passed}");
    }
}

#[test]
fn a_rest_earns_a_burst_and_no_more() {
    let settings = LimitSettings { burst: 5, ..rate("10/s") };
    let valve = Valve::new("a", settings);
    let now = 100 * SECOND;
    let passed = (0..20).filter(|_| matches!(valve.arrive(one(1), now), Admission::Pass)).count();
    assert_eq!(passed, 5);
}

#[test]
fn a_window_is_a_batch_each_second() {
    let settings = LimitSettings { mode: Mode::Window, ..rate("500/s") };
    let valve = Valve::new("a", settings);
    let times = closed_loop(&valve, 100, 1_500, 0);
    let at = |n: usize| times.get(n).copied();
    assert_eq!(
        (at(499), at(500), at(999), at(1_000)),
        (Some(0), Some(SECOND), Some(SECOND), Some(2 * SECOND))
    );
    for (text, per_hour) in
        [("0.5/s", 1_800), ("10/h", 10), ("1.5/s", 5_400), ("333.3/s", 1_199_880)]
    {
        let valve = Valve::new("a", LimitSettings { mode: Mode::Window, ..rate(text) });
        let times = closed_loop(&valve, 1_000, per_hour + 1, 0);
        assert_eq!(times.last().copied(), Some(3_600 * SECOND), "{text}");
    }
}

#[test]
fn a_light_key_waits_two_turns_beside_a_heavy_one() {
    let valve = Valve::new("a", LimitSettings { order: Order::Fair, ..rate("100/s") });
    for _ in 0..90 {
        valve.arrive(one(1), 0);
    }
    let Admission::Wait(light, _) = valve.arrive(one(2), 0) else { panic!("it waits") };
    valve.release(20 * MS);
    assert!(passes(&light));
}

#[test]
fn who_leaves_gives_its_turn_to_the_next() {
    let valve = Valve::new("a", rate("100/s"));
    let slots: Vec<Arc<Slot>> = (0..101)
        .filter_map(|_| match valve.arrive(one(1), 0) {
            Admission::Wait(slot, _) => Some(slot),
            _ => None,
        })
        .collect();
    assert_eq!(slots.len(), 100);
    for slot in slots.iter().step_by(2) {
        assert!(!valve.leave(slot));
    }
    valve.release(500 * MS);
    assert!(slots.iter().skip(1).step_by(2).all(|slot| passes(slot)));
    let counts = valve.counts();
    assert_eq!((counts.cancelled, counts.admitted, counts.depth), (50, 51, 0));
    assert!(valve.leave(&slots[1]), "it had passed");
}

#[test]
fn who_would_wait_too_long_or_finds_no_place_is_refused_at_once() {
    let second = LimitSettings { wait_max_ns: SECOND, ..rate("10/s") };
    let valve = Valve::new("a", second.clone());
    let waiting =
        (0..11).filter(|_| matches!(valve.arrive(one(1), 0), Admission::Wait(..))).count();
    assert_eq!(waiting, 10);
    let Admission::Refused(refusal) = valve.arrive(one(1), 0) else { panic!("it is refused") };
    assert_eq!(
        refusal,
        Refusal { reason: Reason::TooLong, retry_ns: 100 * MS, wait_ns: Some(1_100 * MS) }
    );
    valve.release(100 * MS);
    assert!(matches!(valve.arrive(one(1), 100 * MS), Admission::Wait(..)), "as it was told");
    let full = Valve::new("a", LimitSettings { queue_max: 1, ..second });
    full.arrive(one(1), 0);
    full.arrive(one(1), 0);
    let Admission::Refused(refusal) = full.arrive(one(1), 0) else { panic!("it is refused") };
    assert_eq!(
        refusal,
        Refusal { reason: Reason::Full, retry_ns: 100 * MS, wait_ns: Some(200 * MS) }
    );
}

#[test]
fn a_change_of_rate_holds_for_who_waits() {
    let valve = Valve::new("a", rate("1/min"));
    valve.arrive(one(1), 0);
    let slots: Vec<Arc<Slot>> = (0..10)
        .filter_map(|_| match valve.arrive(one(1), 0) {
            Admission::Wait(slot, _) => Some(slot),
            _ => None,
        })
        .collect();
    let due = valve.change(rate("100/s"), SECOND).expect("somebody waits");
    assert!(due <= SECOND + 10 * MS);
    valve.release(SECOND + 100 * MS);
    assert!(slots.iter().all(|slot| passes(slot)));
}

#[test]
fn concurrency_lets_as_many_in_as_leave() {
    let settings =
        LimitSettings { concurrency: Some(Concurrency::Fixed(2)), ..LimitSettings::default() };
    let valve = Valve::new("a", settings);
    assert!(matches!(valve.arrive(one(1), 0), Admission::Pass));
    assert!(matches!(valve.arrive(one(1), 0), Admission::Pass));
    let Admission::Wait(third, due) = valve.arrive(one(1), 0) else { panic!("it waits") };
    assert_eq!(due, Some(30 * SECOND), "it waits no longer");
    assert!(!passes(&third));
    valve.done(Ended::Unknown, 1);
    assert!(passes(&third));
    assert_eq!(valve.counts().in_service, 2);
}

#[test]
fn pause_resume_flush_and_shadow() {
    let valve = Valve::new("a", rate("100/s"));
    valve.pause();
    let Admission::Wait(slot, due) = valve.arrive(one(1), 0) else { panic!("it waits") };
    assert_eq!((due, valve.release(SECOND)), (None, None));
    assert!(!passes(&slot));
    valve.resume(10 * SECOND);
    assert!(passes(&slot));
    valve.pause();
    let Admission::Wait(slot, _) = valve.arrive(one(1), 11 * SECOND) else { panic!("it waits") };
    assert_eq!(valve.flush(), 1);
    assert_eq!(told(&slot), Poll::Ready(Err(Reason::Flushed)));
    let shadow = Valve::new("a", LimitSettings { enforce: false, ..rate("1/h") });
    assert!((0..5).all(|_| matches!(shadow.arrive(one(1), 0), Admission::Pass)));
    assert_eq!(shadow.counts().shadowed, 4);
}

#[test]
fn a_limit_that_is_not_enforced_counts_what_it_would_do_and_no_more() {
    let settings = LimitSettings { enforce: false, wait_max_ns: SECOND, ..rate("10/s") };
    let valve = Valve::new("a", settings);
    for _ in 0..1_000 {
        valve.arrive(one(1), 0);
    }
    assert_eq!(valve.counts().shadowed, 999);
    // All that could have waited have passed by now, so that the queue is empty.
    valve.arrive(one(1), 2 * SECOND);
    assert_eq!(valve.counts().shadowed, 999);
}

#[test]
fn a_rate_that_comes_anew_owes_nothing_to_who_waits() {
    let two =
        LimitSettings { concurrency: Some(Concurrency::Fixed(1)), ..LimitSettings::default() };
    let valve = Valve::new("a", two);
    let now = 1_000 * SECOND;
    for _ in 0..10 {
        valve.arrive(one(1), now);
    }
    valve.change(LimitSettings { concurrency: Some(Concurrency::Fixed(100)), ..rate("1/s") }, now);
    assert_eq!(valve.counts().admitted, 2, "one at once, and one by the new rate");
}

/// Time at which the next request may pass.
fn next(valve: &Valve) -> u64 {
    valve.lock().schedule.as_ref().expect("a rate").at(0)
}

/// The slot of a request that has to wait.
pub(super) fn waits(valve: &Valve, arrival: Arrival, now_ns: u64) -> Arc<Slot> {
    match valve.arrive(arrival, now_ns) {
        Admission::Wait(slot, _) => slot,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_costs_more_takes_as_many_turns() {
    let valve = Valve::new("a", rate("100/s"));
    let costs = [1, 5, 2, 30, 1, 7];
    let arrival = |cost| Arrival { cost, ..one(1) };
    assert!(matches!(valve.arrive(arrival(costs[0]), 0), Admission::Pass));
    let slots: Vec<Arc<Slot>> =
        costs[1..].iter().map(|cost| waits(&valve, arrival(*cost), 0)).collect();
    let mut taken = costs[0];
    for (slot, cost) in slots.iter().zip(&costs[1..]) {
        // Each passes once the cost of all before it is paid, and not a nanosecond earlier.
        valve.release(taken * 10 * MS - 1);
        assert!(!passes(slot), "{cost}");
        valve.release(taken * 10 * MS);
        assert!(passes(slot), "{cost}");
        taken += cost;
    }
}

#[test]
fn a_higher_class_passes_first_until_a_lower_one_has_aged() {
    let settings = LimitSettings { ageing_ns: SECOND, ..rate("1/s") };
    let valve = Valve::new("a", settings);
    valve.arrive(one(1), 0);
    let class = |class| Arrival { class, ..one(1) };
    let low = waits(&valve, class(5), 0);
    let high = waits(&valve, class(3), 1_999 * MS);
    let late = waits(&valve, class(3), 2_001 * MS);
    assert_eq!(valve.counts().depth, 3);
    let told = || [&high, &low, &late].map(|slot| passes(slot));
    // The low one is two classes below the others, and has waited two seconds longer than the last
    // but not than the first.
    valve.release(1_999 * MS);
    let first = told();
    valve.release(2_001 * MS);
    let second = told();
    valve.release(3_000 * MS);
    assert_eq!(first, [true, false, false]);
    assert_eq!((second, told()), ([true, true, false], [true, true, true]));
}

#[test]
fn who_cannot_wait_that_long_is_told_at_once_how_long_it_would_have_been() {
    let valve = Valve::new("a", LimitSettings { wait_max_ns: 60 * SECOND, ..rate("1/s") });
    let patient = |ms: u64| Arrival { patience_ns: Some(ms * MS), ..one(1) };
    assert!(matches!(valve.arrive(patient(0), 0), Admission::Pass), "it does not have to wait");
    waits(&valve, patient(1_000), 0);
    waits(&valve, one(1), 0);
    let Admission::Refused(refusal) = valve.arrive(patient(2_500), 0) else { panic!("refused") };
    assert_eq!((refusal.reason, refusal.wait_ns), (Reason::Deadline, Some(3 * SECOND)));
    assert_eq!(refusal.retry_ns, 500 * MS);
    let counts = valve.counts();
    assert_eq!((counts.refused_deadline, counts.refused_wait, counts.depth), (1, 0, 2));
}

#[test]
fn a_cold_limit_warms_up_along_the_trapezoid() {
    let settings = LimitSettings { warm_up_ns: 10 * SECOND, ..rate("100/s") };
    let valve = Valve::new("a", settings.clone());
    // 500 pass in the 10 seconds, not 1000, then 100 a second.
    let times = closed_loop(&valve, 100, 1_001, 0);
    for (n, time) in times.iter().enumerate() {
        let (n, whole) = (n as f64, 500.0);
        let expected = if n <= whole { 3.0 * n - n * n / whole } else { n + whole };
        let expected_ns = (expected * 10.0 * MS as f64) as u64;
        assert!(time.abs_diff(expected_ns) <= 2, "the {n}th passes at {time}, not {expected_ns}");
    }
    assert_eq!(times[1], 29_980_000, "a third of the rate at first");
    assert_eq!((times[500], times[1_000]), (10 * SECOND, 15 * SECOND));
    // Half a warm-up of rest cools it halfway, a whole one altogether.
    for (rest_s, first) in [(5, 19_980_000), (10, 29_980_000), (1_000, 29_980_000)] {
        let valve = Valve::new("a", settings.clone());
        closed_loop(&valve, 1, 1_001, 0);
        let now = next(&valve) + rest_s * SECOND;
        assert!(matches!(valve.arrive(one(1), now), Admission::Pass));
        assert!(next(&valve).abs_diff(now + first) <= 2, "after {rest_s} s");
    }
}

#[test]
fn a_limit_that_is_warm_stays_so_over_a_change() {
    let settings = LimitSettings { warm_up_ns: 10 * SECOND, ..rate("100/s") };
    let valve = Valve::new("a", settings.clone());
    let last = closed_loop(&valve, 100, 1_001, 0)[1_000];
    valve.change(LimitSettings { rate: rate("200/s").rate, ..settings }, last);
    valve.release(last + SECOND);
    assert_eq!(valve.counts().admitted, 1_100, "the 99 who wait, as it has their turns");
}

#[test]
fn a_concurrency_that_finds_itself_lets_in_as_many_as_it_has_found() {
    let settings = LimitSettings {
        concurrency: Some(Concurrency::Adaptive),
        concurrency_min: 2,
        concurrency_max: 10,
        ..LimitSettings::default()
    };
    let valve = Valve::new("a", settings.clone());
    assert!((0..10).all(|_| matches!(valve.arrive(one(1), 0), Admission::Pass)));
    let slot = waits(&valve, one(1), 0);
    assert_eq!(valve.counts().concurrency, Some(10));
    valve.change(LimitSettings { concurrency_max: 12, ..settings.clone() }, 0);
    assert!(!passes(&slot), "bounds alone change nothing");
    valve.done(Ended::Unknown, 1);
    assert!(passes(&slot));
    valve.change(LimitSettings { concurrency_max: 5, ..settings }, 0);
    assert_eq!((valve.counts().concurrency, valve.counts().in_service), (Some(5), 10));
}

proptest! {
    #[test]
    fn never_more_than_owed_whatever_happens(
        steps in prop::collection::vec((0_u64..30, 0_u8..4), 1..300),
        burst in 1_u64..5,
    ) {
        let valve = Valve::new("a", LimitSettings { burst, ..rate("100/s") });
        let (mut now, mut passed) = (0, 0_u64);
        let mut slots: Vec<Arc<Slot>> = Vec::new();
        for (pause, what) in steps {
            now += pause * MS;
            match what {
                0 | 1 => match valve.arrive(one(u64::from(what)), now) {
                    Admission::Pass => passed += 1,
                    Admission::Wait(slot, _) => slots.push(slot),
                    Admission::Refused(_) => {}
                },
                2 => drop(valve.release(now)),
                _ => if let Some(slot) = slots.pop() { passed += u64::from(valve.leave(&slot)); },
            }
            let before = slots.len();
            slots.retain(|slot| !passes(slot));
            passed += (before - slots.len()) as u64;
            prop_assert!(passed <= burst + now / (10 * MS), "{passed} by {now}");
            prop_assert_eq!(valve.counts().depth, slots.len());
        }
    }
}

pub(super) fn said(admission: &Admission) -> (&'static str, Option<u64>) {
    match admission {
        Admission::Pass => ("passes", None),
        Admission::Wait(_, due_ns) => ("waits", *due_ns),
        Admission::Refused(refusal) => ("refused", refusal.wait_ns),
    }
}

proptest! {
    /// Whoever passes without the lock would have passed with it, at the same time.
    #[test]
    fn without_the_lock_the_same_pass(
        (twos, fives) in (0_u32..8, 0_u32..5),
        burst in 1_u64..5,
        steps in proptest::collection::vec((0_u64..3_000_000, 1_u64..4, 0_u8..12), 1..80),
    ) {
        // Intervals are whole nanoseconds: rounding elsewhere is a nanosecond at most.
        let per_second = 2_u64.pow(twos) * 5_u64.pow(fives);
        let settings = |per_second: u64| LimitSettings {
            burst,
            wait_max_ns: 20 * MS,
            ..rate(&format!("{per_second}/s"))
        };
        let valve = Valve::new("a", settings(per_second));
        let mut core = Core::new(settings(per_second));
        let mut now_ns = 3_600 * SECOND;
        for (pause_ns, cost, what) in steps {
            now_ns += pause_ns;
            match what {
                0 => {
                    let rate = settings(per_second << (cost - 1));
                    if rate != core.settings {
                        core.change(rate.clone(), now_ns);
                        core.release(now_ns, &mut Vec::new());
                    }
                    valve.change(rate, now_ns);
                }
                1 | 2 => {
                    core.release(now_ns, &mut Vec::new());
                    prop_assert_eq!(valve.release(now_ns), core.due());
                }
                _ => {
                    let arrival = Arrival { cost, ..one(1) };
                    let found = said(&valve.arrive(arrival, now_ns));
                    prop_assert_eq!(found, said(&core.arrive(arrival, now_ns)));
                }
            }
            prop_assert_eq!(valve.counts().admitted, core.counts.admitted);
        }
    }
}
