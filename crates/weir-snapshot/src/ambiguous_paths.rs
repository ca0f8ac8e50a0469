//! Configured policy for paths that servers parse differently.

/// Policy for a path that some servers parse differently: `%2f`, `%5c`, `%25`, `%3b`, `%3f`, `%23`,
/// `;parameters`, `//`, a dot or blank at the end of a name (see
/// [`lenient_path`](weir_wire::http1::lenient_path)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AmbiguousPaths {
    /// Refuse it if a lenient server would see `..` segments in it, or if another route would serve
    /// the path as such a server reads it; forward it otherwise.
    #[default]
    Check,
    /// Refuse it.
    Refuse,
    /// Forward it, as Spring Cloud Gateway does.
    Keep,
}

impl AmbiguousPaths {
    /// Names of the policies in the configuration.
    pub const NAMES: &'static [&'static str] = &["check", "refuse", "keep"];

    /// The policy with the name `text`, in any case.
    pub fn of(text: &str) -> Option<Self> {
        let all = [Self::Check, Self::Refuse, Self::Keep];
        let named = Self::NAMES.iter().zip(all).find(|(name, _)| name.eq_ignore_ascii_case(text));
        named.map(|(_, policy)| policy)
    }
}
