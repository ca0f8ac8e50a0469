//! What a mock sends of its own accord: the callbacks of an operation that it has answered, and
//! webhooks on demand. Here the requests are only made; who sends them is in `weir-control`.

mod expression;
mod make;
mod request;
mod targets;
mod warnings;
mod webhook;

pub(crate) use expression::Expression;
pub(crate) use make::callbacks;
pub use request::{Callback, CallbackRequest};
pub use targets::CallbackTargets;
pub use warnings::CallbackWarnings;
pub use webhook::{Firing, NotFired};
