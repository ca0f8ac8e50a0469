//! YAML text to trees, one a document.
//!
//! Built on the event parser that serde-saphyr brings (`granit_parser`): serde's data model has no
//! room for the place of every node of a tree of unknown shape; the events carry it.

use std::sync::Arc;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span as EventSpan, Tag, options,
};

use super::builder::{Builder, DEPTH_MAX, Refusal};
use super::tree::Tree;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Longest key; the default of YAML 1.2 for keys without `?`.
const KEY_CHARS_MAX: usize = 4096;

/// Parses every document of `text`. What does not stop the reading goes to `problems`.
///
/// # Errors
/// The first thing in the text that is not YAML, or a bound that is passed.
pub(super) fn parse(
    source: u32,
    text: &Arc<str>,
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<Tree>, Diagnostic> {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body = text.get(bom..).unwrap_or_default();
    let places = Places { source, bom };
    let mut trees = Vec::new();
    let mut document: Option<Builder> = None;
    for next in Parser::new_from_str_with_options(body, parser_options()) {
        let (event, span) = next.map_err(|error| places.syntax(&error))?;
        match (event, &mut document) {
            (Event::DocumentStart(..), slot) => *slot = Some(Builder::new(source, text)),
            (Event::DocumentEnd, slot) => {
                trees.extend(slot.take().map(|builder| builder.finish(problems)));
            }
            (event, Some(builder)) => {
                let at = places.span(&span);
                feed(builder, event, at).map_err(|refusal| refused(refusal, at))?;
            }
            (_, None) => {}
        }
    }
    Ok(trees)
}

fn parser_options() -> Options {
    let mut options = options! {
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        simple_key_max_lookahead: KEY_CHARS_MAX,
    };
    options.set_emit_comments(false);
    options
}

fn feed(builder: &mut Builder, event: Event<'_>, at: Span) -> Result<(), Refusal> {
    match event {
        Event::Scalar(text, style, anchor, tag) => {
            let plain = style == ScalarStyle::Plain && is_untyped(tag.as_deref())?;
            builder.scalar(&text, plain, at, anchor);
            Ok(())
        }
        Event::SequenceStart(_, anchor, tag) => {
            is_untyped(tag.as_deref())?;
            builder.open(true, at, anchor)
        }
        Event::MappingStart(_, anchor, tag) => {
            is_untyped(tag.as_deref())?;
            builder.open(false, at, anchor)
        }
        Event::SequenceEnd | Event::MappingEnd => builder.close(),
        Event::Alias(anchor) => builder.alias(anchor),
        _ => Ok(()),
    }
}

/// Whether a plain scalar keeps its implicit type: `!!str 12` does not.
fn is_untyped(tag: Option<&Tag>) -> Result<bool, Refusal> {
    let Some(tag) = tag else { return Ok(true) };
    match tag.core_suffix() {
        Some("str") => Ok(false),
        Some(_) => Ok(true),
        None => Err((Code::YamlTag, format!("the tag `{}` has no meaning here", tag.original()))),
    }
}

fn refused((code, message): Refusal, at: Span) -> Diagnostic {
    let help = match code {
        Code::YamlTag => "leave the tag out; write the value itself",
        Code::AliasTooLarge => "write the value out, or use `${name}` placeholders instead",
        Code::TooDeep => "flatten the structure; no Spring property lies so deep",
        _ => "use plain texts as keys",
    };
    Diagnostic::new(code, message).at(at).help(help)
}

/// Turns the parser's places into ours.
struct Places {
    source: u32,
    /// Bytes of a byte order mark, which the parser does not see.
    bom: usize,
}

impl Places {
    fn span(&self, span: &EventSpan) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let offset = |n: usize| u32::try_from(n + self.bom).unwrap_or(u32::MAX);
        Span { source: self.source, start: offset(range.start), end: offset(range.end) }
    }

    fn syntax(&self, error: &ScanError) -> Diagnostic {
        let offset = error.marker().byte_offset().unwrap_or_default() + self.bom;
        let start = u32::try_from(offset).unwrap_or(u32::MAX);
        let at = Span { source: self.source, start, end: start.saturating_add(1) };
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            let message = format!("nested deeper than {DEPTH_MAX} levels");
            return refused((Code::TooDeep, message), at);
        }
        Diagnostic::new(Code::YamlSyntax, format!("this is not YAML: {}", error.info()))
            .at(at)
            .help(
                "look at this line and the lines before it: indentation, a `- ` whose key is \
                 commented out, a quote or bracket that is not closed",
            )
    }
}
