//! The failures of a request to a server.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

/// The reason for the lack of an answer. The texts contain no user or password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No connection could be made, or it broke.
    Unreachable(String),
    /// Not within the time.
    TimedOut(Duration),
    /// The answer is longer than allowed.
    TooLong(usize),
    /// An answer with this status.
    Status(StatusCode),
    /// The credentials do not suffice: the status, for what, and what to do.
    Forbidden(String),
    /// It leads to this address, which must not be asked.
    OutOfReach(String),
    /// What was answered makes no sense.
    Nonsense(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "it cannot be reached: {why}"),
            Self::TimedOut(time) => write!(f, "it did not answer within {time:?}"),
            Self::TooLong(max) => write!(f, "its answer is longer than {max} bytes"),
            Self::Status(status) => match status.as_u16() {
                401 | 403 => write!(f, "it answered {status}: check user, password or token"),
                _ => write!(f, "it answered {status}"),
            },
            Self::Forbidden(what) => write!(f, "it answered {what}"),
            Self::OutOfReach(where_to) => write!(f, "it leads to {where_to}"),
            Self::Nonsense(why) => write!(f, "its answer is not understood: {why}"),
        }
    }
}

impl Failure {
    /// The text, with what to do where the bound of registries and configuration servers applied.
    pub(crate) fn of_discovery(&self) -> String {
        match self {
            Self::TooLong(_) => format!("{self}; raise weir.discovery.answer-bytes-max"),
            failure => failure.to_string(),
        }
    }
}

/// The result of one request to a server.
pub(crate) type Looked<T> = Result<T, Failure>;
