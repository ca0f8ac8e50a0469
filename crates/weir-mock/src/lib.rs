//! API definitions, the validation of requests against them, and answers made from them.
//!
//! Pure: no sockets, clock, chance or threads. Texts of definitions go in ([`Api::read`]), requests
//! with their bodies go in ([`Mocks::answer`]), and answers come out; `weir-server` serves them. It
//! follows Prism where that is sound (`docs/decisions/0033-mock-service.md`).

#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod behaviour;
mod callback;
mod chance;
mod definition;
mod explain;
mod generate;
mod mocks;
mod mounted;
mod problem;
mod recording;
mod request;
mod respond;
mod response;
mod router;
mod sample;
mod sent;
mod sorted;
mod state;
mod table;
mod template;
mod tenants;
mod validity;

pub use behaviour::{Delay, Envelope, InjectedFault, Misfit, Override, Settings, Step};
pub use callback::{
    Callback, CallbackRequest, CallbackTargets, CallbackWarnings, Firing, NotFired,
};
pub use definition::{
    Api, Kind, Load, Operation, Outgoing, PlacedError, ReadError, ReadErrors, Warning,
    is_access_log,
};
pub use explain::{Explanation, Near};
pub use mocks::{Listed, Mocks};
pub use mounted::{Mount, Mounted};
pub use problem::Fault;
pub use recording::{
    RecordedBody, RecordedDefinition, RecordedExchange, is_answer, is_secret, mask_address,
    recorded_definition,
};
pub use request::{BodyCondition, Call, Condition, Enforcement, Violation};
pub use respond::{Options, Reply};
pub use response::{Content, Given, ResponseValidity, WrongResponse};
pub use sample::SampleRequest;
pub use sorted::Sorted;
pub use table::{ApiSources, MockSource, MockTable, StoredPart};
pub use tenants::{MockSet, TenantForm, check_tenant};
pub use validity::{Validity, WrongRequest};
