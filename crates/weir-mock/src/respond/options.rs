//! How definitions answer.

use crate::behaviour::{Delay, Envelope};
use crate::callback::CallbackTargets;
use crate::request::Enforcement;

/// How a set of definitions answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Bodies are made from schemas, realistic and by chance, where nothing else is asked for.
    pub dynamic: bool,
    /// What chance starts from; else each answer has a seed of its own, which it tells.
    pub seed: Option<u64>,
    /// A request that is wrong always gets a problem document, even where the definition has a
    /// response for it.
    pub errors: bool,
    /// What becomes of requests that break their definition.
    pub validation: Enforcement,
    /// How long each answer waits.
    pub delay: Delay,
    /// Whether what clients write to collections is kept and given back.
    pub stateful: bool,
    /// Name of the header that tells APIs with the same paths apart, by their names.
    pub select_header: Option<String>,
    /// What answers are wrapped in.
    pub envelope: Option<Envelope>,
    /// Where callbacks and webhooks may go.
    pub callbacks: CallbackTargets,
}
