//! What of a request counts for the choice of its instance.

/// What of a request counts for the choice of its instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Hash of what the rules name, or chance.
    pub hash: u64,
    /// What kind of instance it wants.
    pub hint: Option<String>,
    /// The id of the instance it was at before.
    pub instance: Option<String>,
}
