//! What a configuration says of paths that servers read in different ways.

/// What becomes of a path that some servers read otherwise: `%2f`, `%5c`, `%25`, `%3b`, `%3f`,
/// `%23`, `;parameters`, `//`, a dot or blank at the end of a name (see
/// [`lenient_path`](weir_wire::http1::lenient_path)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AmbiguousPaths {
    /// It is refused if a lenient server would see `..` segments in it, or if another route would
    /// serve it as such a server reads it; passed on otherwise.
    #[default]
    Check,
    /// It is refused.
    Refuse,
    /// It is passed on, as Spring Cloud Gateway does.
    Keep,
}

impl AmbiguousPaths {
    /// The names of the three, in configuration.
    pub const NAMES: &'static [&'static str] = &["check", "refuse", "keep"];

    /// The one called `text`, in any case.
    pub fn of(text: &str) -> Option<Self> {
        let all = [Self::Check, Self::Refuse, Self::Keep];
        let named = Self::NAMES.iter().zip(all).find(|(name, _)| name.eq_ignore_ascii_case(text));
        named.map(|(_, policy)| policy)
    }
}
