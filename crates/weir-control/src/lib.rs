//! The control plane: the route table and what changes it, and what weir learns from others while
//! it runs.
//!
//! [`Control`] is the one place that changes the route table. The data plane does not know it: it
//! reads the snapshot that [`Control::published`] gives.
//!
//! [`Plane`] has one thread for what others say.
//! It publishes by swapping pointers (a service's instances) and by telling that the set of
//! services, or what a configuration server says, has changed. A server that is away, slow, empty
//! or wrong leaves the last good answer in place. What filters ask of Redis and the like comes over
//! a bounded channel; no request waits for it without a bound.

#![deny(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod answers;
pub mod apis;
mod backoff;
mod beside;
mod checks;
mod configuration;
mod discovery;
mod http;
mod keys;
mod plane;
mod table;

pub use answers::{
    Inquiry, answer_questions, callbacks_prometheus, mirrors_metrics, mirrors_prometheus,
    send_webhook,
};
pub use beside::beside;
pub use checks::{Clock, check_upstreams};
pub use configuration::Configuration;
pub use discovery::{Discovery, Here, RegistryStatus};
pub use keys::fetch_keys;
pub use plane::Plane;
pub use table::{
    Batch, ChangeTimes, Condition, Control, Done, Entry, Filter, Loaded, Origin, Problem, Refusal,
    STORE_POSITION, View,
};
