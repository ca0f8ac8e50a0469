//! ValidateRequest: compares the head of a request with an API definition.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use weir_mock::{Call, MockSource};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::context::{FilterError, LocalResponse, RequestContext, Verdict};
use crate::styled::Styled;

const MODES: &[&str] = &["enforce", "report"];

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "ValidateRequest",
    doc: r#"Compares a request with a definition of `weir.mock.apis`, or with those of the store
(`store`, `store/NAME`): path, method, credentials, and parameters in path, query, headers and
cookies. Bodies are not looked at. A wrong request is answered with a problem document that names
each place: 404, 405, 401 or 422. With `report` it goes on, and the response tells what is wrong in
`sl-violations`. The path is the one behind the filters in front. A filter of weir's own.

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
    compatibility: Compatibility::Same,
    build,
};

/// Compares the head of a request with an API definition.
#[derive(Clone, Debug)]
pub struct ValidateRequest(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    definition: String,
    is_enforced: bool,
    /// `None` where there is no configuration.
    source: Option<MockSource>,
}

impl PartialEq for ValidateRequest {
    fn eq(&self, other: &Self) -> bool {
        let (own, other) = (&*self.0, &*other.0);
        let is_same = match (&own.source, &other.source) {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same && own.definition == other.definition && own.is_enforced == other.is_enforced
    }
}

impl Eq for ValidateRequest {}

impl Hash for ValidateRequest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.definition.hash(state);
        self.0.is_enforced.hash(state);
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let definition = args.text("definition").unwrap_or_default().to_owned();
    let is_enforced = args.text("mode").is_none_or(|mode| mode != "report");
    let source = match &options.definitions {
        None => None,
        Some(find) => Some(
            find.source(&definition)
                .map_err(|(message, help)| ArgError::new("definition", message).help(help))?,
        ),
    };
    let inner = Inner { definition, is_enforced, source };
    Ok(Filter::ValidateRequest(ValidateRequest(Arc::new(inner))))
}

impl Behaviour for ValidateRequest {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let Inner { is_enforced, source, .. } = &*self.0;
        let Some(source) = source else { return Ok(Verdict::Continue) };
        let call = Call {
            method: context.head.method(),
            path: context.head.path(),
            query: context.head.query(),
            fields: &context.head.fields,
            body: b"",
        };
        let Some(wrong) = source.wrong_head(&call) else { return Ok(Verdict::Continue) };
        if !is_enforced {
            context.added.push(("sl-violations".into(), wrong.told.into_bytes()));
            return Ok(Verdict::Continue);
        }
        let reply = wrong.reply;
        let answer = LocalResponse { status: reply.status, fields: reply.fields, body: reply.body };
        Ok(Verdict::Respond(Box::new(answer)))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("definition", &self.0.definition)?;
        styled.text("mode", if self.0.is_enforced { "enforce" } else { "report" })
    }

    fn explain(&self) -> String {
        let what = if self.0.is_enforced { "refuses" } else { "tells of" };
        format!("{what} requests whose head is not as {} has it", self.0.definition)
    }
}
