//! What a property takes.

/// What a property takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text that is never shown.
    Secret,
    /// A whole number from the first to the second.
    Int(i64, i64),
    /// `true` or `false`.
    Bool,
    /// `10ms`, `5s`, `2m`, `PT1S`, or milliseconds.
    Duration,
    /// `5MB`, or bytes.
    DataSize,
    /// The same, from the first to the second number of bytes.
    SizeBetween(u64, u64),
    /// Several texts: a list, or one text with commas.
    List,
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
    /// An IP address, or `localhost`.
    Address,
    /// `true`, `false`, or a name for Via.
    Via,
    /// A tree of its own.
    Tree,
}
