//! The condition of a change, and its result.

/// The precondition of a change, from `If-Match` and `If-None-Match`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    #[default]
    Any,
    /// The route exists (`If-Match: *`).
    Exists,
    /// The route does not exist (`If-None-Match: *`).
    Absent,
    /// The route is at one of these revisions.
    At(Vec<u64>),
}

impl Condition {
    pub(crate) fn holds(&self, revision: Option<u64>) -> bool {
        match (self, revision) {
            (Self::Any, _) | (Self::Exists, Some(_)) | (Self::Absent, None) => true,
            (Self::At(wanted), Some(revision)) => wanted.contains(&revision),
            _ => false,
        }
    }
}

/// The result of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The revision of the table after the change; for a single put, of the route.
    pub revision: u64,
    /// Routes that were not there before.
    pub created: u64,
    /// Routes that were overwritten.
    pub replaced: u64,
    /// Routes that were removed.
    pub deleted: u64,
}
