//! AddResponseHeader: appends a header to the response.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, optional, required};
use crate::context::{FilterError, ResponseContext};
use crate::header::{FieldTemplate, all_blank};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "AddResponseHeader",
    doc: r#"Adds a header to the response, after those of the same name that the upstream sent.

With `override` set to `false` it is added only if the upstream sent none, or only blank ones.
(The name of that argument is misleading: nothing is ever overridden.)

```yaml
predicates:
- Path=/{v}
filters:
- AddResponseHeader=X-A, gateway-{v}
- AddResponseHeader=X-B, gateway, false
```
```http request
GET /1 HTTP/1.1
```
```http answer
HTTP/1.1 200 OK
X-A: upstream
X-B: upstream
```
```http response
HTTP/1.1 200 OK
X-A: upstream
X-B: upstream
X-A: gateway-1
```"#,
    args: &[
        required("name", ArgKind::Text, "Name of the header."),
        required("value", ArgKind::Template, "Its value."),
        optional("override", ArgKind::Bool, Some("true"), "Add it even if there is one already."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "`//` in a value with a variable stays, and characters beyond ASCII are sent as UTF-8: SCG \
         joins slashes and sends Latin-1",
    ),
    build,
};

/// Appends a header to the response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddResponseHeader {
    /// Boxed: with the flag beside it, every filter would be larger.
    field: Box<FieldTemplate>,
    always: bool,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let (name, value) = (args.required("name")?, args.required("value")?);
    let field = Box::new(FieldTemplate::new(("name", name), ("value", value))?);
    let always = args.bool("override")?.unwrap_or(true);
    Ok(Filter::AddResponseHeader(AddResponseHeader { field, always }))
}

impl Behaviour for AddResponseHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn variables(&self) -> Vec<&str> {
        self.field.value().variables().collect()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("name", self.field.name())?;
        styled.text("value", self.field.value().0)?;
        styled.plain("override", self.always)
    }

    fn explain(&self) -> String {
        let when = if self.always { "" } else { " unless it has one" };
        let (name, value) = self.field.parts();
        format!("adds the header `{name}: {}` to the response{when}", value.0)
    }
}

impl OnResponse for AddResponseHeader {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        let fields = &mut context.head.fields;
        let wanted = |name: &[u8]| self.always || all_blank(fields.get_all(name));
        if !wanted(self.field.name().as_bytes()) {
            return self.field.value().require(context.vars);
        }
        self.field.append_to(fields, context.vars)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused, check_response};

    const GET: &str = "GET / HTTP/1.1";

    #[test]
    fn blank_values_count_as_none() {
        let answer = "HTTP/1.1 200 OK\nx-a:";
        let expected = "HTTP/1.1 200 OK\nx-a: \nX-A: gw";
        check_response("- AddResponseHeader=X-A, gw, false", GET, answer, expected);
    }

    #[test]
    fn the_one_written_last_runs_first() {
        let route = "- AddResponseHeader=X-A, first\n- AddResponseHeader=X-A, second";
        check_response(route, GET, "", "HTTP/1.1 200 OK\nX-A: second\nX-A: first");
    }

    #[test]
    fn an_unknown_variable_fails_once_the_upstream_was_asked() {
        let outcome = TestExchange::new("- AddResponseHeader=X-A, {nope}, false")
            .run(GET, "HTTP/1.1 200 OK\nX-A: 1");
        assert!(outcome.sent.is_some() && outcome.error.is_some());
    }

    #[test]
    fn what_is_no_header_is_refused() {
        check_refused("AddResponseHeader=X A, 1", "name");
        check_refused("AddResponseHeader=Content-Length, 1", "name");
        check_refused("AddResponseHeader=X-A, a\u{7}", "value");
    }
}
