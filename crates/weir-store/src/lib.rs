//! Route definitions at rest: an embedded file store that survives `kill -9`.
//!
//! [`Store`] keeps the routes made through the admin API in `routes.redb`, in the order of their
//! first write, each with the revision of its last change, and a bounded audit log of changes. API
//! definitions for mocks are stored beside them, by name. A write is acknowledged once it is on
//! disk. Validation and the meaning of routes belong to the caller (`weir-control`); nothing here
//! compiles a route.

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
