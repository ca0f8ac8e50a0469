//! HTTP caching (RFC 9111): which responses may be stored, for how long, and for which requests.
//!
//! Pure: time is passed in as milliseconds since 1970. A cache is shared by all workers; one fetch
//! serves all requests that wait for the same response.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod cache;
mod control;
mod key;
mod rules;
mod stored;

pub use cache::{CacheCounts, Caches, Flight, Looked, ResponseCache};
pub use key::{KeyParts, key};
pub use rules::{Asked, Lifetime, asked, lifetime};
pub use stored::{Stored, announce};
