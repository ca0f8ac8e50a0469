//! The router of paths to operations: one hash probe for paths without variables, and one for each
//! shape of path with variables, regardless of the number of definitions. Large public definitions
//! have at most 21 shapes for each number of segments.

mod index;
mod path;
mod paths;

use std::sync::Arc;

pub(crate) use index::Index;
pub(crate) use path::Sought;
use path::Values;
pub(crate) use paths::Paths;

/// The maximum number of shapes for one number of segments: paths made to have 2^n of them are
/// refused.
const SHAPES_MAX: usize = 256;

/// The rank of a definition among others: by number, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub at: usize,
    pub name: Arc<str>,
}

/// The result of a look-up.
pub(crate) enum Found<'r, T> {
    /// The operation of whom, with the values of its variables.
    Operation {
        of: T,
        operation: usize,
        values: Values<'r>,
    },
    /// The path is there with these methods only.
    Methods(Vec<String>),
    Nothing,
}

impl<'r, T> Found<'r, T> {
    /// The same result for another type of owner.
    pub(crate) fn of<U>(self, change: impl FnOnce(T) -> U) -> Found<'r, U> {
        match self {
            Self::Operation { of, operation, values } => {
                Found::Operation { of: change(of), operation, values }
            }
            Self::Methods(methods) => Found::Methods(methods),
            Self::Nothing => Found::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
