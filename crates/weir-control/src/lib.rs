//! The control plane: what weir learns from others while it runs, on one thread of its own.
//!
//! It publishes by swapping pointers (a service's instances) and by telling that the set of
//! services, or what a configuration server says, has changed. A server that is away, slow, empty
//! or wrong leaves the last good answer in place. What filters ask of Redis and the like comes over
//! a bounded channel; no request waits for it without a bound.

mod answers;
mod checks;
mod configuration;
mod discovery;
mod http;
mod keys;
mod plane;
mod pool;

pub use answers::{Inquiry, answer_questions, mirrors_metrics, mirrors_prometheus};
pub use checks::{Clock, check_upstreams};
pub use configuration::Configuration;
pub use discovery::{Discovery, Here, RegistryStatus};
pub use keys::fetch_keys;
pub use plane::Plane;
