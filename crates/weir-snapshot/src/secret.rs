//! Secrets, which are never printed in logs or answers.

/// A text that `Debug` does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret of `text`.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text, for comparing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("******")
    }
}
