//! The control plane: what weir learns from others while it runs, on one thread of its own.
//!
//! It publishes by swapping pointers (a service's instances) and by telling that the set of
//! services has changed. No request waits for it, and workers do not know it exists. A registry
//! that is away, slow, empty or wrong leaves the last good list in place.

mod checks;
mod discovery;
mod http;
mod keys;
mod plane;

pub use checks::{Clock, check_upstreams};
pub use discovery::{Discovery, Here, RegistryStatus};
pub use keys::fetch_keys;
pub use plane::Plane;
