//! DedupeResponseHeader: removes duplicates of a response header.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::Fields;

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, optional, required};
use crate::context::{FilterError, ResponseContext};
use crate::header::HeaderName;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "DedupeResponseHeader",
    doc: r#"Leaves one of several response headers of the same name: useful when both the gateway
and the upstream add CORS headers. Looks at whole header lines, never inside one.

```yaml
filters:
- DedupeResponseHeader=Access-Control-Allow-Origin Vary, RETAIN_UNIQUE
```
```http request
GET / HTTP/1.1
```
```http answer
HTTP/1.1 200 OK
Access-Control-Allow-Origin: *
Vary: Origin
Access-Control-Allow-Origin: *
vary: Accept
```
```http response
HTTP/1.1 200 OK
Access-Control-Allow-Origin: *
Vary: Origin
vary: Accept
```"#,
    args: &[
        required("name", ArgKind::Text, "Names of headers, separated by blanks."),
        optional(
            "strategy",
            ArgKind::OneOf(Strategy::NAMES),
            Some("RETAIN_FIRST"),
            "Which one stays; RETAIN_UNIQUE keeps one of each value.",
        ),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Removes duplicates of a response header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DedupeResponseHeader(Box<Rule>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rule {
    written: Box<str>,
    names: Box<[HeaderName]>,
    strategy: Strategy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Strategy {
    First,
    Last,
    Unique,
}

impl Strategy {
    const NAMES: &[&str] = &["RETAIN_FIRST", "RETAIN_LAST", "RETAIN_UNIQUE"];

    fn name(self) -> &'static str {
        match self {
            Self::First => "RETAIN_FIRST",
            Self::Last => "RETAIN_LAST",
            Self::Unique => "RETAIN_UNIQUE",
        }
    }
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let written = args.required("name")?;
    let names = written.split_ascii_whitespace().map(|name| HeaderName::new("name", name));
    let names = names.collect::<Result<Box<[_]>, _>>()?;
    if names.is_empty() {
        return Err(ArgError::new("name", "no header is named").help("name at least one header"));
    }
    let strategy = match args.one_of("strategy")? {
        Some("RETAIN_LAST") => Strategy::Last,
        Some("RETAIN_UNIQUE") => Strategy::Unique,
        _ => Strategy::First,
    };
    let rule = Rule { written: written.into(), names, strategy };
    Ok(Filter::DedupeResponseHeader(DedupeResponseHeader(Box::new(rule))))
}

impl Behaviour for DedupeResponseHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain(&self.0.written, self.0.strategy.name())
    }

    fn explain(&self) -> String {
        let which = match self.0.strategy {
            Strategy::First => "the first",
            Strategy::Last => "the last",
            Strategy::Unique => "one of each value",
        };
        format!("keeps only {which} of several response headers called `{}`", self.0.written)
    }
}

impl OnResponse for DedupeResponseHeader {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        for name in &self.0.names {
            dedupe(&mut context.head.fields, name.as_bytes(), self.0.strategy);
        }
        Ok(())
    }
}

fn dedupe(fields: &mut Fields, name: &[u8], strategy: Strategy) {
    let count = fields.get_all(name).count();
    if count < 2 {
        return;
    }
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let mut at = 0;
    fields.retain(|field, value| {
        if !field.eq_ignore_ascii_case(name) {
            return true;
        }
        at += 1;
        match strategy {
            Strategy::First => at == 1,
            Strategy::Last => at == count,
            Strategy::Unique => {
                let new = !seen.iter().any(|earlier| earlier == value);
                if new {
                    seen.push(value.to_vec());
                }
                new
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused, check_response};

    fn check(args: &str, answer: &str, expected: &str) {
        let head = "HTTP/1.1 200 OK\n";
        let route = format!("- DedupeResponseHeader={args}");
        let (answer, expected) = (format!("{head}{answer}"), format!("{head}{expected}"));
        check_response(&route, "GET / HTTP/1.1", &answer, &expected);
    }

    #[test]
    fn strategies() {
        check("X-A X-B", "X-A: 1\nX-A: 2\nX-B: 3\nX-B: 3", "X-A: 1\nX-B: 3");
        check("X-A, RETAIN_LAST", "X-A: 1\nx-a: 2\nX-B: 3", "x-a: 2\nX-B: 3");
        check("X-A, retain-last", "X-A: 1\nX-A: 2", "X-A: 2");
        check("X-A, RETAIN_UNIQUE", "X-A: 2\nX-A: 1\nX-A: 2", "X-A: 2\nX-A: 1");
        check("X-A", "X-A: 1, 2", "X-A: 1, 2");
    }

    #[test]
    fn bad_arguments_are_refused() {
        check_refused("DedupeResponseHeader=X-A, RETAIN", "strategy");
        check_refused("DedupeResponseHeader=X-A:, RETAIN_FIRST", "name");
        let text = TestExchange::new("- DedupeResponseHeader=A B").chain.entries()[0].to_string();
        assert_eq!(text, "[[DedupeResponseHeader A B = RETAIN_FIRST], order = 1]");
    }
}
