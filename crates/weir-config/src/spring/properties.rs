//! Parses Java properties to trees, one per document (documents are separated by `#---`).
//!
//! Class `java.util.Properties`: continuation lines, `\uXXXX`, `=`, `:` or blanks between key and
//! value, `#` and `!` comments; Spring Boot's `OriginTrackedPropertiesLoader` for `#---`.

use std::borrow::Cow;
use std::sync::Arc;

use super::expand::{Expansion, bound_depth};
use super::tree::Tree;
use crate::diagnostic::Diagnostic;
use crate::source::{Span, offset};

/// Parses every document of `text`. There are no syntax errors in this format.
pub(super) fn parse(source: u32, text: &Arc<str>, problems: &mut Vec<Diagnostic>) -> Vec<Tree> {
    let mut trees = Vec::new();
    let mut document = Document::new(source, text);
    for line in Lines::new(text) {
        if line.separator {
            let full = std::mem::replace(&mut document, Document::new(source, text));
            trees.push(full.finish(problems));
            continue;
        }
        document.line(text, &line);
    }
    trees.push(document.finish(problems));
    trees
}

struct Document {
    tree: Tree,
    expansion: Expansion,
}

impl Document {
    fn new(source: u32, text: &Arc<str>) -> Self {
        let mut tree = Tree::new(source, Arc::clone(text));
        tree.adopt(tree.root, &[], false);
        Self { tree, expansion: Expansion::default() }
    }

    fn line(&mut self, text: &str, line: &Line) {
        let raw = text.get(line.start..line.end).unwrap_or_default();
        let (key, value_start) = split(raw);
        let value = raw.get(value_start..).unwrap_or_default();
        let key = self.tree.keep(&unescape(key));
        let start = line.start + value_start;
        let at = Span { source: self.tree.source, start: offset(start), end: offset(line.end) };
        self.expansion.set(&mut self.tree, key, &unescape(value), at);
    }

    fn finish(mut self, problems: &mut Vec<Diagnostic>) -> Tree {
        self.expansion.seal(&mut self.tree, problems);
        bound_depth(&mut self.tree, problems);
        self.tree
    }
}

/// A logical line: bytes from its first non-blank, continuations included.
struct Line {
    start: usize,
    end: usize,
    separator: bool,
}

struct Lines<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text: text.as_bytes(), at }
    }

    fn natural_end(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        rest.iter().position(|b| matches!(b, b'\n' | b'\r')).map_or(self.text.len(), |n| from + n)
    }

    /// The first byte of the line after the one that ends at `end`.
    fn behind(&self, end: usize) -> usize {
        match (self.text.get(end), self.text.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => end + 2,
            _ => end + 1,
        }
    }

    fn skip_blanks(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | 0x0c)).count();
        from + blanks
    }

    /// An odd number of backslashes at the end of `start..end` continues the line.
    fn continues(&self, start: usize, end: usize) -> bool {
        let line = self.text.get(start..end).unwrap_or_default();
        line.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        while self.at < self.text.len() {
            let start = self.skip_blanks(self.at);
            let mut end = self.natural_end(start);
            let first = self.text.get(start).copied();
            if start == end || matches!(first, Some(b'#' | b'!')) {
                let comment = self.text.get(self.at..end).unwrap_or_default();
                self.at = self.behind(end);
                if matches!(comment.trim_ascii_end(), b"#---" | b"!---") {
                    return Some(Line { start, end, separator: true });
                }
                continue;
            }
            let mut piece = start;
            while self.continues(piece, end) && end < self.text.len() {
                piece = self.behind(end);
                end = self.natural_end(piece.min(self.text.len()));
            }
            self.at = self.behind(end);
            return Some(Line { start, end, separator: false });
        }
        None
    }
}

/// The raw key, and the start of the raw value.
fn split(raw: &str) -> (&str, usize) {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'=' | b':' | b' ' | b'\t' | 0x0c => break,
            _ => at += 1,
        }
    }
    let mut end = at.min(raw.len());
    while !raw.is_char_boundary(end) {
        end += 1;
    }
    let key = raw.get(..end).unwrap_or_default();
    let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | 0x0c);
    let blanks = |from: usize| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|b| is_blank(b)).count()
    };
    let mut value = end + blanks(end);
    if matches!(bytes.get(value), Some(b'=' | b':')) {
        value += 1;
        value += blanks(value);
    }
    (key, value.min(raw.len()))
}

/// Resolves escapes and joins continuation lines.
fn unescape(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut units: Vec<u16> = Vec::new();
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            flush(&mut units, &mut out);
            out.push(c);
            continue;
        }
        let Some(escaped) = chars.next() else { break };
        if escaped == 'u' {
            let digits: String = chars.clone().take(4).collect();
            if let (4, Ok(unit)) = (digits.len(), u16::from_str_radix(&digits, 16)) {
                units.push(unit);
                chars.by_ref().take(4).for_each(drop);
                continue;
            }
        }
        flush(&mut units, &mut out);
        match escaped {
            't' => out.push('\t'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            'f' => out.push('\u{c}'),
            '\n' | '\r' => {
                if escaped == '\r' {
                    chars.next_if_eq(&'\n');
                }
                while chars.next_if(|c| matches!(c, ' ' | '\t' | '\u{c}')).is_some() {}
            }
            other => out.push(other),
        }
    }
    flush(&mut units, &mut out);
    Cow::Owned(out)
}

/// Decodes consecutive UTF-16 units of `\u` escapes.
fn flush(units: &mut Vec<u16>, out: &mut String) {
    out.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or('\u{fffd}')));
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn check(text: &str, expected: &str) {
        let mut problems = Vec::new();
        let trees = parse(0, &text.into(), &mut problems);
        let found: Vec<String> = trees.iter().map(|tree| format!("{:?}", tree.root())).collect();
        assert_eq!(found.join(" --- "), expected);
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn separators_and_comments() {
        check("a=1\nb: 2\nc 3\nd\n", r#"{"a": "1", "b": "2", "c": "3", "d": ""}"#);
        check("# a=1\n  ! b\n\n a = 1 \r\nb=x=y", r#"{"a": "1 ", "b": "x=y"}"#);
        check(r"a\=b\:c=1", r#"{"a=b:c": "1"}"#);
        check("a=1\n#---\na=2\n", r#"{"a": "1"} --- {"a": "2"}"#);
    }

    #[test]
    fn escapes_and_continuations() {
        check("a=x\\\n   y\\\r\n z", r#"{"a": "xyz"}"#);
        check(r"a=\u00e9\ud83d\ude00\t.", r#"{"a": "é😀\t."}"#);
        check(r"a=\uZZ\q\\", r#"{"a": "uZZq\\"}"#);
        check("a=x\\", r#"{"a": "x"}"#);
    }

    #[test]
    fn keys_become_levels_and_lists() {
        check(
            "r[1].id=b\nr[0].id=a\nr[0].p[0].args[pattern]=/x\nc.[/**].m=*",
            concat!(
                r#"{"r": [{"id": "a", "p": [{"args": {"pattern": "/x"}}]}, {"id": "b"}],"#,
                r#" "c": {"/**": {"m": "*"}}}"#,
            ),
        );
        check("a=1\na=2", r#"{"a": "2"}"#);
    }
}
