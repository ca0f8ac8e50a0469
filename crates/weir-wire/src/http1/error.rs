//! Errors in a head, with the status of the response.

use std::fmt;

/// Error in a head.
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

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(what) => write!(f, "malformed head: {what}"),
            Self::Framing(what) => write!(f, "ambiguous framing: {what}"),
            Self::Target(what) => write!(f, "invalid target: {what}"),
            Self::UnknownCoding => write!(f, "transfer coding other than chunked"),
            Self::MethodTooLong => write!(f, "method too long"),
            Self::Version => write!(f, "HTTP version not supported"),
            Self::TargetTooLong => write!(f, "target too long"),
            Self::TooManyFields => write!(f, "too many field lines"),
            Self::HeadTooLarge => write!(f, "head too large"),
        }
    }
}

impl std::error::Error for HeadError {}
