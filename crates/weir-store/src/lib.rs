//! Route definitions at rest: an embedded file store that survives `kill -9`.
//!
//! [`Store`] keeps the routes made through the admin API in `routes.redb`, in the order they were
//! first written, each with the revision at which it last changed, and a bounded audit log of who
//! changed what. API definitions for mocks are beside them, by name. A write is acknowledged after
//! it has reached the disk. Validation, and what a route means, is the caller's business
//! (`weir-control`); nothing here compiles a route.

#![deny(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod apis;
mod audit;
mod error;
mod place;
mod polite;
mod record;
mod store;
mod transaction;

pub use apis::StoredApi;
pub use audit::{AuditAction, AuditEntry};
pub use error::{StoreError, StoreErrorKind};
pub use record::{Encoded, RecordError, StoredRoute};
pub use redb::StorageBackend;
pub use store::{FILE_NAME, Options, Store};
pub use transaction::{Put, Transaction};
