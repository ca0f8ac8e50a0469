//! Declaration of a predicate or filter: a registry entry that is also its documentation.

/// Mapping of shortcut arguments to declared ones (SCG enum `ShortcutConfigurable.ShortcutType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// By position.
    Default,
    /// By position, but only for this number of arguments; the others cannot be given in a
    /// shortcut.
    Positions(usize),
    /// All values go into the one list argument.
    GatherList,
    /// As `GatherList`, but a last `true` or `false` goes into the second argument.
    GatherListTailFlag,
}

/// Type of an argument. Used for binding, messages, the reference and the JSON Schema.
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
    /// `#{@name}`: one of the bean names that weir knows.
    Bean,
    /// One of these names.
    OneOf(&'static [&'static str]),
}

/// One declared argument.
#[derive(Clone, Copy, Debug)]
pub struct ArgSpec {
    /// SCG's argument name.
    pub name: &'static str,
    /// Its type.
    pub kind: ArgKind,
    /// Text of the default, if there is one.
    pub default: Option<&'static str>,
    /// Whether it must be given.
    pub required: bool,
    /// One sentence for the reference.
    pub doc: &'static str,
}

/// Compatibility of an entry with SCG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compatibility {
    /// As SCG 5.0.
    Same,
    /// SCG has none of this name.
    Own,
    /// Differs, for this reason.
    Differs(&'static str),
}

/// A predicate or filter: `B` is the type of its `build` function.
#[derive(Clone, Copy, Debug)]
pub struct Spec<B: 'static> {
    /// SCG's name.
    pub name: &'static str,
    /// Markdown: a description, an example route, a matching and a non-matching request.
    pub doc: &'static str,
    /// Declared arguments in shortcut order.
    pub args: &'static [ArgSpec],
    /// Mapping of shortcut arguments.
    pub shortcut: Shortcut,
    /// Compatibility with SCG.
    pub compatibility: Compatibility,
    /// Builds the predicate or filter from bound arguments.
    pub build: B,
}

impl<B> Spec<B> {
    /// The same entry with another `build`.
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
