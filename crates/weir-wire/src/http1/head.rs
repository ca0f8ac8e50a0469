//! Request and response heads from bytes, strict as RFC 9112 allows.
//!
//! Tokens come from `httparse`; every framing decision (Content-Length, Transfer-Encoding, Host,
//! Connection, Upgrade, Expect) is made here once, so no later stage looks at those fields again.

use super::body::BodyKind;
use crate::message::{RequestHead, ResponseHead};

/// Bounds on a head.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Longest request target in bytes; above is [`HeadError::TargetTooLong`] (414).
    pub target_bytes_max: usize,
    /// Most field lines; above is [`HeadError::TooManyFields`] (431).
    pub fields_max: usize,
    /// Most bytes of the whole head; above is [`HeadError::HeadTooLarge`] (431).
    pub head_bytes_max: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { target_bytes_max: 8 * 1024, fields_max: 128, head_bytes_max: 32 * 1024 }
    }
}

/// What is wrong with a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// Not a head as the grammar has it (400).
    Syntax(&'static str),
    /// Framing that two parties could read differently (400).
    Framing(&'static str),
    /// Target, Host or authority not valid (400).
    Target(&'static str),
    /// Transfer coding other than chunked (501).
    UnknownCoding,
    /// Method longer than any in use (501).
    MethodTooLong,
    /// HTTP version other than 1.x (505).
    Version,
    /// See [`HeadLimits::target_bytes_max`] (414).
    TargetTooLong,
    /// See [`HeadLimits::fields_max`] (431).
    TooManyFields,
    /// See [`HeadLimits::head_bytes_max`] (431).
    HeadTooLarge,
}

/// Whether a complete head was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// More bytes are needed; nothing was consumed.
    Partial,
    /// The head took the first `consumed` bytes.
    Complete {
        /// Bytes of the head, with the empty line (and leading empty lines skipped).
        consumed: usize,
        /// How the message is framed.
        framing: T,
    },
}

/// What the Connection field and the version say about the connection's future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// May carry another message.
    KeepAlive,
    /// Closes after this message.
    Close,
}

/// How a request is framed, and what its hop-by-hop fields ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFraming {
    /// Body of the request (never close-delimited).
    pub body: BodyKind,
    /// After this request.
    pub connection: Connection,
    /// `Expect: 100-continue` from an HTTP/1.1 client.
    pub expect_continue: bool,
    /// `Connection: upgrade` with an Upgrade field.
    pub upgrade: bool,
}

/// How a response is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFraming {
    /// Body of the response, given the request's method.
    pub body: BodyKind,
    /// After this response.
    pub connection: Connection,
}

/// Parses a request head at the start of `input` into `head` (cleared first).
///
/// # Errors
/// See [`HeadError`]; the connection cannot be used after any of them.
pub fn parse_request(
    input: &[u8],
    head: &mut RequestHead,
    limits: &HeadLimits,
) -> Result<Parsed<RequestFraming>, HeadError> {
    let _ = (input, head, limits);
    Ok(Parsed::Partial)
}

/// Parses a response head at the start of `input` into `head` (cleared first); `method` is that of
/// the request it answers, since HEAD and CONNECT change what follows.
///
/// # Errors
/// See [`HeadError`]; for a response every one of them means the upstream is at fault (502).
pub fn parse_response(
    input: &[u8],
    method: &[u8],
    head: &mut ResponseHead,
    limits: &HeadLimits,
) -> Result<Parsed<ResponseFraming>, HeadError> {
    let _ = (input, method, head, limits);
    Ok(Parsed::Partial)
}
