//! ValidateResponse: validates the responses of an upstream against an API definition.

use std::fmt;
use std::sync::Arc;

use weir_mock::{Content, Given, ResponseValidity};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::{RequestHead, ResponseHead};

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::definition::{Definition, call};
use crate::local_response::LocalResponse;
use crate::styled::Styled;

const MODES: &[&str] = &["enforce", "report"];

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "ValidateResponse",
    doc: r#"Compares what the upstream answers with a definition of `weir.mock.apis`, or with those
of the store (`store`, `store/NAME`): status, media type, headers, and bodies of JSON, XML and texts,
decoded from gzip, deflate and br. A wrong response is answered with 502 and a problem document that
names each place; an error whose status is not declared is passed on. With `report`, all is passed
on, counted in `weir_filter_comparisons_total`, and a warning is logged, one a second at most. The
operation is that of the request as the upstream gets it; responses to others are not compared. A
response is kept until its body has been compared. A body longer than
`spring.http.codecs.max-in-memory-size` or in another coding is passed on and counted as `unread`.
Streams of events, upgrades, and the statuses 206 and 304 are left alone. A filter of weir's own.

```yaml
filters:
- ValidateResponse=petstore
```
```http request
GET /pets?limit=10 HTTP/1.1
```
```http sent
GET /pets?limit=10 HTTP/1.1
```"#,
    args: &[
        required("definition", ArgKind::Text, "Name of the definition, as in `mock://NAME`."),
        optional("mode", ArgKind::OneOf(MODES), Some("enforce"), "Refuse, or only tell."),
    ],
    shortcut: Shortcut::Positions(2),
    compatibility: Compatibility::Own,
    build,
};

/// Validates the responses of an upstream against an API definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValidateResponse(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    definition: Definition,
    is_enforced: bool,
}

/// Result of validating a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The response is valid.
    Sound,
    /// The definition does not have the operation.
    Unknown,
    /// The response can be validated only with its content.
    NeedsContent,
    /// The response is invalid.
    Wrong {
        /// The operation and all violations, for the log.
        told: String,
        /// The response to send instead, if the invalid one is not passed on.
        refusal: Option<Box<LocalResponse>>,
    },
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let definition = Definition::of(args, options)?;
    let is_enforced = args.text("mode").is_none_or(|mode| mode != "report");
    Ok(Filter::ValidateResponse(ValidateResponse(Arc::new(Inner { definition, is_enforced }))))
}

impl ValidateResponse {
    /// Validates the response to a request; both as exchanged between gateway and upstream.
    pub fn compare(
        &self,
        request: &RequestHead,
        response: &ResponseHead,
        content: Content<'_>,
    ) -> Comparison {
        let Some(source) = &self.0.definition.source else { return Comparison::Unknown };
        let given = Given { status: response.status, fields: &response.fields, content };
        match source.response_validity(&call(request), &given) {
            ResponseValidity::Sound => Comparison::Sound,
            ResponseValidity::Unknown => Comparison::Unknown,
            ResponseValidity::NeedsContent => Comparison::NeedsContent,
            ResponseValidity::Wrong(wrong) => {
                let is_refused = self.0.is_enforced && !wrong.is_undeclared_error;
                let refusal = is_refused.then(|| {
                    let media_type = b"application/problem+json".to_vec();
                    Box::new(LocalResponse {
                        status: 502,
                        fields: vec![("Content-Type".to_owned(), media_type)],
                        body: wrong.document().to_string().into_bytes(),
                    })
                });
                let told = format!("{}: {}", wrong.operation, wrong.violations);
                Comparison::Wrong { told, refusal }
            }
        }
    }
}

impl Behaviour for ValidateResponse {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn takes_response(&self) -> bool {
        true
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("definition", &self.0.definition.name)?;
        styled.text("mode", if self.0.is_enforced { "enforce" } else { "report" })
    }

    fn explain(&self) -> String {
        let what = if self.0.is_enforced { "refuses" } else { "tells of" };
        format!("{what} responses that are not as {} has them", self.0.definition.name)
    }
}
