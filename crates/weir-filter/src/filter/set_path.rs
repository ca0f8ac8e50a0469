//! SetPath: replaces the path.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::assembly::Assembly;
use crate::context::{FilterError, RequestContext, Verdict};
use crate::path::{PathTemplate, replace_path};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SetPath",
    doc: r#"Replaces the path by a template; the query stays.

Values of variables are percent-encoded, but for `/`.

```yaml
predicates:
- Path=/red/{segment}/{*rest}
filters:
- SetPath=/{segment}{rest}
```
```http request
GET /red/a%20b/c/d?q=1 HTTP/1.1
```
```http sent
GET /a%20b/c/d?q=1 HTTP/1.1
```"#,
    args: &[required("template", ArgKind::Template, "The path, with `{variable}` parts.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a request is answered with 400 if a variable brings dot segments into the path, as \
         `..%2fadmin` does",
    ),
    build,
};

/// Replaces the path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetPath(PathTemplate);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::SetPath(SetPath(PathTemplate::new(args.required("template")?))))
}

impl Behaviour for SetPath {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let mut path = Assembly::new();
        self.0.expand(context.vars, |text| path.push(text.as_bytes()))?;
        replace_path(context, SPEC.name, path.as_bytes())
    }

    fn variables(&self) -> Vec<&str> {
        self.0.variables()
    }

    fn caution(&self) -> Option<String> {
        self.0.caution()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("template", self.0.text())
    }

    fn explain(&self) -> String {
        format!("sets the path to `{}`", self.0.text())
    }
}
