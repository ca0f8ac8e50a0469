//! Overrides of the behaviour of operations.

use serde_json::Value;

use super::delay::Delay;
use crate::request::{Condition, Enforcement};

/// The behaviour of an operation for requests that match a condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Override {
    /// `operationId`, or method and path as written (`GET /pets/{id}`), or `*` for all.
    pub operation: String,
    /// The condition on the request. The override with the most demanding condition wins; among
    /// equals, one for a single operation wins over one for all, then the first one.
    pub when: Condition,
    /// Status of the response, which the operation declares.
    pub code: Option<u16>,
    /// Name of the example.
    pub example: Option<String>,
    /// Fields of the answer, instead of those of the definition; texts are templates.
    pub headers: Vec<(String, String)>,
    /// The body, instead of one of the definition: a template of mock.js, with `{{query.a}}` for
    /// values of the request. It is also used with a status that the definition does not declare.
    pub body: Option<Value>,
    /// Whether bodies are generated at random.
    pub dynamic: Option<bool>,
    /// The handling of invalid requests.
    pub validation: Option<Enforcement>,
    /// The delay of the answer.
    pub delay: Option<Delay>,
    /// Over how many milliseconds the body is sent.
    pub body_ms: u64,
    /// Faults, each with its share in ten thousand answers; the rest is sound.
    pub faults: Vec<(u32, InjectedFault)>,
    /// A sequence of responses, repeated from the start after the last one.
    pub sequence: Vec<Step>,
}

/// One response of a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Status; else that of the override.
    pub code: Option<u16>,
    /// Example; else that of the override.
    pub example: Option<String>,
    /// The number of repetitions; 0 means once.
    pub times: u32,
}

/// A fault injected into an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// A problem document with this status, which is in the answer already.
    Status(u16),
    /// The connection is reset before any byte.
    Reset,
    /// The connection ends after so many bytes of the body, the head having announced all.
    Truncated(usize),
    /// Bytes that are no response.
    Malformed,
    /// No answer at all, until the client gives up.
    Timeout,
}
