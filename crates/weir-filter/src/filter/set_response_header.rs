//! SetResponseHeader: replaces a header of the response.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, required};
use crate::context::{FilterError, RequestContext, ResponseContext, Verdict};
use crate::header::FieldTemplate;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SetResponseHeader",
    doc: r#"Replaces all response headers of a name by one, or adds it if there is none.

```yaml
filters:
- SetResponseHeader=Server, weir
```
```http request
GET / HTTP/1.1
```
```http answer
HTTP/1.1 200 OK
Server: secret/1.0
X-A: 1
```
```http response
HTTP/1.1 200 OK
Server: weir
X-A: 1
```"#,
    args: &[
        required("name", ArgKind::Text, "Name of the header."),
        required("value", ArgKind::Template, "Its value."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "`//` in a value with a variable stays, characters beyond ASCII are sent as UTF-8, and the \
         header keeps its place: SCG joins slashes, sends Latin-1 and puts it last",
    ),
    build,
};

/// Replaces a header of the response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetResponseHeader(FieldTemplate);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let (name, value) = (args.required("name")?, args.required("value")?);
    let field = FieldTemplate::new(("name", name), ("value", value))?;
    Ok(Filter::SetResponseHeader(SetResponseHeader(field)))
}

impl Behaviour for SetResponseHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    /// SCG expands the value on the request side: an unknown variable fails before the upstream is
    /// called.
    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        self.0.value().require(context.vars)?;
        Ok(Verdict::Continue)
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn variables(&self) -> Vec<&str> {
        self.0.value().variables().collect()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text(self.0.name(), self.0.value().0)
    }

    fn explain(&self) -> String {
        format!("sets the response header `{}` to `{}`", self.0.name(), self.0.value().0)
    }
}

impl OnResponse for SetResponseHeader {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        self.0.set_in(&mut context.head.fields, context.vars)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_response};

    #[test]
    fn the_order_of_filters_counts_from_the_end() {
        let answer = "HTTP/1.1 200 OK\nX-A: up";
        let check = |route, expected| check_response(route, "GET / HTTP/1.1", answer, expected);
        check("- RemoveResponseHeader=X-A\n- SetResponseHeader=X-A, gw", "HTTP/1.1 200 OK");
        check(
            "- SetResponseHeader=X-A, gw\n- RemoveResponseHeader=X-A",
            "HTTP/1.1 200 OK\nX-A: gw",
        );
    }

    #[test]
    fn an_unknown_variable_fails_before_the_upstream_is_asked() {
        let outcome =
            TestExchange::new("- SetResponseHeader=X-A, {nope}").run("GET / HTTP/1.1", "");
        assert!(outcome.sent.is_none() && outcome.error.is_some());
    }
}
