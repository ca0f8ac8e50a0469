//! CircuitBreaker: stops calls of an upstream that fails too often, and can forward to a fallback.

use std::fmt;
use std::sync::Arc;

use weir_limit::{Breaker, BreakerSettings};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec, Vars};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::path::PathTemplate;
use crate::same::Same;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "CircuitBreaker",
    doc: r#"Answers 503 at once, for a while, when an upstream fails too often. A response that
takes longer than the time limit of 1 second becomes 504. With `fallbackUri`, the request goes to the
route that matches that path instead. `resilience4j.circuitbreaker.*` sets the thresholds,
`resilience4j.timelimiter.*` the time limit, both by the name of the breaker; by default that is the
id of the route. Routes that name the same breaker share it. `weir reference FallbackHeaders` shows
how the fallback route gets the cause.

```yaml
filters:
- name: CircuitBreaker
  args:
    name: orders
    fallbackUri: forward:/orders-away
    statusCodes: 500, BAD_GATEWAY
```
```http request
GET /orders HTTP/1.1
```
```http sent
GET /orders HTTP/1.1
```"#,
    args: &[
        optional("name", ArgKind::Text, None, "Name of the breaker; the route's id if left out."),
        optional("fallbackUri", ArgKind::Template, None, "`forward:/path`, with `{variable}`s."),
        optional("statusCodes", ArgKind::List, None, "Statuses that count as failures."),
        optional(
            "resumeWithoutError",
            ArgKind::Bool,
            Some("false"),
            "Without a fallback: a failure is answered with an empty 200, a status that counts as \
             one passes.",
        ),
    ],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Differs(
        "it is always outside of Retry, wherever both are listed; calls that began before the \
         breaker changed its state do not count for the new one; what filters behind it set in the \
         response is not in that of a fallback",
    ),
    build,
};

/// Stops calls of an upstream that fails too often.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CircuitBreaker(Arc<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inner {
    /// Name; empty until the filter is bound to a route, whose id is the default.
    name: String,
    is_routes_own: bool,
    fallback: Option<PathTemplate>,
    statuses: Vec<u16>,
    resumes: bool,
    breaker: Same<Arc<Breaker>>,
}

impl CircuitBreaker {
    /// The breaker.
    pub fn breaker(&self) -> &Arc<Breaker> {
        &self.0.breaker.0
    }

    /// Whether a response with this status counts as a failure.
    pub fn is_failure(&self, status: u16) -> bool {
        self.0.statuses.contains(&status)
    }

    /// Whether failures are swallowed if there is no fallback.
    pub fn resumes(&self) -> bool {
        self.0.resumes
    }

    /// Whether failed requests are forwarded to a fallback.
    pub fn has_fallback(&self) -> bool {
        self.0.fallback.is_some()
    }

    /// The path of the fallback, unless it depends on the request.
    pub fn fallback_path(&self) -> Option<&str> {
        let template = self.0.fallback.as_ref()?;
        template.variables().is_empty().then(|| template.text())
    }

    /// The path to which a request is forwarded after a failure.
    ///
    /// # Errors
    /// A variable that is not set.
    pub fn fallback(&self, vars: &Vars) -> Result<Option<String>, FilterError> {
        let Some(template) = &self.0.fallback else { return Ok(None) };
        let mut path = String::new();
        template.expand(vars, |text| path.push_str(text))?;
        Ok(Some(path))
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let name = args.text("name").map(str::trim).unwrap_or_default().to_owned();
    let fallback = args.text("fallbackUri").map(str::trim).filter(|text| !text.is_empty());
    let fallback = match fallback {
        None => None,
        Some(text) => {
            let path = text.strip_prefix("forward:").map(|path| path.trim_start_matches("//"));
            let path = path.filter(|path| path.starts_with('/'));
            let path = path.ok_or_else(|| {
                ArgError::new("fallbackUri", format!("`{text}` leads nowhere within the gateway"))
                    .help("write `forward:/path`, and a route that matches the path")
            })?;
            Some(PathTemplate::new(path))
        }
    };
    let statuses = args.statuses("statusCodes")?;
    let resumes = args.bool("resumeWithoutError")?.unwrap_or(false);
    let is_routes_own = name.is_empty();
    let breaker = match is_routes_own {
        true => Arc::new(Breaker::new("", BreakerSettings::default())),
        false => options.breaker(&name),
    };
    let breaker = Same(breaker);
    let inner = Inner { name, is_routes_own, fallback, statuses, resumes, breaker };
    Ok(Filter::CircuitBreaker(CircuitBreaker(Arc::new(inner))))
}

impl Behaviour for CircuitBreaker {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn bind(&mut self, route: &str, _: usize, options: &FilterOptions) {
        if self.0.is_routes_own {
            let breaker = Same(options.breaker(route));
            *self = Self(Arc::new(Inner { name: route.to_owned(), breaker, ..(*self.0).clone() }));
        }
    }

    fn is_policy(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        if self.has_fallback() && context.kept.is_none() && !context.is_asked {
            *context.kept = Some(Box::new(context.head.clone()));
        }
        Ok(Verdict::Continue)
    }

    fn variables(&self) -> Vec<&str> {
        self.0.fallback.as_ref().map(PathTemplate::variables).unwrap_or_default()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("name", &self.0.name)?;
        match &self.0.fallback {
            Some(fallback) => styled.plain("fallback", format_args!("forward:{}", fallback.text())),
            None => styled.plain("fallback", "null"),
        }
    }

    fn explain(&self) -> String {
        let inner = &*self.0;
        let name = if inner.name.is_empty() { "the route's own" } else { &inner.name };
        let mut text = format!("stops asking the upstream while the breaker `{name}` is open");
        if let Some(fallback) = &inner.fallback {
            text += &format!(", and goes on at `{}` after a failure", fallback.text());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused};

    #[test]
    fn it_is_written_as_in_scg_and_refuses_other_uris() {
        let shown = |text| TestExchange::new(text).chain.entries()[0].filter.to_string();
        let plain = shown("- CircuitBreaker=b");
        assert_eq!(plain, "[CircuitBreaker name = 'b', fallback = null]");
        let args = "  args:\n    name: b\n    fallbackUri: forward:/x";
        let long = &format!("- name: CircuitBreaker\n{args}");
        assert_eq!(shown(long), "[CircuitBreaker name = 'b', fallback = forward:/x]");
        let wrong = "name: CircuitBreaker\n  args:\n    fallbackUri: http://h/";
        check_refused(wrong, "fallbackUri");
    }
}
