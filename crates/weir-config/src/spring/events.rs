//! Feeds the events of a YAML parser to a builder.
//!
//! Uses the event parser of serde-saphyr (`granit_parser`): serde's data model cannot carry the
//! place of every node of a tree of unknown shape; the events do.

use std::ops::Range;
use std::sync::Arc;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span as EventSpan, Tag, options,
};

use super::builder::{Builder, DEPTH_MAX, Refusal};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Maximum length of a key; YAML 1.2's limit for keys without `?`.
const KEY_CHARS_MAX: usize = 4096;

/// Input of a parser: a source, or some of its lines.
pub(super) struct Reading<'t> {
    pub source: u32,
    /// The source.
    pub text: &'t Arc<str>,
    /// The part of it that the parser sees.
    pub body: &'t str,
    /// Offset of that part in the source: after a byte order mark, which the parser does not see.
    pub from: usize,
    /// Omitted bytes of the source: position in `body`, and their number.
    pub left_out: Option<(usize, usize)>,
}

/// Replacement of the scalar at these bytes of the source.
pub(super) struct Instead<'f> {
    pub at: Range<usize>,
    pub fill: &'f mut dyn FnMut(&mut Builder),
}

impl Reading<'_> {
    /// Appends every document to `documents`.
    ///
    /// # Errors
    /// The first YAML syntax error, or a limit that is exceeded. The documents before it have been
    /// added.
    pub(super) fn read(
        &self,
        documents: &mut Vec<Builder>,
        mut instead: Option<Instead<'_>>,
    ) -> Result<(), Diagnostic> {
        let mut document: Option<Builder> = None;
        for next in Parser::new_from_str_with_options(self.body, parser_options()) {
            let (event, span) = next.map_err(|error| self.syntax(&error))?;
            match (event, &mut document) {
                (Event::DocumentStart(..), slot) => {
                    *slot = Some(Builder::new(self.source, self.text));
                }
                (Event::DocumentEnd, slot) => documents.extend(slot.take()),
                (event, Some(builder)) => {
                    let at = self.span(&span);
                    let bytes = at.start as usize..at.end as usize;
                    match &mut instead {
                        Some(instead)
                            if matches!(event, Event::Scalar(..)) && instead.at == bytes =>
                        {
                            (instead.fill)(builder);
                        }
                        _ => self.feed(builder, event, at).map_err(|error| refused(error, at))?,
                    }
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    fn feed(&self, builder: &mut Builder, event: Event<'_>, at: Span) -> Result<(), Refusal> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && is_untyped(tag.as_deref())?;
                builder.scalar(self.in_source(&text), plain, at, anchor);
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

    /// The offset in the source of a byte of `body`.
    fn offset(&self, n: usize) -> usize {
        let left_out = self.left_out.filter(|(behind, _)| n >= *behind);
        n + self.from + left_out.map_or(0, |(_, bytes)| bytes)
    }

    /// The same text in the source, if it is part of `body`.
    fn in_source<'a>(&'a self, text: &'a str) -> &'a str {
        let start = (text.as_ptr() as usize).wrapping_sub(self.body.as_ptr() as usize);
        if start.checked_add(text.len()).is_none_or(|end| end > self.body.len()) {
            return text;
        }
        let start = self.offset(start);
        self.text.get(start..start + text.len()).unwrap_or(text)
    }

    fn span(&self, span: &EventSpan) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let offset = |n| u32::try_from(self.offset(n)).unwrap_or(u32::MAX);
        Span { source: self.source, start: offset(range.start), end: offset(range.end) }
    }

    fn syntax(&self, error: &ScanError) -> Diagnostic {
        let offset = self.offset(error.marker().byte_offset().unwrap_or_default());
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

fn parser_options() -> Options {
    let mut options = options! {
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        simple_key_max_lookahead: KEY_CHARS_MAX,
    };
    options.set_emit_comments(false);
    options
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
