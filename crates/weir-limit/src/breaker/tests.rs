//! resilience4j's rules, in virtual time.

use super::*;

fn breaker(edit: impl FnOnce(&mut BreakerSettings)) -> Breaker {
    let mut settings = BreakerSettings {
        window: Window::Calls(4),
        calls_min: 4,
        open_ns: 10 * SECOND_NS,
        half_open_calls: 2,
        ..BreakerSettings::default()
    };
    edit(&mut settings);
    Breaker::new("b", settings)
}

fn call(breaker: &Breaker, failed: bool, at_ns: u64) -> bool {
    let begun = breaker.begin(at_ns);
    begun.map(|call| breaker.end(call, failed, at_ns)).is_some()
}

fn state(breaker: &Breaker, at_ns: u64) -> BreakerState {
    breaker.view(at_ns).state
}

#[test]
fn it_opens_at_the_rate_and_not_before_enough_calls() {
    let one = breaker(|_| ());
    for failed in [true, true, true] {
        assert!(call(&one, failed, 0));
    }
    assert_eq!(state(&one, 0), BreakerState::Closed);
    assert_eq!(one.view(0).failure_rate, -1.0);
    assert!(call(&one, false, 0));
    assert_eq!(state(&one, 0), BreakerState::Open);
    assert!(!call(&one, false, 1));
    assert_eq!(one.view(1).refused, 1);
}

#[test]
fn the_oldest_call_leaves_a_full_window() {
    let one = breaker(|settings| settings.failure_rate = 75.0);
    for failed in [true, true, false, false, false, true, true] {
        assert!(call(&one, failed, 0));
    }
    let view = one.view(0);
    assert_eq!((view.state, view.buffered, view.failed), (BreakerState::Closed, 4, 2));
    assert!(call(&one, true, 0));
    assert_eq!(state(&one, 0), BreakerState::Open);
}

#[test]
fn a_window_of_seconds_forgets() {
    let one = breaker(|settings| {
        settings.window = Window::Seconds(3);
        settings.calls_min = 3;
    });
    assert!(call(&one, true, 0));
    assert!(call(&one, true, SECOND_NS));
    assert_eq!(one.view(2 * SECOND_NS).buffered, 2);
    assert_eq!(one.view(3 * SECOND_NS).buffered, 1);
    assert!(call(&one, true, 3 * SECOND_NS));
    assert_eq!(state(&one, 3 * SECOND_NS), BreakerState::Closed);
    assert!(call(&one, true, 3 * SECOND_NS));
    assert_eq!(state(&one, 3 * SECOND_NS), BreakerState::Open);
}

fn opened(edit: impl FnOnce(&mut BreakerSettings)) -> Breaker {
    let one = breaker(edit);
    (0..4).for_each(|_| assert!(call(&one, true, 0)));
    assert_eq!(state(&one, 0), BreakerState::Open);
    one
}

#[test]
fn half_open_lets_a_few_through_and_judges_them() {
    let one = opened(|_| ());
    assert_eq!(state(&one, 10 * SECOND_NS), BreakerState::Open);
    let at = 10 * SECOND_NS;
    let (first, second) = (one.begin(at), one.begin(at));
    assert_eq!(state(&one, at), BreakerState::HalfOpen);
    assert!(one.begin(at).is_none());
    one.end(first.expect("a permit"), false, at);
    assert_eq!(state(&one, at), BreakerState::HalfOpen);
    one.end(second.expect("a permit"), false, at);
    assert_eq!(state(&one, at), BreakerState::Closed);

    let one = opened(|_| ());
    assert!(call(&one, true, at) && call(&one, false, at));
    assert_eq!(state(&one, at), BreakerState::Open);
}

#[test]
fn a_client_that_leaves_gives_its_place_back() {
    let one = opened(|settings| settings.half_open_calls = 1);
    let at = 10 * SECOND_NS;
    let begun = one.begin(at);
    assert!(one.begin(at).is_none());
    one.cancel(begun.expect("a permit"));
    assert!(one.begin(at).is_some());
}

#[test]
fn time_alone_changes_the_state_where_it_is_asked_for() {
    let one = opened(|settings| settings.automatic = true);
    assert_eq!(state(&one, 10 * SECOND_NS), BreakerState::HalfOpen);
    let one = opened(|settings| settings.half_open_ns = SECOND_NS);
    assert!(one.begin(10 * SECOND_NS).is_some());
    assert_eq!(state(&one, 11 * SECOND_NS), BreakerState::Open);
}

#[test]
fn slow_calls_count_and_late_ones_of_an_earlier_period_do_not() {
    let one = breaker(|settings| settings.slow_ns = SECOND_NS);
    let begun: Vec<_> = (0..5).filter_map(|_| one.begin(0)).collect();
    for call in begun.iter().take(4) {
        one.end(*call, false, SECOND_NS);
    }
    assert_eq!(state(&one, SECOND_NS), BreakerState::Open);
    assert!(call(&one, false, 11 * SECOND_NS));
    begun.iter().skip(4).for_each(|call| one.end(*call, true, 11 * SECOND_NS));
    assert_eq!(one.view(11 * SECOND_NS).buffered, 1);
}
