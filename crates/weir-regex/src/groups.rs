//! Groups of a match.

/// The groups of one match; group 0 is the whole match.
#[derive(Clone, Debug)]
pub struct Groups<'t> {
    pub(crate) text: &'t str,
    pub(crate) spans: Vec<Option<(usize, usize)>>,
}

impl<'t> Groups<'t> {
    /// The text of group `n`, if it exists and took part in the match.
    pub fn get(&self, n: usize) -> Option<&'t str> {
        let (start, end) = (*self.spans.get(n)?)?;
        self.text.get(start..end)
    }

    /// Byte offsets of the whole match.
    pub fn span(&self) -> (usize, usize) {
        self.spans.first().copied().flatten().unwrap_or_default()
    }
}
