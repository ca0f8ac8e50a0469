//! Errors in definitions, at their places in the files of the definition rather than where the
//! configuration names the file.

use std::path::PathBuf;
use std::sync::Arc;

use weir_mock::PlacedError;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Span, offset};

/// One error in a definition.
pub(super) struct Misread {
    /// The file, as a path that the user knows.
    pub file: PathBuf,
    /// The place, if the file could be read.
    pub error: Option<PlacedError>,
    /// The text of the file.
    pub text: Option<Arc<str>>,
    pub why: String,
}

impl Misread {
    /// In one line, with the place.
    pub(super) fn line(&self) -> String {
        let file = self.file.display().to_string();
        let error = self.error.clone().map(|error| PlacedError { file: file.clone(), ..error });
        format!("{}: {}", error.map_or(file, |error| error.place()), self.why)
    }

    /// Bytes of the line of the error, from its column on.
    fn range(&self) -> Option<(usize, usize)> {
        let (text, error) = (self.text.as_ref()?, self.error.as_ref()?);
        let line = usize::try_from(error.line?).ok()?.checked_sub(1)?;
        let start = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
        let own = text.get(start..)?.split(['\n', '\r']).next()?;
        let blanks = own.len() - own.trim_start().len();
        let column = error.column.and_then(|column| usize::try_from(column).ok());
        let Some(column) = column else {
            return Some((start + blanks, start + own.trim_end().len()));
        };
        let at = own.char_indices().nth(column.saturating_sub(1)).map_or(own.len(), |(at, _)| at);
        Some((start + at, start + at))
    }
}

/// The texts of definitions with errors, which diagnostics quote.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    /// Number of the configuration's own sources; these follow them.
    sources: usize,
    /// Each with its name.
    pub texts: Vec<(Arc<str>, Arc<str>)>,
}

impl Quoted {
    /// None yet, beside so many sources.
    pub fn new(sources: usize) -> Self {
        Self { sources, texts: Vec::new() }
    }

    /// The finding for an error in a definition that is named at `named`.
    pub fn diagnostic(&mut self, one: &Misread, named: Span) -> Diagnostic {
        let (Some((start, end)), Some(text)) = (one.range(), &one.text) else {
            let found = Diagnostic::new(Code::InvalidValue, one.line()).at(named);
            return found.help("correct the definition, or name another file");
        };
        let name: Arc<str> = one.file.display().to_string().into();
        let known = self.texts.iter().position(|(known, _)| *known == name);
        let at = known.unwrap_or_else(|| {
            self.texts.push((name, Arc::clone(text)));
            self.texts.len() - 1
        });
        let source = u32::try_from(self.sources + at).unwrap_or(u32::MAX);
        let pointer = one.error.as_ref().map_or("", |error| error.pointer.as_str());
        let message = match pointer {
            "" => one.why.clone(),
            pointer => format!("#{pointer}: {}", one.why),
        };
        let span = Span { source, start: offset(start), end: offset(end) };
        let found = Diagnostic::new(Code::InvalidValue, message).at(span);
        found.help("correct the definition, or name another file")
    }
}
