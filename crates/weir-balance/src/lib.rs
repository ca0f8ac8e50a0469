//! Services, their instances, and which instance serves a request.
//!
//! A [`Service`] outlives route tables: a route holds it, and its instances change beneath the
//! route. The [`Directory`] knows the services by name and merges what registries report.
//! Pure: no sockets, clock, chance or threads; whoever talks to a registry is in `weir-control`.

mod directory;
mod group;
mod instance;
mod service;

pub use directory::{Directory, Listed, Report, Source};
pub use group::{Balance, Group, Member, MemberState, Taken};
pub use instance::{Instance, Unused};
pub use service::Service;
