//! Limits that hold requests back instead of failing them: a schedule, a real queue, one release at
//! a time.
//!
//! Pure: time is passed in as nanoseconds since any fixed moment, so that each property is a test
//! in virtual time. A [`Valve`] is one limit with its queue, shared by all workers; a waiting
//! request leaves a [`Waker`](std::task::Waker) and is woken when its turn comes. Calling the valve
//! when a turn is due is left to the caller (`weir-server/pacer.rs`).

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod adaptive;
mod arrival;
mod bandwidth;
mod breaker;
mod buckets;
mod budget;
mod express;
mod queue;
mod rate;
mod schedule;
mod settings;
mod shards;
mod top_keys;
mod valve;
mod valves;

pub use adaptive::Ended;
pub use arrival::{Admission, Arrival, CLASS_DEFAULT, CLASSES, Reason, Refusal, Slot};
pub use bandwidth::{Stream, Way};
pub use breaker::{Breaker, BreakerSettings, BreakerState, BreakerView, Call, Window};
pub use buckets::{BucketSettings, Buckets, Refill, Taken};
pub use budget::{RetryBudget, RetryBudgets};
pub use queue::Key;
pub use rate::{Rate, RateError};
pub use settings::{Concurrency, LimitSettings, Mode, Order};
pub use top_keys::KeyCounts;
pub use valve::{Counts, Valve, WAIT_BOUNDS_MS};
pub use valves::Valves;
