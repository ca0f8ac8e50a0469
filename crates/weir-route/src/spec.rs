//! Declaration of a predicate or filter: the registry entry that is its documentation.

/// How shortcut arguments are laid onto declared ones (SCG enum
/// `ShortcutConfigurable.ShortcutType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// By position.
    Default,
    /// By position, but only the first so many; a shortcut has no way to give the others.
    Positions(usize),
    /// All values go into the one list argument.
    GatherList,
    /// As `GatherList`, but a last `true` or `false` goes into the second argument.
    GatherListTailFlag,
}

/// What an argument holds. Drives binding, messages, the reference, the JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// Any text.
    Text,
    /// Text with `{variable}` parts.
    Template,
    /// Java regular expression.
    Regex,
    /// Several texts.
    List,
    /// Whole number.
    Int,
    /// `true` or `false`.
    Bool,
    /// `10ms`, `5m`, `PT1S`, or milliseconds.
    Duration,
    /// `5MB`, or bytes.
    DataSize,
    /// ISO zoned date-time or epoch milliseconds.
    DateTime,
    /// Status code or name.
    Status,
    /// `#{@name}`: one of the things that weir knows by that name.
    Bean,
    /// One of these names.
    OneOf(&'static [&'static str]),
}

/// One declared argument.
#[derive(Clone, Copy, Debug)]
pub struct ArgSpec {
    /// SCG's argument name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ArgKind,
    /// Text of the default; `None` with `required` means it must be given.
    pub default: Option<&'static str>,
    /// Must be given.
    pub required: bool,
    /// One sentence for the reference.
    pub doc: &'static str,
}

/// How close to SCG an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compatibility {
    /// As SCG 5.0.
    Same,
    /// Differs, and why.
    Differs(&'static str),
}

/// A predicate or filter: `B` is the type of its `build` function.
#[derive(Clone, Copy, Debug)]
pub struct Spec<B: 'static> {
    /// SCG's name.
    pub name: &'static str,
    /// Markdown: what it does, an example route, a matching and a non-matching request.
    pub doc: &'static str,
    /// Declared arguments in shortcut order.
    pub args: &'static [ArgSpec],
    /// How a shortcut fills them.
    pub shortcut: Shortcut,
    /// Compatibility with SCG.
    pub compatibility: Compatibility,
    /// Makes the thing from bound arguments.
    pub build: B,
}

impl<B> Spec<B> {
    /// The same entry of something that is made by `build`.
    pub(crate) const fn built_by<C>(&self, build: C) -> Spec<C> {
        Spec {
            name: self.name,
            doc: self.doc,
            args: self.args,
            shortcut: self.shortcut,
            compatibility: self.compatibility,
            build,
        }
    }
}
