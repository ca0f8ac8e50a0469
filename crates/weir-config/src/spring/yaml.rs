//! Parses YAML text to trees, one per document.

use std::sync::Arc;

use weir_route::Beside;

use super::events::Reading;
use super::parallel;
use super::tree::Tree;
use crate::diagnostic::Diagnostic;

/// Parses every document of `text`, with a second thread if it is long. Non-fatal problems are
/// added to `problems`.
///
/// # Errors
/// The first YAML syntax error, or a limit that is exceeded.
pub(super) fn parse(
    source: u32,
    text: &Arc<str>,
    beside: Beside,
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<Tree>, Diagnostic> {
    let from = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body = text.get(from..).unwrap_or_default();
    let whole = Reading { source, text, body, from, left_out: None };
    let mut documents = Vec::new();
    let read = match parallel::read(&whole, beside) {
        Some(read) => {
            documents = read;
            Ok(())
        }
        None => whole.read(&mut documents, None),
    };
    let trees = documents.into_iter().map(|builder| builder.finish(problems)).collect();
    read.map(|()| trees)
}
