//! SetRequestHeader: replaces a header of the request.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::FieldTemplate;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SetRequestHeader",
    doc: r#"Replaces all headers of a name by one, or adds it if there is none.

Host is set by the gateway afterwards: use SetRequestHostHeader for it.

```yaml
predicates:
- Path=/{colour}
filters:
- SetRequestHeader=X-Colour, {colour}
```
```http request
GET /blue HTTP/1.1
x-colour: red
Accept: */*
X-Colour: green
```
```http sent
GET /blue HTTP/1.1
x-colour: blue
Accept: */*
```"#,
    args: &[
        required("name", ArgKind::Text, "Name of the header."),
        required("value", ArgKind::Template, "Its value."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "`//` in a value with a variable stays, characters beyond ASCII are sent as UTF-8, and the \
         name keeps the case of the client's: SCG joins slashes, sends Latin-1 and its own case",
    ),
    build,
};

/// Replaces a header of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetRequestHeader(FieldTemplate);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let (name, value) = (args.required("name")?, args.required("value")?);
    let field = FieldTemplate::new(("name", name), ("value", value))?;
    Ok(Filter::SetRequestHeader(SetRequestHeader(field)))
}

impl Behaviour for SetRequestHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        self.0.set_in(&mut context.head.fields, context.vars)?;
        Ok(Verdict::Continue)
    }

    fn variables(&self) -> Vec<&str> {
        self.0.value().variables().collect()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text(self.0.name(), self.0.value().0)
    }

    fn explain(&self) -> String {
        format!("sets the request header `{}` to `{}`", self.0.name(), self.0.value().0)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_request;

    #[test]
    fn values_are_never_split() {
        let route = "predicates:\n- Path=/{v}\nfilters:\n- SetRequestHeader=X-A, {v}";
        check_request(route, "GET /caf%C3%A9 HTTP/1.1", "GET /caf%C3%A9 HTTP/1.1\nX-A: café");
        let error = "error: `a\\r\\nX-B: 1` has a control character and cannot be sent in a header";
        check_request(route, "GET /a%0d%0aX-B:%201 HTTP/1.1", error);
    }
}
