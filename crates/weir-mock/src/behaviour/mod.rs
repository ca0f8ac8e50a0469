//! How operations behave beyond their definition: chosen answers, waits, faults, sequences. What
//! takes time or a connection is told to the server as data; it is not done here.

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
