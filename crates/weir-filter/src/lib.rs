//! Gateway filters: they edit heads and return verdicts.
//!
//! Pure: a filter never blocks, never calls the next filter and does no I/O. It edits a head, or
//! the route's policy, and returns a [`Verdict`]; only the server awaits.

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod arrivals;
mod assembly;
mod attempt;
mod body_edit;
mod chain;
mod coding;
mod content;
mod context;
pub mod cors;
mod definition;
mod descriptors;
pub mod filter;
pub mod forwarding;
mod grpc;
mod header;
mod key_source;
mod limits;
mod local_response;
mod oauth;
mod path;
mod plain_rewrite;
mod query;
mod question;
mod redis;
mod same;
mod share;
mod status;
mod styled;
mod substitution;
mod target;
mod template;
#[cfg(test)]
mod test_exchange;
mod ticket;
mod uri;

pub use arrivals::{CostSource, DeadlineSource};
pub use attempt::{Failure, Outcome};
pub use chain::{Chain, ChainEntry};
pub use coding::{Coding, Encoder};
pub use content::{Side, decoded};
pub use context::{FilterError, RequestContext, ResponseContext, Verdict};
pub use descriptors::{DESCRIPTOR_BYTES_MAX, Descriptors, ReadBytes};
pub use key_source::KeySource;
pub use limits::{LIMIT_FIELDS, LimitDefinition, REQUEST_FIELDS, set_limit, set_weight};
pub use local_response::LocalResponse;
pub use oauth::{OAuthClient, TokenPlace};
pub use question::{Answer, BucketQuestion, Copied, GrpcCall, GrpcReply, Question, Subrequest};
pub use redis::RedisSettings;
pub use status::{constant, reason};
pub use target::{Scheme, Target};
pub use ticket::{RateFields, Ticket};
