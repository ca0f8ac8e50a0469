//! Properties of a request that select its instance.

/// Properties of a request that select its instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Hash of the property that the rules name, or a random number.
    pub hash: u64,
    /// The requested kind of instance.
    pub hint: Option<String>,
    /// The id of the instance it was at before.
    pub instance: Option<String>,
}
