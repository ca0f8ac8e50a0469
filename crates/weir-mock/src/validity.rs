//! The validation result of a request.

use crate::respond::Reply;

/// The validation result of a request.
#[derive(Clone, Debug)]
pub enum Validity {
    /// It is.
    Sound,
    /// Its head is; its content has to be read to know of that.
    NeedsContent,
    /// It is not.
    Wrong(Box<WrongRequest>),
}

/// A violation in a request.
#[derive(Clone, Debug)]
pub struct WrongRequest {
    /// The answer where it is refused.
    pub reply: Reply,
    /// All of it as JSON, for a header.
    pub told: String,
}
