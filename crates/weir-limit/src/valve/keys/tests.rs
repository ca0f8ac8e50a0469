//! A limit that each key has for itself.

use std::sync::Arc;

use crate::valve::Valve;
use crate::valve::tests::{MS, SECOND, one, passes, rate, waits};
use crate::{Admission, Concurrency, Ended, LimitSettings};

fn valve(settings: LimitSettings) -> Arc<Valve> {
    Arc::new(Valve::new("a", LimitSettings { per_key: true, ..settings }))
}

#[test]
fn each_key_has_the_limit_for_itself() {
    let valve = valve(LimitSettings { burst: 2, queue_max: 1, ..rate("10/s") });
    for hash in 1..=3 {
        let own = valve.of_key(hash, || SECOND);
        assert!((0..2).all(|_| matches!(own.arrive(one(hash), SECOND), Admission::Pass)));
        let slot = waits(&own, one(hash), SECOND);
        assert!(matches!(own.arrive(one(hash), SECOND), Admission::Refused(_)));
        own.release(SECOND + 100 * MS);
        assert!(passes(&slot));
    }
    let counts = valve.counts();
    assert_eq!((counts.admitted, counts.waited, counts.refused_full, counts.keys), (9, 3, 3, 3));
    let shared = Arc::new(Valve::new("a", rate("10/s")));
    assert!(Arc::ptr_eq(&shared, &shared.of_key(1, || 0)) && shared.counts().keys == 0);
}

#[test]
fn a_change_a_pause_and_the_names_hold_for_all_keys() {
    let valve = valve(LimitSettings { queue_max: 1, ..rate("1/h") });
    let own = valve.of_key(1, || SECOND);
    own.arrive(one(1), SECOND);
    let slot = waits(&own, one(1), SECOND);
    for _ in 0..4 {
        own.arrive(one(1), SECOND);
        valve.name_key(1, || "first");
    }
    assert_eq!(valve.top_keys().first().map(|key| key.name.as_str()), Some("first"));
    let faster = LimitSettings { per_key: true, ..rate("10/s") };
    valve.change(faster.clone(), SECOND);
    for one in valve.of_keys() {
        one.change(faster.clone(), SECOND);
    }
    own.release(SECOND + 100 * MS);
    assert!(passes(&slot));
    valve.pause();
    let later = valve.of_key(2, || SECOND);
    assert_eq!(later.settings(), faster);
    assert!(matches!(later.arrive(one(2), SECOND), Admission::Wait(..)), "paused too");
}

#[test]
fn keys_are_forgotten_once_they_have_rested() {
    let busy = LimitSettings { concurrency: Some(Concurrency::Fixed(1)), burst: 3, ..rate("1/s") };
    let valve = valve(busy);
    let serves = valve.of_key(0, || SECOND);
    assert!(matches!(serves.arrive(one(0), SECOND), Admission::Pass));
    drop(serves);
    for hash in 1..10_000 {
        let now_ns = SECOND + hash * 10 * MS;
        let own = valve.of_key(hash, || now_ns);
        assert!(matches!(own.arrive(one(hash), now_ns), Admission::Pass));
        own.done(Ended::Unknown, now_ns);
    }
    let counts = valve.counts();
    assert!(counts.keys <= 1_024, "{}", counts.keys);
    assert_eq!((counts.admitted, counts.in_service), (10_000, 1));
    let serves = valve.of_key(0, || 200 * SECOND);
    assert!(matches!(serves.arrive(one(0), 200 * SECOND), Admission::Wait(..)), "it is kept");
}
