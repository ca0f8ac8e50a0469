//! Options for the answers of definitions.

use crate::behaviour::{Delay, Envelope};
use crate::callback::CallbackTargets;
use crate::request::Enforcement;

/// Options for the answers of a set of definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Bodies are random, realistic values from schemas, unless the request asks otherwise.
    pub dynamic: bool,
    /// The seed of random values; without it each answer uses a seed of its own, and reports it.
    pub seed: Option<u64>,
    /// A request that is wrong always gets a problem document, even where the definition has a
    /// response for it.
    pub errors: bool,
    /// The handling of invalid requests.
    pub validation: Enforcement,
    /// The delay of each answer.
    pub delay: Delay,
    /// Whether items that clients write to collections are stored and returned.
    pub stateful: bool,
    /// The name of the header that selects among APIs with the same paths, by their names.
    pub select_header: Option<String>,
    /// The envelope around answers.
    pub envelope: Option<Envelope>,
    /// Where callbacks and webhooks may go.
    pub callbacks: CallbackTargets,
}
