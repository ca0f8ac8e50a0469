//! AddRequestHeader: appends a header to the request.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::FieldTemplate;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "AddRequestHeader",
    doc: r#"Adds a header to the request, after those of the same name that the client sent.

```yaml
predicates:
- Path=/{colour}/**
filters:
- AddRequestHeader=X-Colour, light-{colour}
```
```http request
GET /blue/sky HTTP/1.1
X-Colour: grey
```
```http sent
GET /blue/sky HTTP/1.1
X-Colour: grey
X-Colour: light-blue
```"#,
    args: &[
        required("name", ArgKind::Text, "Name of the header."),
        required("value", ArgKind::Template, "Its value."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "`//` in a value with a variable stays, and characters beyond ASCII are sent as UTF-8: SCG \
         joins slashes and sends Latin-1",
    ),
    build,
};

/// Appends a header to the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddRequestHeader(FieldTemplate);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let (name, value) = (args.required("name")?, args.required("value")?);
    let field = FieldTemplate::new(("name", name), ("value", value))?;
    Ok(Filter::AddRequestHeader(AddRequestHeader(field)))
}

impl Behaviour for AddRequestHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        self.0.append_to(&mut context.head.fields, context.vars)?;
        Ok(Verdict::Continue)
    }

    fn variables(&self) -> Vec<&str> {
        self.0.value().variables().collect()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text(self.0.name(), self.0.value().0)
    }

    fn explain(&self) -> String {
        format!("adds the header `{}: {}` to the request", self.0.name(), self.0.value().0)
    }
}
