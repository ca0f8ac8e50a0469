//! What may be said of how an operation behaves.

use serde_json::Value;

use super::delay::Delay;
use crate::request::{Condition, Enforcement};

/// How an operation behaves, if a request is such.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Override {
    /// `operationId`, or method and path as written (`GET /pets/{id}`), or `*` for all.
    pub operation: String,
    /// What a request must hold. The override that asks for most is taken; of equal ones, that of
    /// one operation before that of all, and the first one before others.
    pub when: Condition,
    /// Status of the response, which the operation declares.
    pub code: Option<u16>,
    /// Name of the example.
    pub example: Option<String>,
    /// Fields of the answer, instead of those of the definition; texts are templates.
    pub headers: Vec<(String, String)>,
    /// The body, instead of one of the definition: a template of mock.js, with `{{query.a}}` for
    /// what the request holds. A status that nobody declares may go with it.
    pub body: Option<Value>,
    /// Whether bodies are made by chance.
    pub dynamic: Option<bool>,
    /// What becomes of requests that are wrong.
    pub validation: Option<Enforcement>,
    /// How long the answer waits.
    pub delay: Option<Delay>,
    /// Over how many milliseconds the body is sent.
    pub body_ms: u64,
    /// Faults, each with its share in ten thousand answers; the rest is sound.
    pub faults: Vec<(u32, InjectedFault)>,
    /// Responses one after the other, from the start again behind the last one.
    pub sequence: Vec<Step>,
}

/// One response of a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Status; else that of the override.
    pub code: Option<u16>,
    /// Example; else that of the override.
    pub example: Option<String>,
    /// How often; 0 is once.
    pub times: u32,
}

/// What is wrong with an answer on purpose.
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
