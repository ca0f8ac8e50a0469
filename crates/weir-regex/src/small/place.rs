//! Assertions about a position in the text: `^`, `$`, `\b` and others.

/// An assertion about a position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Start,
    End,
    FinalEnd { unix: bool },
    LineStart { unix: bool },
    LineEnd { unix: bool },
    WordBoundary(bool),
    SearchStart,
}

impl Place {
    /// Whether it holds at byte `at` of `text`, in a search that started at byte `from`.
    pub(super) fn is_at(self, text: &str, at: usize, from: usize) -> bool {
        let before = || text.get(..at).and_then(|text| text.chars().next_back());
        let behind = char_at(text, at);
        let rest = text.get(at..).unwrap_or_default();
        // No line ends or starts between CR and LF.
        let splits_line_end = || before() == Some('\r') && behind == Some('\n');
        match self {
            Self::Start => at == 0,
            Self::End => rest.is_empty(),
            Self::SearchStart => at == from,
            Self::FinalEnd { unix: true } => matches!(rest, "" | "\n"),
            Self::FinalEnd { unix: false } => {
                let last =
                    matches!(rest, "" | "\r\n" | "\n" | "\r" | "\u{85}" | "\u{2028}" | "\u{2029}");
                last && !splits_line_end()
            }
            Self::LineStart { unix } => {
                let ends = before().is_none_or(|char| is_line_end(char, unix));
                at == 0 || (ends && !rest.is_empty() && (unix || !splits_line_end()))
            }
            Self::LineEnd { unix } => {
                let ends = behind.is_none_or(|char| is_line_end(char, unix));
                ends && (unix || !splits_line_end())
            }
            Self::WordBoundary(expected) => {
                let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
                (before().is_some_and(is_word) != behind.is_some_and(is_word)) == expected
            }
        }
    }
}

fn is_line_end(char: char, unix: bool) -> bool {
    match unix {
        true => char == '\n',
        false => matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'),
    }
}

/// The character of `text` that begins at byte `at`.
pub(super) fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}
