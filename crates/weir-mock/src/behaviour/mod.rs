//! Behaviour of operations beyond their definition: chosen answers, delays, faults, sequences.
//! Delays and faults of the connection are returned to the server as data; they are not executed
//! here.

mod delay;
mod envelope;
mod overrides;
mod rules;
mod settings;
mod written;

pub(crate) use delay::DELAY_MS_MAX;
pub use delay::Delay;
pub use envelope::Envelope;
pub use overrides::{InjectedFault, Override, Step};
pub(crate) use rules::{Rule, Rules};
pub use settings::Settings;
pub use written::Misfit;
