//! `Header`: a header that is present, or whose value matches an expression.

use std::borrow::Cow;
use std::fmt;

use weir_wire::Fields;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::key::Key;
use super::lists::quoted_list;
use super::named_value::{NamedValue, ValuePattern};
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<Header>> = Spec {
    name: "Header",
    doc: "Matches requests that have a header, or, with an expression, one any of whose values \
matches it from its first to its last character. A line is split into values at its commas, blanks \
behind the first comma and quotes are dropped, and an empty header counts as absent.

```example
Header=X-Request-Id, \\d+
+ GET / | X-Request-Id: 12
+ GET / | x-request-id: a, 12
- GET / | X-Request-Id: 12a
- GET /
```",
    args: &[
        ArgSpec {
            name: "header",
            kind: ArgKind::Text,
            default: None,
            required: true,
            doc: "Name of the header, in any case.",
        },
        ArgSpec {
            name: "regexp",
            kind: ArgKind::Regex,
            default: None,
            required: false,
            doc: "Java regular expression for a whole value; without it the header has to be \
                  there.",
        },
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// A header that is present, or has a matching value.
#[derive(Debug)]
pub struct Header(NamedValue);

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Header, ArgError> {
    let mut named = NamedValue::bind(args, "header", context.regexes())?;
    named.splits = context.options.split_header_values;
    Ok(Header(named))
}

impl Header {
    /// Name of the header.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Pattern that a value must match; `None` if presence is enough.
    pub fn regexp(&self) -> Option<ValuePattern<'_>> {
        self.0.value()
    }

    /// Whether lines are split into values at commas.
    pub fn splits(&self) -> bool {
        self.0.splits
    }
}

impl Condition for Header {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        let fields = &request.head.fields;
        let Some(regexp) = self.regexp() else {
            return Ok(has_header_value(fields, self.name(), self.splits()));
        };
        let mut found = Ok(false);
        header_texts(fields, self.name(), self.splits(), |value| {
            found = regexp.full_match(value);
            found != Ok(false)
        });
        Ok(found?)
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        let mut values = Vec::new();
        header_values(&request.head.fields, self.name(), self.splits(), |value| {
            values.push(value.to_owned());
            false
        });
        format!("header `{}` is {}", self.name(), quoted_list(values.iter().map(String::as_str)))
    }

    fn key(&self) -> Option<Key<'_>> {
        let value = self.regexp().and_then(ValuePattern::literal)?;
        Some(Key::Header { name: self.name(), value, split: self.splits() })
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header: {} regexp={}", self.name(), self.0.source())
    }
}

/// Whether header `name` has any value.
pub(super) fn has_header_value(fields: &Fields, name: &str, split: bool) -> bool {
    header_texts(fields, name, split, |_| true)
}

/// Calls `visit` with each value of header `name` until it returns `true`; returns whether it did.
///
/// With `split`, lines are split at commas as by Spring's `HttpHeaders.getValuesAsList`: quotes are
/// removed, blanks after the first comma dropped, empty values skipped. Bytes above 127 are read as
/// Latin-1, as in Netty.
pub fn header_values(
    fields: &Fields,
    name: &str,
    split: bool,
    mut visit: impl FnMut(&str) -> bool,
) -> bool {
    header_texts(fields, name, split, |value| std::str::from_utf8(value).is_ok_and(&mut visit))
}

/// [`header_values`] as UTF-8.
pub(crate) fn header_texts(
    fields: &Fields,
    name: &str,
    split: bool,
    mut visit: impl FnMut(&[u8]) -> bool,
) -> bool {
    fields.get_all(name.as_bytes()).any(|line| header_line_texts(line, split, &mut visit))
}

/// [`header_texts`] of one line.
pub(crate) fn header_line_texts(
    line: &[u8],
    split: bool,
    visit: &mut impl FnMut(&[u8]) -> bool,
) -> bool {
    if is_one_word(line) {
        return visit(line);
    }
    let text = latin1(line);
    if !split {
        visit(text.as_bytes())
    } else if memchr::memchr2(b',', b'"', text.as_bytes()).is_none() {
        let value = text.trim_matches(|c: char| c <= ' ');
        !value.is_empty() && visit(value.as_bytes())
    } else {
        split_values(&text).iter().any(|value| visit(value.as_bytes()))
    }
}

/// Whether a line is a single value with or without splitting: visible ASCII without commas or
/// quotes.
fn is_one_word(line: &[u8]) -> bool {
    let in_word = |byte: u8| byte.is_ascii_graphic() & !matches!(byte, b',' | b'"');
    // Without an early exit, which few of the lines that routes match would take.
    !line.is_empty() && line.iter().fold(true, |all, byte| all & in_word(*byte))
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// A port of Spring's `HttpHeaders.tokenizeQuoted`.
fn split_values(line: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut value = String::new();
    let (mut quoted, mut trim) = (false, true);
    let mut push = |value: &mut String, trim: bool| {
        let text = if trim { value.trim_matches(|c: char| c <= ' ') } else { value.as_str() };
        if !text.is_empty() {
            values.push(text.to_owned());
        }
        value.clear();
    };
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if value.is_empty() => quoted = true,
            '"' if quoted => (quoted, trim) = (false, false),
            '\\' if quoted && chars.peek().is_some() => value.extend(chars.next()),
            ',' if !quoted => {
                push(&mut value, trim);
                trim = false;
            }
            _ if quoted || (!value.is_empty() && trim) || !char.is_whitespace() => value.push(char),
            _ => {}
        }
    }
    push(&mut value, trim);
    values
}

#[cfg(test)]
mod tests {
    use weir_wire::Fields;

    use super::header_values;

    fn check(line: &str, split: bool, expected: &[&str]) {
        let mut fields = Fields::default();
        fields.append(b"X", line.as_bytes());
        let mut values = Vec::new();
        header_values(&fields, "x", split, |value| {
            values.push(value.to_owned());
            false
        });
        assert_eq!(values, expected, "{line}");
    }

    #[test]
    fn lines_are_split_as_spring_splits_them() {
        check("a b", true, &["a b"]);
        check("a b, c d", true, &["a b", "cd"]);
        check("\"a, b\"", true, &["a, b"]);
        check("\"a\" , b", true, &["a", "b"]);
        check("x\"y, z", true, &["x\"y", "z"]);
        check("\"a\\\"b\"", true, &["a\"b"]);
        check(", ,", true, &[]);
        check("", true, &[]);
    }

    #[test]
    fn lines_stay_whole_for_older_lines_of_scg() {
        check("a b, c d", false, &["a b, c d"]);
        check("", false, &[""]);
    }
}
