//! ValidateRequest: validates requests against an API definition.

use std::fmt;
use std::sync::Arc;

use serde_json::json;
use weir_mock::{Reply, Validity, WrongRequest};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::definition::{Definition, call};
use crate::local_response::LocalResponse;
use crate::question::{Answer, Question};
use crate::styled::Styled;

const MODES: &[&str] = &["enforce", "report"];

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "ValidateRequest",
    doc: r#"Compares a request with a definition of `weir.mock.apis`, or with those of the store
(`store`, `store/NAME`): path, method, credentials, parameters in path, query, headers and cookies,
and bodies of JSON, XML, forms and texts, decoded from gzip, deflate and br. A wrong request is
answered with a problem document that names each place: 404, 405, 401, 415 or 422; and 413 if its
body is longer than `spring.http.codecs.max-in-memory-size`. With `report` it goes on, and the
response tells what is wrong in `sl-violations`. The body is sent on as it came. The path is the one
behind the filters in front. A filter of weir's own.

```yaml
filters:
- ValidateRequest=petstore
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

/// Validates requests against an API definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValidateRequest(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    definition: Definition,
    is_enforced: bool,
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let definition = Definition::of(args, options)?;
    let is_enforced = args.text("mode").is_none_or(|mode| mode != "report");
    Ok(Filter::ValidateRequest(ValidateRequest(Arc::new(Inner { definition, is_enforced }))))
}

impl ValidateRequest {
    /// Verdict for an invalid request.
    fn wrong(&self, context: &mut RequestContext<'_>, wrong: WrongRequest) -> Verdict {
        let WrongRequest { reply, told } = wrong;
        if !self.0.is_enforced {
            context.added.append(b"sl-violations", told.as_bytes());
            return Verdict::Continue;
        }
        let answer = LocalResponse { status: reply.status, fields: reply.fields, body: reply.body };
        Verdict::Respond(Box::new(answer))
    }
}

impl Behaviour for ValidateRequest {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let Some(source) = &self.0.definition.source else { return Ok(Verdict::Continue) };
        Ok(match source.validity(&call(context.head), None) {
            Validity::Sound => Verdict::Continue,
            Validity::NeedsContent => Verdict::Ask(Box::new(Question::Content)),
            Validity::Wrong(wrong) => self.wrong(context, *wrong),
        })
    }

    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        let Some(source) = &self.0.definition.source else { return Ok(Verdict::Continue) };
        let unread = |status, why| (status, format!("the body is not compared: {why}"));
        let (status, why) = match answer {
            Answer::Content(content) => {
                return Ok(match source.validity(&call(context.head), Some(&content)) {
                    Validity::Sound | Validity::NeedsContent => Verdict::Continue,
                    Validity::Wrong(wrong) => self.wrong(context, *wrong),
                });
            }
            Answer::ContentTooLong(max) => unread(
                413,
                format!("it is longer than {max} bytes (spring.http.codecs.max-in-memory-size)"),
            ),
            Answer::Nobody(why) => unread(415, why),
            other => unread(500, format!("this is no answer: {other:?}")),
        };
        let document = json!({ "type": "about:blank", "status": status, "detail": why });
        let fields = vec![("Content-Type".to_owned(), b"application/problem+json".to_vec())];
        let body = document.to_string().into_bytes();
        let reply = Reply { status, fields, body, ..Reply::default() };
        Ok(self.wrong(context, WrongRequest { reply, told: json!([document]).to_string() }))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("definition", &self.0.definition.name)?;
        styled.text("mode", if self.0.is_enforced { "enforce" } else { "report" })
    }

    fn explain(&self) -> String {
        let what = if self.0.is_enforced { "refuses" } else { "tells of" };
        format!("{what} requests that are not as {} has them", self.0.definition.name)
    }
}
