//! One HTTP connection after another: reading heads, the exchange, relaying bodies.

mod admission;
pub(crate) mod body;
pub(crate) mod downstream;
pub(crate) mod exchange;
pub(crate) mod finish;
pub(crate) mod forward;
mod framing;
mod gather;
pub(crate) mod hops;
pub(crate) mod local;
mod panic;
pub(crate) mod rehearsal;
pub(crate) mod relay;
mod respond;
pub(crate) mod timing;
pub(crate) mod tunnel;
pub(crate) mod upstream;
