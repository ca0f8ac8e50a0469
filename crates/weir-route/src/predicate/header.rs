//! `Header`: a header that is there, or whose value matches an expression.

use std::borrow::Cow;
use std::fmt;

use weir_wire::Fields;

use super::{Build, BuildContext, Predicate, PredicateError, quoted_list};
use crate::args::{ArgError, Args};
use crate::pattern::JavaRegex;
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub static SPEC: Spec<Build> = Spec {
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

/// A header that is there, or has a matching value.
#[derive(Debug)]
pub struct Header {
    name: Box<str>,
    regexp: Option<JavaRegex>,
    split: bool,
}

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Predicate, ArgError> {
    Ok(Predicate::Header(Box::new(Header {
        name: args.filled("header")?.into(),
        regexp: args.regex("regexp", context.regexes())?,
        split: context.options.split_header_values,
    })))
}

impl Header {
    /// Name of the header.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a value must match, if more than presence is asked for.
    pub fn regexp(&self) -> Option<&JavaRegex> {
        self.regexp.as_ref()
    }

    /// Whether lines are split into values at commas.
    pub fn splits(&self) -> bool {
        self.split
    }

    pub(super) fn matches(&self, request: &Request<'_>) -> Result<bool, PredicateError> {
        let fields = &request.head.fields;
        let Some(regexp) = &self.regexp else {
            return Ok(has_header_value(fields, &self.name, self.split));
        };
        let mut found = Ok(false);
        header_values(fields, &self.name, self.split, |value| {
            found = regexp.full_match(value);
            found != Ok(false)
        });
        Ok(found?)
    }

    pub(super) fn subject(&self, request: &Request<'_>) -> String {
        let mut values = Vec::new();
        header_values(&request.head.fields, &self.name, self.split, |value| {
            values.push(value.to_owned());
            false
        });
        format!("header `{}` is {}", self.name, quoted_list(values.iter().map(String::as_str)))
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let regexp = self.regexp.as_ref().map_or("null", JavaRegex::source);
        write!(f, "Header: {} regexp={regexp}", self.name)
    }
}

/// Whether header `name` has a value at all.
pub(super) fn has_header_value(fields: &Fields, name: &str, split: bool) -> bool {
    header_values(fields, name, split, |_| true)
}

/// Hands each value of header `name` to `visit` until that returns `true`; tells whether it did.
///
/// With `split`, lines are cut at commas as by Spring's `HttpHeaders.getValuesAsList`: quotes are
/// resolved, blanks behind the first comma dropped, empty values left out. Bytes above 127 are read
/// as Latin-1, as Netty reads them.
pub fn header_values(
    fields: &Fields,
    name: &str,
    split: bool,
    mut visit: impl FnMut(&str) -> bool,
) -> bool {
    fields.get_all(name.as_bytes()).any(|line| header_line_values(line, split, &mut visit))
}

/// [`header_values`] of one line.
pub(crate) fn header_line_values(
    line: &[u8],
    split: bool,
    visit: &mut impl FnMut(&str) -> bool,
) -> bool {
    let text = latin1(line);
    if !split {
        visit(&text)
    } else if memchr::memchr2(b',', b'"', text.as_bytes()).is_none() {
        let value = text.trim_matches(|c: char| c <= ' ');
        !value.is_empty() && visit(value)
    } else {
        split_values(&text).iter().any(|value| visit(value))
    }
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// Spring's `HttpHeaders.tokenizeQuoted`, line for line in effect.
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
