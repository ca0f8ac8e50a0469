//! Parses JSON text (RFC 8259) to a tree with places, which serde_json does not provide.

use std::borrow::Cow;
use std::sync::Arc;

use super::builder::{Builder, Refusal};
use super::tree::Tree;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Span, offset};

/// Parses `text`, which must be a single value.
///
/// # Errors
/// The first syntax error, or a limit that is exceeded.
pub(super) fn parse(
    source: u32,
    text: &Arc<str>,
    problems: &mut Vec<Diagnostic>,
) -> Result<Tree, Diagnostic> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { source, text, at: start };
    let mut builder = Builder::new(source, text);
    reader.document(&mut builder).map_err(|(code, message)| {
        let at = reader.span(reader.at, reader.at + 1);
        let help = match code {
            Code::TooDeep => "flatten the structure; no route lies so deep",
            _ => "look for a comma too many or too few, or a quote that is not closed",
        };
        Diagnostic::new(code, message).at(at).help(help)
    })?;
    Ok(builder.finish(problems))
}

struct Reader<'t> {
    source: u32,
    text: &'t str,
    at: usize,
}

/// The next expected token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Value,
    /// A value, or the end of a list just opened.
    FirstElement,
    /// A key, or the end of a map just opened.
    FirstKey,
    Key,
    /// A comma or the end of the innermost collection; at the top level, the end of the text.
    Next,
}

impl Reader<'_> {
    /// Not recursive: open collections are on a stack.
    fn document(&mut self, builder: &mut Builder) -> Result<(), Refusal> {
        let mut open: Vec<bool> = Vec::new();
        let mut due = Due::Value;
        loop {
            self.blanks();
            let Some(byte) = self.peek() else {
                let complete = due == Due::Next && open.is_empty();
                return if complete { Ok(()) } else { Err(syntax("the text ends too early")) };
            };
            due = match (due, byte) {
                (Due::Next, _) if open.is_empty() => {
                    return Err(syntax("there is more behind the end"));
                }
                (Due::Next, b',') => {
                    self.at += 1;
                    if open.last() == Some(&true) { Due::Value } else { Due::Key }
                }
                (Due::Next | Due::FirstElement, b']') if open.last() == Some(&true) => {
                    self.close(builder, &mut open)?
                }
                (Due::Next | Due::FirstKey, b'}') if open.last() == Some(&false) => {
                    self.close(builder, &mut open)?
                }
                (Due::Next, _) => return Err(syntax("a comma or a closing bracket is missing")),
                (Due::FirstKey | Due::Key, b'"') => {
                    self.string(builder)?;
                    self.blanks();
                    if self.peek() != Some(b':') {
                        return Err(syntax("a `:` must follow the key"));
                    }
                    self.at += 1;
                    Due::Value
                }
                (Due::FirstKey | Due::Key, _) => return Err(syntax("a key in quotes must follow")),
                (Due::Value | Due::FirstElement, _) => self.value(builder, &mut open, byte)?,
            };
        }
    }

    fn value(
        &mut self,
        builder: &mut Builder,
        open: &mut Vec<bool>,
        byte: u8,
    ) -> Result<Due, Refusal> {
        match byte {
            b'{' | b'[' => {
                let list = byte == b'[';
                builder.open(list, self.span(self.at, self.at + 1), 0)?;
                open.push(list);
                self.at += 1;
                Ok(if list { Due::FirstElement } else { Due::FirstKey })
            }
            b'"' => self.string(builder).map(|()| Due::Next),
            _ => self.word(builder).map(|()| Due::Next),
        }
    }

    fn close(&mut self, builder: &mut Builder, open: &mut Vec<bool>) -> Result<Due, Refusal> {
        builder.close()?;
        open.pop();
        self.at += 1;
        Ok(Due::Next)
    }

    /// `true`, `false`, `null` or a number.
    fn word(&mut self, builder: &mut Builder) -> Result<(), Refusal> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}' | ':' | '"');
        let word = rest.split(ends).next().unwrap_or_default();
        let number = word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            && word.parse::<f64>().is_ok();
        if !number && !matches!(word, "true" | "false" | "null") {
            return Err(syntax("a text must be in quotes"));
        }
        builder.scalar(word, true, self.span(self.at, self.at + word.len()), 0);
        self.at += word.len();
        Ok(())
    }

    fn string(&mut self, builder: &mut Builder) -> Result<(), Refusal> {
        let start = self.at + 1;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let mut len = 0;
        loop {
            match rest.get(len) {
                None => return Err(syntax("a quote is not closed")),
                Some(b'"') => break,
                Some(b'\\') => len += 2,
                Some(0..=0x1f) => {
                    self.at = start + len;
                    return Err(syntax("a line break in a text must be written `\\n`"));
                }
                Some(_) => len += 1,
            }
        }
        let raw = self.text.get(start..start + len).unwrap_or_default();
        let text = unescape(raw).ok_or_else(|| syntax("an escape is not one of JSON's"))?;
        builder.scalar(&text, false, self.span(self.at, start + len + 1), 0);
        self.at = start + len + 1;
        Ok(())
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { source: self.source, start: offset(start), end: offset(end) }
    }
}

fn syntax(message: &str) -> Refusal {
    (Code::JsonSyntax, format!("this is not JSON: {message}"))
}

fn unescape(raw: &str) -> Option<Cow<'_, str>> {
    if !raw.contains('\\') {
        return Some(Cow::Borrowed(raw));
    }
    let quoted = format!("\"{raw}\"");
    serde_json::from_str(&quoted).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn check(text: &str, expected: &str) {
        let mut problems = Vec::new();
        let found = match parse(0, &text.into(), &mut problems) {
            Ok(tree) => format!("{:?}", tree.root()),
            Err(problem) => problem.message,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn values_of_every_kind() {
        check(
            r#"{"a":[1,2.50,true,null,"x"],"b":{}}"#,
            r#"{"a": ["1", "2.5", "true", ~, "x"], "b": {}}"#,
        );
        check(r#" [] "#, "[]");
        check(r#""\u00e9\ud83d\ude00\/""#, r#""é😀/""#);
        check(r#"{"a.b":{"c":1},"a":{"d":2}}"#, r#"{"a": {"b": {"c": "1"}, "d": "2"}}"#);
        check(r#"["1"]"#, r#"["1"]"#);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        check("", "this is not JSON: the text ends too early");
        check("[1", "this is not JSON: the text ends too early");
        check("[1,]", "this is not JSON: a text must be in quotes");
        check("[1 2]", "this is not JSON: a comma or a closing bracket is missing");
        check("{a:1}", "this is not JSON: a key in quotes must follow");
        check(r#"{"a" 1}"#, "this is not JSON: a `:` must follow the key");
        check(r#"{"a":1} x"#, "this is not JSON: there is more behind the end");
        check(r#"["a"#, "this is not JSON: a quote is not closed");
        check(r#"["\x"]"#, "this is not JSON: an escape is not one of JSON's");
        check(&"[".repeat(100), "nested deeper than 64 levels");
    }
}
