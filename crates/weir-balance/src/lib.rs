//! Services, their instances, and which instance serves a request.
//!
//! A [`Service`] outlives route tables: a route holds it, and its instances change beneath the
//! route. The [`Directory`] knows the services by name and merges the reports of registries. Pure:
//! no sockets, clock, randomness or threads; the registry clients are in `weir-control`.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod asked;
mod balance;
mod choice;
mod cluster;
mod directory;
mod formed;
mod group;
mod hash;
mod instance;
mod load;
mod lookup;
mod member;
mod members;
mod order;
mod rules;
mod service;
mod verdict;

pub use asked::Asked;
pub use balance::Balance;
pub use choice::Choice;
pub use cluster::{Cluster, InstanceState};
pub use directory::{Directory, Listed, Report, Source};
pub use group::Group;
pub use hash::hash_of;
pub use instance::{Instance, Unused};
pub use member::{Member, MemberState, Taken};
pub use rules::{Check, HashOf, Hint, Outlier, Rules, Sticky, Subset};
pub use service::Service;
pub use verdict::Verdict;
