//! RemoveRequestHeader: removes a header of the request.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::HeaderName;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RemoveRequestHeader",
    doc: r#"Removes all request headers of a name, in any case.

```yaml
filters:
- RemoveRequestHeader=X-Secret
```
```http request
GET / HTTP/1.1
X-Secret: 1
x-secret: 2
Accept: */*
```
```http sent
GET / HTTP/1.1
Accept: */*
```"#,
    args: &[required("name", ArgKind::Text, "Name of the header.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Removes a header of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoveRequestHeader(HeaderName);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let name = HeaderName::new("name", args.required("name")?)?;
    Ok(Filter::RemoveRequestHeader(RemoveRequestHeader(name)))
}

impl Behaviour for RemoveRequestHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        context.head.fields.remove(self.0.as_bytes());
        Ok(Verdict::Continue)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("name", self.0.as_str())
    }

    fn explain(&self) -> String {
        format!("removes the request header `{}`", self.0)
    }
}
