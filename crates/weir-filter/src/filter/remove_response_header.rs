//! RemoveResponseHeader: removes a header of the response.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, required};
use crate::context::{FilterError, ResponseContext};
use crate::header::HeaderName;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RemoveResponseHeader",
    doc: r#"Removes all response headers of a name, in any case.

```yaml
filters:
- RemoveResponseHeader=X-Secret
```
```http request
GET / HTTP/1.1
```
```http answer
HTTP/1.1 200 OK
X-Secret: 1
x-secret: 2
X-A: 1
```
```http response
HTTP/1.1 200 OK
X-A: 1
```"#,
    args: &[required("name", ArgKind::Text, "Name of the header.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Removes a header of the response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoveResponseHeader(HeaderName);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let name = HeaderName::new("name", args.required("name")?)?;
    Ok(Filter::RemoveResponseHeader(RemoveResponseHeader(name)))
}

impl Behaviour for RemoveResponseHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("name", self.0.as_str())
    }

    fn explain(&self) -> String {
        format!("removes the response header `{}`", self.0)
    }
}

impl OnResponse for RemoveResponseHeader {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        context.head.fields.remove(self.0.as_bytes());
        Ok(())
    }
}
