//! Types of properties.

/// Type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text that is never displayed.
    Secret,
    /// A whole number in this inclusive range.
    Int(i64, i64),
    /// `true` or `false`.
    Bool,
    /// `10ms`, `5s`, `2m`, `PT1S`, or milliseconds.
    Duration,
    /// `5MB`, or bytes.
    DataSize,
    /// A size in this inclusive range of bytes.
    SizeBetween(u64, u64),
    /// Several texts: a list, or one text with commas.
    List,
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
    /// An IP address, or `localhost`.
    Address,
    /// `true`, `false`, or a name for Via.
    Via,
    /// A subtree, which is read separately.
    Tree,
}
