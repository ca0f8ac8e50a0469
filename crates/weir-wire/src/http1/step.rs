//! Result of one step of decoding a body.

use std::fmt;

use crate::fields::Fields;

/// Error in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The chunked coding is broken.
    Chunk(&'static str),
    /// Extensions or trailers beyond their bounds.
    TooLarge(&'static str),
    /// The connection ended inside the body.
    Truncated,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk(what) => write!(f, "malformed chunked body: {what}"),
            Self::TooLarge(what) => write!(f, "too many {what}"),
            Self::Truncated => write!(f, "body cut off"),
        }
    }
}

impl std::error::Error for BodyError {}

/// Result of one step of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyStep {
    /// Bytes of the input used up by this step (framing and content).
    pub consumed: usize,
    /// Range of the content within those bytes: `input[start..end]`; may be empty.
    pub content: (usize, usize),
    /// The body is complete; bytes after `consumed` belong to the next message.
    pub done: bool,
}

/// Trailer fields of a chunked body.
pub type Trailers = Fields;
