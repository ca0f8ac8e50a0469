//! MockFallback: answers from an API definition what the upstream does not implement yet.

use std::fmt;
use std::sync::Arc;

use weir_mock::MockSource;
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::RequestHead;

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::attempt::Outcome;
use crate::definition::{Definition, call};
use crate::styled::Styled;

const UNREACHABLE: &str = "unreachable";

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "MockFallback",
    doc: r#"Answers from a definition of `weir.mock.apis`, or from those of the store (`store`,
`store/NAME`), what the upstream does not have yet: where its status is one of `causes`, or, for
`unreachable`, where its name does not resolve, no instance of it is known, its connection is refused,
or a CircuitBreaker of the route is open. This is done only if the definition has the operation; else
the client gets what the upstream said. `Weir-Mock-Fallback` in the answer tells the cause, `Weir-Mock`
where the answer is from. Retries go first, and so does a `fallbackUri` of CircuitBreaker. The body of
a request is kept meanwhile, up to `spring.http.codecs.max-in-memory-size`; a request with a longer
one is not mocked, and neither is an upgrade. A filter of weir's own.

```yaml
filters:
- MockFallback=petstore
```
```http request
GET /pets HTTP/1.1
```
```http sent
GET /pets HTTP/1.1
```"#,
    args: &[
        required("definition", ArgKind::Text, "Name of the definition, as in `mock://NAME`."),
        optional(
            "causes",
            ArgKind::List,
            Some("404, 501, unreachable"),
            "When it answers: statuses from 400 on, and `unreachable`.",
        ),
    ],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Own,
    build,
};

/// Answers from an API definition what the upstream does not implement yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MockFallback(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    definition: Definition,
    statuses: Vec<u16>,
    is_for_unreachable: bool,
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let (mut statuses, mut is_for_unreachable) = (Vec::new(), false);
    for text in args.list("causes") {
        if text.eq_ignore_ascii_case(UNREACHABLE) {
            is_for_unreachable = true;
            continue;
        }
        let status = text.parse().ok().filter(|status| (400..=599).contains(status));
        statuses.push(status.ok_or_else(|| {
            ArgError::new("causes", format!("`{text}` is no cause for a mock"))
                .help("write statuses from 400 to 599, and `unreachable`")
        })?);
    }
    let definition = Definition::of(args, options)?;
    let inner = Inner { definition, statuses, is_for_unreachable };
    Ok(Filter::MockFallback(MockFallback(Arc::new(inner))))
}

impl MockFallback {
    /// The definition to answer from after a call that ended with `outcome`, if the fallback
    /// applies.
    pub fn source(&self, request: &RequestHead, outcome: Outcome) -> Option<&MockSource> {
        let is_meant = match outcome {
            Outcome::Status(status) => self.0.statuses.contains(&status),
            Outcome::Unresolved | Outcome::Unreached | Outcome::Open => self.0.is_for_unreachable,
            // The upstream exists, and may have acted on the request.
            Outcome::Broken | Outcome::TimedOut => false,
        };
        let source = self.0.definition.source.as_ref().filter(|_| is_meant)?;
        source.has(&call(request)).then_some(source)
    }
}

impl Behaviour for MockFallback {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_policy(&self) -> bool {
        true
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("definition", &self.0.definition.name)
    }

    fn explain(&self) -> String {
        let statuses = self.0.statuses.iter().map(u16::to_string);
        let unreachable = self.0.is_for_unreachable.then(|| UNREACHABLE.to_owned());
        let causes: Vec<String> = statuses.chain(unreachable).collect();
        format!(
            "answers from {} what the upstream does not have ({})",
            self.0.definition.name,
            causes.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused};

    #[test]
    fn its_causes_are_checked() {
        let text =
            "- name: MockFallback\n  args:\n    definition: pets\n    causes: 503,unreachable";
        let explained = TestExchange::new(text).chain.entries()[0].filter.explain();
        assert!(explained.ends_with("(503, unreachable)"), "{explained}");
        for wrong in ["200", "gone"] {
            let written =
                format!("name: MockFallback\n  args:\n    definition: p\n    causes: {wrong}");
            check_refused(&written, "causes");
        }
    }
}
