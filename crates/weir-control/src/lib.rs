//! The control plane: what weir learns from others while it runs, on one thread of its own.
//!
//! It publishes by swapping pointers (a service's instances) and by telling that the set of
//! services has changed. A registry that is away, slow, empty or wrong leaves the last good list in
//! place. What filters ask of Redis and the like comes over a bounded channel; no request waits for
//! it without a bound.

mod answers;
mod discovery;
mod http;
mod keys;
mod plane;

pub use answers::{Inquiry, answer_questions};
pub use discovery::{Discovery, Here, RegistryStatus};
pub use keys::fetch_keys;
pub use plane::Plane;
