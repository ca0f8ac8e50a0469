//! RewriteResponseHeader: rewrites a response header by a regular expression.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, required};
use crate::context::{FilterError, ResponseContext};
use crate::header::{HeaderName, check_sendable};
use crate::styled::Styled;
use crate::substitution::Substitution;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RewriteResponseHeader",
    doc: r#"Replaces every match of a Java regular expression in the values of a response header.

In the replacement `$1` and `${name}` stand for groups; write `$\{name}` in configuration files.

```yaml
filters:
- RewriteResponseHeader=X-Url, password=[^&]+, password=***
```
```http request
GET / HTTP/1.1
```
```http answer
HTTP/1.1 200 OK
X-Url: /42?user=ford&password=omg!what&flag=true
```
```http response
HTTP/1.1 200 OK
X-Url: /42?user=ford&password=***&flag=true
```"#,
    args: &[
        required("name", ArgKind::Text, "Name of the header."),
        required("regexp", ArgKind::Regex, "Java regular expression."),
        required("replacement", ArgKind::Text, "What to put in place of a match."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "an invalid expression is refused at start, one that needs too many steps fails; the \
         header keeps its place, where SCG puts it last",
    ),
    build,
};

/// Rewrites a response header by a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RewriteResponseHeader(Box<Rewrite>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rewrite {
    name: HeaderName,
    substitution: Substitution,
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let name = HeaderName::writable("name", args.required("name")?)?;
    let substitution = Substitution::new(args, &options.regexes)?;
    let rewrite = Box::new(Rewrite { name, substitution });
    Ok(Filter::RewriteResponseHeader(RewriteResponseHeader(rewrite)))
}

impl Behaviour for RewriteResponseHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn caution(&self) -> Option<String> {
        self.0.substitution.caution()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let Rewrite { name, substitution } = &*self.0;
        styled.text("name", name.as_str())?;
        styled.text("regexp", substitution.regexp())?;
        styled.text("replacement", substitution.replacement())
    }

    fn explain(&self) -> String {
        let Rewrite { name, substitution } = &*self.0;
        let (regexp, replacement) = (substitution.regexp(), substitution.replacement());
        format!("replaces `{regexp}` in the response header `{name}` by `{replacement}`")
    }
}

impl OnResponse for RewriteResponseHeader {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        let mut failed = None;
        context.head.fields.rewrite(|name, value| {
            if failed.is_some() || !name.eq_ignore_ascii_case(self.0.name.as_bytes()) {
                return None;
            }
            match self.0.rewrite(value) {
                Ok(value) => value,
                Err(error) => {
                    failed = Some(error);
                    None
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }
}

impl Rewrite {
    /// The new value, or `None` if it did not change.
    fn rewrite(&self, value: &[u8]) -> Result<Option<Vec<u8>>, FilterError> {
        let new = match std::str::from_utf8(value) {
            Ok(text) => self.substitution.apply(text)?.into_bytes(),
            Err(_) => {
                // A value that is not UTF-8 is read and written as Latin-1, as in Java.
                let latin1: String = value.iter().map(|&byte| char::from(byte)).collect();
                let new = self.substitution.apply(&latin1)?;
                to_latin1(&new).unwrap_or_else(|| new.into_bytes())
            }
        };
        check_sendable(&new)?;
        Ok((new != value).then_some(new))
    }
}

fn to_latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{check_refused, check_response};

    fn check(args: &str, values: &str, expected: &str) {
        let lines = |values: &str| {
            let lines = values.split('|').map(|value| format!("\nX-A: {value}"));
            format!("HTTP/1.1 200 OK{}", lines.collect::<String>())
        };
        let route = format!("- RewriteResponseHeader=x-a, {args}");
        check_response(&route, "GET / HTTP/1.1", &lines(values), &lines(expected));
    }

    #[test]
    fn every_match_in_every_value() {
        let hide = "password=[^&]+, password=***";
        check(
            hide,
            "password=1&password=2|none|password=3",
            "password=***&password=***|none|password=***",
        );
        check(r"(\w)=(\w), $2-$1", "a=b c=d", "b-a d-c");
        check("é, e", "café", "cafe");
    }

    #[test]
    fn bad_arguments_are_refused() {
        check_refused("RewriteResponseHeader=x-a, (, b", "regexp");
        check_refused("RewriteResponseHeader=x a, b, c", "name");
        check_refused("RewriteResponseHeader=content-length, b, c", "name");
    }

    #[test]
    fn latin_1_stays_latin_1() {
        assert_eq!(super::to_latin1("caf\u{e9}").as_deref(), Some(&b"caf\xe9"[..]));
        assert_eq!(super::to_latin1("\u{20ac}"), None);
    }
}
