//! Message bodies: how long they are and where their content lies in the bytes received.
//!
//! The decoder never copies: it tells which part of the given bytes is content. Chunk extensions are
//! skipped, trailers are collected apart and never merged into the head.

use crate::fields::Fields;

/// How a body is delimited (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// No body.
    None,
    /// Exactly so many bytes, at least one... or zero.
    Length(u64),
    /// Chunked coding.
    Chunked,
    /// Until the connection closes (responses only).
    UntilClose,
}

/// What is wrong with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The chunked coding is broken.
    Chunk(&'static str),
    /// Extensions or trailers beyond their bounds.
    TooLarge(&'static str),
    /// The connection ended inside the body.
    Truncated,
}

/// One step of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyStep {
    /// Bytes of the input used up by this step (framing and content).
    pub consumed: usize,
    /// Where content lies within those bytes: `input[start..end]`; may be empty.
    pub content: (usize, usize),
    /// The body is complete; bytes after `consumed` belong to the next message.
    pub done: bool,
}

/// Trailer fields of a chunked body.
pub type Trailers = Fields;

/// Decodes one body from bytes fed in any portions.
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    kind: BodyKind,
}

impl BodyDecoder {
    /// A decoder at the start of a body of `kind`.
    pub fn new(kind: BodyKind) -> Self {
        Self { kind }
    }

    /// Decodes the next piece of `input`: call again with the rest until `consumed` is 0 or `done`.
    ///
    /// # Errors
    /// See [`BodyError`].
    pub fn step(&mut self, input: &[u8]) -> Result<BodyStep, BodyError> {
        let _ = (input, self.kind);
        Ok(BodyStep { consumed: 0, content: (0, 0), done: false })
    }
}

/// Writes one chunk (size line, data, CRLF). Writes nothing for empty `data`.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    let _ = (out, data);
}

/// Writes the last chunk and the trailer section.
pub fn write_last_chunk(out: &mut Vec<u8>, trailers: &Trailers) {
    let _ = (out, trailers);
}
