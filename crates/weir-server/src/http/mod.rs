//! One HTTP connection after another: reading heads, the exchange, relaying bodies.

mod admission;
mod attempts;
pub(crate) mod body;
mod choice;
pub(crate) mod direction;
pub(crate) mod downstream;
pub(crate) mod exchange;
pub(crate) mod finish;
pub(crate) mod forward;
mod framing;
mod gather;
mod guard;
mod guarded;
pub(crate) mod hops;
pub(crate) mod local;
mod mocked;
mod panic;
mod prepare;
pub(crate) mod rehearsal;
pub(crate) mod relay;
mod replay;
mod respond;
mod steps;
pub(crate) mod timing;
pub(crate) mod tunnel;
pub(crate) mod upstream;
