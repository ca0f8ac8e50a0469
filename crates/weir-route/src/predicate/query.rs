//! `Query`: a query parameter that is there, or whose value matches an expression.

use std::borrow::Cow;
use std::fmt;

use super::named_value::{NamedValue, ValuePattern};
use super::{Build, BuildContext, Predicate, PredicateError, quoted_list};
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub static SPEC: Spec<Build> = Spec {
    name: "Query",
    doc: "Matches requests that have a query parameter, or, with an expression, one any of whose \
values matches it from its first to its last character. Names and values are compared \
percent-decoded, `+` as a blank. `?foo` has no value, which matches no expression; `?foo=` has an \
empty one.

```example
Query=color, gr.*n
+ GET /?color=green
+ GET /?color=red&color=gr%65en
- GET /?color=greens
- GET /?color
```",
    args: &[
        ArgSpec {
            name: "param",
            kind: ArgKind::Text,
            default: None,
            required: true,
            doc: "Name of the parameter; case matters.",
        },
        ArgSpec {
            name: "regexp",
            kind: ArgKind::Regex,
            default: None,
            required: false,
            doc: "Java regular expression for the whole value; without it the parameter has to be \
                  there.",
        },
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// A query parameter that is there, or has a matching value.
#[derive(Debug)]
pub struct Query(NamedValue);

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Predicate, ArgError> {
    Ok(Predicate::Query(Query(NamedValue::bind(args, "param", context.regexes())?)))
}

impl Query {
    /// Name of the parameter, decoded.
    pub fn param(&self) -> &str {
        self.0.name()
    }

    /// What a value must match, if more than presence is asked for.
    pub fn regexp(&self) -> Option<ValuePattern<'_>> {
        self.0.value()
    }

    pub(super) fn matches(&self, request: &Request<'_>) -> Result<bool, PredicateError> {
        let mut values = query_values(request.head.query(), self.param());
        let Some(regexp) = self.regexp() else { return Ok(values.next().is_some()) };
        for value in values.flatten() {
            if regexp.full_match(value.as_bytes())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn subject(&self, request: &Request<'_>) -> String {
        let found: Vec<_> = query_values(request.head.query(), self.param()).collect();
        let valueless = found.iter().any(Option::is_none);
        let values: Vec<_> = found.iter().flatten().map(|value| &**value).collect();
        let param = self.param();
        if values.is_empty() && valueless {
            return format!("parameter `{param}` has no value");
        }
        format!("parameter `{param}` is {}", quoted_list(values.into_iter()))
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query: param={} regexp={}", self.param(), self.0.source())
    }
}

/// The decoded values of every parameter called `param`, in order; `None` for one without `=`.
///
/// As Spring's `AbstractServerHttpRequest.initQueryParams`: parameters are separated by `&`, `=`
/// before a name is skipped (`?=v` is `?v`).
pub fn query_values<'a>(
    query: Option<&'a [u8]>,
    param: &'a str,
) -> impl Iterator<Item = Option<Cow<'a, str>>> {
    query_pairs(query)
        .filter(move |(name, _)| is_named(name, param))
        .map(|(_, value)| value.map(decode))
}

/// Every parameter, decoded: its name and, if it has a `=`, its value.
pub(crate) fn query_parameters(
    query: Option<&[u8]>,
) -> impl Iterator<Item = (Cow<'_, str>, Option<Cow<'_, str>>)> {
    query_pairs(query).map(|(name, value)| (decode(name), value.map(decode)))
}

fn query_pairs(query: Option<&[u8]>) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    let pairs = query.unwrap_or_default().split(|byte| *byte == b'&');
    pairs.filter_map(|pair| {
        let start = pair.iter().position(|byte| *byte != b'=')?;
        let pair = pair.get(start..)?;
        Some(match memchr::memchr(b'=', pair) {
            Some(at) => (pair.get(..at)?, pair.get(at + 1..)),
            None => (pair, None),
        })
    })
}

fn is_named(raw: &[u8], param: &str) -> bool {
    if is_encoded(raw) { decode(raw) == param } else { raw == param.as_bytes() }
}

/// Whether a name or value means other bytes than its own, or may not be text as it is.
fn is_encoded(raw: &[u8]) -> bool {
    // No early exit: hardly any is.
    raw.iter().fold(false, |any, byte| any | (!byte.is_ascii() | matches!(byte, b'%' | b'+')))
}

fn decode(raw: &[u8]) -> Cow<'_, str> {
    if !is_encoded(raw)
        && let Ok(text) = std::str::from_utf8(raw)
    {
        return Cow::Borrowed(text);
    }
    let blanks: Vec<u8> = raw.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
    let mut bytes = Vec::new();
    crate::pattern::path::decode_percent(&blanks, &mut bytes);
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::query_values;

    fn check(query: &str, param: &str, expected: &[Option<&str>]) {
        let found: Vec<_> = query_values(Some(query.as_bytes()), param).collect();
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn parameters_are_read_as_spring_reads_them() {
        check("a=1&b=2&a=3", "a", &[Some("1"), Some("3")]);
        check("a", "a", &[None]);
        check("a=", "a", &[Some("")]);
        check("a==b", "a", &[Some("=b")]);
        check("=a", "a", &[None]);
        check("==a=b", "a", &[Some("b")]);
        check("&&a=1&", "a", &[Some("1")]);
        check("%61=%20+%2B", "a", &[Some("  +")]);
        check("a;b=1", "a", &[]);
        check("", "", &[]);
    }
}
