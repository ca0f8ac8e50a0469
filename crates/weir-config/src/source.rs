//! Texts of a configuration, and places in them.
//!
//! A [`Span`] consists of small numbers, cheap enough for every node of a tree; a [`Place`] is its
//! form for operators. [`Sources`] converts spans to places.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Maximum size of a text, in bytes. Offsets are 31 bits wide; a file of 1,000,000 routes has about
/// 200 MB.
pub const SOURCE_BYTES_MAX: usize = 512 << 20;

/// Syntax of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML 1.1 as SnakeYAML reads it, several documents.
    Yaml,
    /// Java properties.
    Properties,
    /// JSON: an object of properties, or an array of route definitions.
    Json,
    /// Pipelines in piped's ini format.
    Ini,
}

impl Format {
    /// The format for the extension of a file name.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "yml" | "yaml" => Some(Self::Yaml),
            "properties" => Some(Self::Properties),
            "json" => Some(Self::Json),
            "ini" => Some(Self::Ini),
            _ => None,
        }
    }
}

/// One text with its name.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name for messages, such as the path as the operator wrote it.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
    /// Its syntax.
    pub format: Format,
    /// The profile of an `application-{profile}.yml`; such a source is used only while that profile
    /// is active, and then overrides those without a profile.
    pub profile: Option<String>,
}

impl Source {
    /// A source that belongs to no profile.
    pub fn new(name: &str, text: impl Into<Arc<str>>, format: Format) -> Self {
        Self { name: name.into(), text: text.into(), format, profile: None }
    }
}

/// A range of bytes in one of the [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Number of the source.
    pub source: u32,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

/// `n` as the offset of a span. Texts are bounded by [`SOURCE_BYTES_MAX`].
pub(crate) fn offset(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX) & (u32::MAX >> 1)
}

/// A position, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the source.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A line of a source with a marked range, for an excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt<'a> {
    /// The line without its line break.
    pub line: &'a str,
    /// Marked bytes of `line`.
    pub start: usize,
    /// End of the marked bytes of `line`.
    pub end: usize,
    /// The line is longer: this is the part around the mark.
    pub cut: bool,
}

/// Maximum number of bytes before the mark in an excerpt. Far more than is displayed, because a key
/// must be found to mask its secret.
const BEFORE_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of bytes after the start of the mark in an excerpt.
const BEHIND_BYTES_MAX: usize = 1024;
/// Characters are counted once per block of this size, so that the columns of many findings in one
/// long line do not each need a scan of the line.
const BLOCK_BYTES: usize = 16 * 1024;

/// Every text of one configuration, by number.
#[derive(Debug, Default)]
pub struct Sources {
    list: Vec<Entry>,
    /// Texts that no finding may show.
    hidden: Vec<String>,
}

/// Minimum length of such a text: a shorter one could occur anywhere.
const HIDDEN_BYTES_MIN: usize = 4;

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    text: Arc<str>,
    /// Offsets of the first byte of each line, computed on first use.
    lines: OnceLock<Vec<u32>>,
    /// Characters before each block of [`BLOCK_BYTES`], computed on first use.
    blocks: OnceLock<Vec<u32>>,
}

impl Sources {
    /// Adds a text and returns its number.
    pub fn add(&mut self, name: Arc<str>, text: Arc<str>) -> u32 {
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(Entry { name, text, lines: OnceLock::new(), blocks: OnceLock::new() });
        number
    }

    /// Adds further texts with their names.
    pub fn extend(&mut self, texts: Vec<(Arc<str>, Arc<str>)>) {
        for (name, text) in texts {
            self.add(name, text);
        }
    }

    /// Prevents findings from showing this text.
    pub(crate) fn keep_secret(&mut self, text: &str) {
        if text.len() >= HIDDEN_BYTES_MIN {
            self.hidden.push(text.to_owned());
        }
    }

    /// Masks the texts that no finding may show.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let hide = |text: Cow<'t, str>, secret: &String| match text.contains(secret) {
            true => Cow::Owned(text.replace(secret, "******")),
            false => text,
        };
        self.hidden.iter().fold(Cow::Borrowed(text), hide)
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.list.iter().map(|entry| entry.text.len()).sum()
    }

    /// The text of source `number`; empty if there is no such source.
    pub fn text(&self, number: u32) -> Arc<str> {
        let entry = self.list.get(number as usize);
        entry.map(|entry| Arc::clone(&entry.text)).unwrap_or_default()
    }

    /// The name of source `number`.
    pub fn name(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", |entry| &entry.name)
    }

    /// The first text that is a file, not the environment or the like.
    pub(crate) fn first_file(&self) -> Option<&Path> {
        let names = self.list.iter().map(|entry| &*entry.name);
        names.filter(|name| Format::of_name(name).is_some()).map(Path::new).next()
    }

    /// File, line and column of a span's first byte.
    pub fn place(&self, span: Span) -> Place {
        let Some(entry) = self.list.get(span.source as usize) else {
            return Place { file: "".into(), line: 1, column: 1 };
        };
        let (line, start) = entry.line_of(span.start);
        let before = entry.chars_before(span.start as usize);
        let column = before.saturating_sub(entry.chars_before(start)) + 1;
        Place { file: Arc::clone(&entry.name), line, column }
    }

    /// The line in which a span starts, or the part around the span in a long line, and the part of
    /// the span within it.
    pub(crate) fn excerpt(&self, span: Span) -> Option<Excerpt<'_>> {
        let entry = self.list.get(span.source as usize)?;
        let (_, start) = entry.line_of(span.start);
        let mark = (span.start as usize).clamp(start, entry.text.len());
        let first = entry.text.floor_char_boundary(mark.saturating_sub(BEFORE_BYTES_MAX));
        let first = first.max(start);
        let last = entry.text.floor_char_boundary(mark.saturating_add(BEHIND_BYTES_MAX));
        let around = entry.text.get(first..last)?;
        let line = around.split(['\n', '\r']).next()?;
        let cut = first > start || (line.len() == around.len() && last < entry.text.len());
        let from = line.floor_char_boundary(mark - first);
        let to = line.ceil_char_boundary((span.end as usize).saturating_sub(first)).max(from);
        Some(Excerpt { line, start: from, end: to, cut })
    }
}

impl Entry {
    /// Number (from 1) and first byte of the line of `offset`.
    fn line_of(&self, offset: u32) -> (usize, usize) {
        let lines = self.lines.get_or_init(|| line_starts(&self.text));
        let line = lines.partition_point(|start| *start <= offset).max(1);
        let start = lines.get(line - 1).copied().unwrap_or_default();
        (line, start as usize)
    }

    /// Characters that start before `offset`.
    fn chars_before(&self, offset: usize) -> usize {
        let blocks = self.blocks.get_or_init(|| {
            let counts = self.text.as_bytes().chunks(BLOCK_BYTES).scan(0, |sum, block| {
                let before = *sum;
                *sum += chars_in(block);
                Some(u32::try_from(before).unwrap_or(u32::MAX))
            });
            counts.collect()
        });
        let offset = offset.min(self.text.len());
        let block = (offset / BLOCK_BYTES).min(blocks.len().saturating_sub(1));
        let rest = self.text.as_bytes().get(block * BLOCK_BYTES..offset).unwrap_or_default();
        blocks.get(block).map_or(0, |count| *count as usize) + chars_in(rest)
    }
}

/// Characters that start in these bytes of UTF-8.
fn chars_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Lines end at LF, CRLF or a lone CR, as in YAML and Java.
fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (at, byte) in bytes.iter().enumerate() {
        let ends = match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            starts.push(u32::try_from(at + 1).unwrap_or(u32::MAX));
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::{BEFORE_BYTES_MAX, BEHIND_BYTES_MAX, Sources, Span};

    fn check(text: &str, start: u32, end: u32, expected: &str) {
        let mut sources = Sources::default();
        let source = sources.add("f.yml".into(), text.into());
        let span = Span { source, start, end };
        let excerpt = sources.excerpt(span).expect("an excerpt");
        let marked = excerpt.line.get(excerpt.start..excerpt.end).expect("on boundaries");
        let found = format!("{} {}[{marked}]", sources.place(span), excerpt.line);
        assert_eq!(found, expected);
    }

    #[test]
    fn places_count_lines_and_characters() {
        check("a: b\nc: d\n", 0, 1, "f.yml:1:1 a: b[a]");
        check("a: b\nc: d\n", 8, 9, "f.yml:2:4 c: d[d]");
        check("a: b\r\nc: d\r\n", 9, 10, "f.yml:2:4 c: d[d]");
        check("a: b\rc: d", 5, 6, "f.yml:2:1 c: d[c]");
        check("é: ü\nx", 4, 6, "f.yml:1:4 é: ü[ü]");
        check("a:\n  b: |\n   x\n   y\n", 10, 18, "f.yml:3:1    x[   x]");
        check("a", 9, 12, "f.yml:1:2 a[]");
    }

    #[test]
    fn long_lines_are_shown_around_the_mark() {
        let filler = "é ".repeat(1 << 20);
        let mut sources = Sources::default();
        let source = sources.add("f.yml".into(), format!("x\n{filler}MARK{filler}\nx").into());
        let start = 2 + filler.len() as u32;
        let span = Span { source, start, end: start + 4 };
        let excerpt = sources.excerpt(span).expect("an excerpt");
        assert!(excerpt.line.len() <= BEFORE_BYTES_MAX + BEHIND_BYTES_MAX + 4 && excerpt.cut);
        assert_eq!(excerpt.line.get(excerpt.start..excerpt.end), Some("MARK"));
        assert_eq!((sources.place(span).line, sources.place(span).column), (2, (2 << 20) + 1));
    }
}
