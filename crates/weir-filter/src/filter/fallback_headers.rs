//! FallbackHeaders: adds the cause of the failure to a fallback request.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::attempt::Failure;
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::HeaderName;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "FallbackHeaders",
    doc: r#"On a route that is the fallback of a CircuitBreaker: adds headers to the request that
tell what failed, by the Java classes and messages that Spring Cloud Gateway would have. Other
requests are left as they are.

```yaml
filters:
- name: FallbackHeaders
  args:
    executionExceptionTypeHeaderName: X-Why
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        optional(
            "executionExceptionTypeHeaderName",
            ArgKind::Text,
            Some("Execution-Exception-Type"),
            "Header for the class.",
        ),
        optional(
            "executionExceptionMessageHeaderName",
            ArgKind::Text,
            Some("Execution-Exception-Message"),
            "Header for its message.",
        ),
        optional(
            "rootCauseExceptionTypeHeaderName",
            ArgKind::Text,
            Some("Root-Cause-Exception-Type"),
            "Header for the class of what caused it.",
        ),
        optional(
            "rootCauseExceptionMessageHeaderName",
            ArgKind::Text,
            Some("Root-Cause-Exception-Message"),
            "Header for the message of what caused it.",
        ),
    ],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Differs(
        "the classes are those that SCG has for the usual failures; there are no Java exceptions",
    ),
    build,
};

/// Adds the cause of the failure to a fallback request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FallbackHeaders(Box<[HeaderName; 4]>);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let name = |name: &str| HeaderName::writable(name, args.filled(name)?);
    Ok(Filter::FallbackHeaders(FallbackHeaders(Box::new([
        name("executionExceptionTypeHeaderName")?,
        name("executionExceptionMessageHeaderName")?,
        name("rootCauseExceptionTypeHeaderName")?,
        name("rootCauseExceptionMessageHeaderName")?,
    ]))))
}

impl FallbackHeaders {
    fn add(&self, failure: &Failure, context: &mut RequestContext<'_>) {
        let values = [failure.class, &failure.message, failure.root_class, &failure.root_message];
        for (name, value) in self.0.iter().zip(values) {
            context.head.fields.append(name.as_bytes(), value.as_bytes());
        }
    }
}

impl Behaviour for FallbackHeaders {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        if let Some(failure) = context.failure {
            self.add(failure, context);
        }
        Ok(Verdict::Continue)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        for (name, header) in SPEC.args.iter().zip(self.0.iter()) {
            styled.text(name.name, &String::from_utf8_lossy(header.as_bytes()))?;
        }
        Ok(())
    }

    fn explain(&self) -> String {
        "tells the upstream why it is asked, if it is the fallback of a CircuitBreaker".to_owned()
    }
}
