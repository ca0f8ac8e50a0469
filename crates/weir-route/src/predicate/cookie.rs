//! `Cookie`: a cookie whose value matches an expression.

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
pub(super) static SPEC: Spec<Make<Cookie>> = Spec {
    name: "Cookie",
    doc: "Matches requests with a cookie of the given name, any of whose values matches the \
expression from its first to its last character. Cookies that RFC 6265 does not allow are passed \
over: blanks, commas, quotes or non-ASCII characters in the value, or no `=`.

```example
Cookie=chocolate, ch.p
+ GET / | Cookie: milk=1; chocolate=chip
- GET / | Cookie: chocolate=chips
- GET / | Cookie: Chocolate=chip
```",
    args: &[
        ArgSpec {
            name: "name",
            kind: ArgKind::Text,
            default: None,
            required: true,
            doc: "Name of the cookie; case matters.",
        },
        ArgSpec {
            name: "regexp",
            kind: ArgKind::Regex,
            default: None,
            required: true,
            doc: "Java regular expression for the whole value.",
        },
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// A cookie whose value matches.
#[derive(Debug)]
pub struct Cookie(NamedValue);

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Cookie, ArgError> {
    let named = NamedValue::bind(args, "name", context.regexes())?;
    args.filled("regexp")?;
    Ok(Cookie(named))
}

impl Cookie {
    /// Name of the cookie.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Pattern that its value must match.
    pub fn regexp(&self) -> Option<ValuePattern<'_>> {
        self.0.value()
    }
}

impl Condition for Cookie {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        let Some(regexp) = self.regexp() else { return Ok(false) };
        for value in cookie_octets(&request.head.fields, self.name()) {
            if regexp.full_match(value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        let values = cookie_values(&request.head.fields, self.name());
        format!("cookie `{}` is {}", self.name(), quoted_list(values))
    }

    fn key(&self) -> Option<Key<'_>> {
        let value = self.regexp().and_then(ValuePattern::literal)?;
        Some(Key::Cookie { name: self.name(), value })
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie: name={} regexp={}", self.name(), self.0.source())
    }
}

/// The values of every cookie with the name `name`, in order, as Netty's strict decoder reads them:
/// without quotes; malformed cookies are skipped.
pub fn cookie_values<'a>(fields: &'a Fields, name: &'a str) -> impl Iterator<Item = &'a str> {
    cookie_octets(fields, name).filter_map(|value| std::str::from_utf8(value).ok())
}

/// [`cookie_values`] as bytes, all ASCII.
pub(crate) fn cookie_octets<'a>(
    fields: &'a Fields,
    name: &'a str,
) -> impl Iterator<Item = &'a [u8]> {
    pairs(fields).filter_map(move |pair| {
        let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        // A name cannot contain `=`: the first one ends it.
        if name.contains('=') { None } else { cookie_value(value) }
    })
}

/// Every well-formed cookie: name and value, as [`cookie_values`] reads them.
pub(crate) fn cookies(fields: &Fields) -> impl Iterator<Item = (&str, &str)> {
    pairs(fields).filter_map(|pair| {
        let (name, value) = pair.split_at_checked(memchr::memchr(b'=', pair)?)?;
        let value = cookie_value(value.get(1..)?)?;
        Some((std::str::from_utf8(name).ok()?, std::str::from_utf8(value).ok()?))
    })
}

/// The texts between semicolons, without leading blanks.
fn pairs(fields: &Fields) -> impl Iterator<Item = &[u8]> {
    let blank = |byte: &u8| matches!(byte, b'\t' | b' ' | b',' | 0x0b | 0x0c);
    let mut lines = fields.get_all(b"cookie");
    let mut rest: &[u8] = &[];
    std::iter::from_fn(move || {
        loop {
            let Some(start) = rest.iter().position(|byte| !blank(byte)) else {
                rest = lines.next()?;
                continue;
            };
            let pair = rest.get(start..)?;
            let end = memchr::memchr(b';', pair).unwrap_or(pair.len());
            rest = pair.get(end + 1..).unwrap_or_default();
            if end > 0 {
                return pair.get(..end);
            }
        }
    })
}

/// A value without its quotes, if it is well-formed.
fn cookie_value(value: &[u8]) -> Option<&[u8]> {
    let value = match value.strip_prefix(b"\"") {
        Some([]) | None => value,
        Some(quoted) => quoted.strip_suffix(b"\"")?,
    };
    // Without an early exit, which hardly any value would take.
    let well_formed = value.iter().fold(true, |all, byte| all & is_cookie_octet(*byte));
    well_formed.then_some(value)
}

/// RFC 6265 `cookie-octet`.
fn is_cookie_octet(byte: u8) -> bool {
    (0x21..=0x7e).contains(&byte) & !matches!(byte, b'"' | b',' | b';' | b'\\')
}

#[cfg(test)]
mod tests {
    use weir_wire::Fields;

    use super::cookie_values;

    fn check(lines: &[&str], name: &str, expected: &[&str]) {
        let mut fields = Fields::default();
        for line in lines {
            fields.append(b"Cookie", line.as_bytes());
        }
        assert_eq!(cookie_values(&fields, name).collect::<Vec<_>>(), expected, "{lines:?}");
    }

    #[test]
    fn cookies_are_read_as_netty_reads_them() {
        check(&["a=1; b=2;a=3"], "a", &["1", "3"]);
        check(&["a=1", "a=2"], "a", &["1", "2"]);
        check(&["a=\"1\"; b=2"], "a", &["1"]);
        check(&["a=\"1; b=2"], "a", &[]);
        check(&["a=; b"], "a", &[""]);
        check(&["b"], "b", &[]);
        check(&["a=x y; a=x,y; a=z=1"], "a", &["z=1"]);
        check(&[",; a=1"], "a", &["1"]);
        check(&["a =1"], "a", &[]);
    }
}
