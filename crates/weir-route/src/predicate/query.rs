//! `Query`: a query parameter that is present, or whose value matches an expression.

use std::borrow::Cow;
use std::fmt;

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
pub(super) static SPEC: Spec<Make<Query>> = Spec {
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

/// A query parameter that is present, or has a matching value.
#[derive(Debug)]
pub struct Query(NamedValue);

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Query, ArgError> {
    Ok(Query(NamedValue::bind(args, "param", context.regexes())?))
}

impl Query {
    /// Name of the parameter, decoded.
    pub fn param(&self) -> &str {
        self.0.name()
    }

    /// Pattern that a value must match; `None` if presence is enough.
    pub fn regexp(&self) -> Option<ValuePattern<'_>> {
        self.0.value()
    }
}

impl Condition for Query {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        let mut values = query_octets(request.head.query(), self.param());
        let Some(regexp) = self.regexp() else { return Ok(values.next().is_some()) };
        for value in values.flatten() {
            if regexp.full_match(&value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        let found: Vec<_> = query_values(request.head.query(), self.param()).collect();
        let valueless = found.iter().any(Option::is_none);
        let values: Vec<_> = found.iter().flatten().map(|value| &**value).collect();
        let param = self.param();
        if values.is_empty() && valueless {
            return format!("parameter `{param}` has no value");
        }
        format!("parameter `{param}` is {}", quoted_list(values.into_iter()))
    }

    fn key(&self) -> Option<Key<'_>> {
        let value = self.regexp().and_then(ValuePattern::literal)?;
        Some(Key::Query { name: self.param(), value })
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query: param={} regexp={}", self.param(), self.0.source())
    }
}

/// The decoded values of every parameter called `param`, in order; `None` for one without `=`.
///
/// As Spring's `AbstractServerHttpRequest.initQueryParams`: parameters are separated by `&`, and
/// `=` before a name is skipped (`?=v` is `?v`).
pub fn query_values<'a>(
    query: Option<&'a [u8]>,
    param: &'a str,
) -> impl Iterator<Item = Option<Cow<'a, str>>> {
    let text = |octets| match octets {
        Cow::Borrowed(octets) => String::from_utf8_lossy(octets),
        Cow::Owned(octets) => Cow::Owned(String::from_utf8_lossy(&octets).into_owned()),
    };
    query_octets(query, param).map(move |value| value.map(text))
}

/// [`query_values`] as UTF-8 bytes.
pub(crate) fn query_octets<'a>(
    query: Option<&'a [u8]>,
    param: &'a str,
) -> impl Iterator<Item = Option<Cow<'a, [u8]>>> {
    let query = query.unwrap_or_default();
    let encoded = is_encoded(query);
    query.split(|byte| *byte == b'&').filter_map(move |pair| {
        if !encoded {
            return plain_value(pair, param).map(|value| value.map(Cow::Borrowed));
        }
        let (name, value) = cut(pair)?;
        (decode(name) == param).then(|| value.map(|value| into_octets(decode(value))))
    })
}

/// The value of an unencoded pair, if its name is `param`.
#[inline]
fn plain_value<'a>(pair: &'a [u8], param: &str) -> Option<Option<&'a [u8]>> {
    let after = unskipped(pair).strip_prefix(param.as_bytes())?;
    // A name cannot contain `=`: the first one ends it.
    match after.split_first() {
        _ if param.is_empty() || param.contains('=') => None,
        None => Some(None),
        Some((b'=', value)) => Some(Some(value)),
        Some(_) => None,
    }
}

/// A pair from the start of its name.
fn unskipped(mut pair: &[u8]) -> &[u8] {
    while let [b'=', rest @ ..] = pair {
        pair = rest;
    }
    pair
}

/// Name and value of a pair; `None` for one without a name.
fn cut(pair: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let pair = unskipped(pair);
    Some(match memchr::memchr(b'=', pair) {
        Some(at) => (pair.get(..at)?, pair.get(at + 1..)),
        None if pair.is_empty() => return None,
        None => (pair, None),
    })
}

fn into_octets(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Every parameter, decoded: its name and, if it has a `=`, its value.
pub(crate) fn query_parameters(
    query: Option<&[u8]>,
) -> impl Iterator<Item = (Cow<'_, str>, Option<Cow<'_, str>>)> {
    let pairs = query.unwrap_or_default().split(|byte| *byte == b'&').filter_map(cut);
    pairs.map(|(name, value)| (decode(name), value.map(decode)))
}

/// Whether a text must be decoded, or may not be valid UTF-8.
fn is_encoded(raw: &[u8]) -> bool {
    // Without an early exit, which hardly any text would take.
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
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    use super::{query_parameters, query_values};

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
        check("=&a=b=c", "", &[]);
        check("a=b=c", "a=b", &[]);
        check("a%3Db=c&ab=d", "a=b", &[Some("c")]);
        check("ab=1&a=2", "a", &[Some("2")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// Values found by raw comparison equal those found after decoding.
        #[test]
        fn the_values_of_a_name_are_those_among_all_parameters(
            query in "([ab=&]|%61|%3D|%2|\\+|é){0,10}",
            param in "[ab= ]{0,2}|é",
        ) {
            let query = Some(query.as_bytes());
            let all = query_parameters(query).filter(|(name, _)| *name == param);
            let expected: Vec<_> = all.map(|(_, value)| value).collect();
            let found: Vec<_> = query_values(query, &param).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
