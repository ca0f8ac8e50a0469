//! Whether a request is as its definition has it.

use crate::respond::Reply;

/// Whether a request is as its definition has it.
#[derive(Clone, Debug)]
pub enum Validity {
    /// It is.
    Sound,
    /// Its head is; its content has to be read to know of that.
    NeedsContent,
    /// It is not.
    Wrong(Box<WrongRequest>),
}

/// What is wrong with a request.
#[derive(Clone, Debug)]
pub struct WrongRequest {
    /// The answer where it is refused.
    pub reply: Reply,
    /// All of it as JSON, for a header.
    pub told: String,
}
