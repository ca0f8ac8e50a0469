//! AddRequestParameter: appends a parameter to the query.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::query::{append, is_query_byte};
use crate::styled::Styled;
use crate::template::{Template, encode};

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "AddRequestParameter",
    doc: r#"Adds a query parameter after those that are there.

What may not stand in a query is percent-encoded, `%` included; `&` and `=` are not.

```yaml
predicates:
- Path=/{colour}
filters:
- AddRequestParameter=colour, light {colour}
```
```http request
GET /blue?a=%2B+%7e HTTP/1.1
```
```http sent
GET /blue?a=%2B+%7e&colour=light%20blue HTTP/1.1
```"#,
    args: &[
        required("name", ArgKind::Text, "Name of the parameter."),
        required("value", ArgKind::Template, "Its value, not encoded."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "encodes always: SCG takes the value as encoded, and fails if it is not, when the request \
         has an encoded character anywhere; `//` in a value with a variable stays",
    ),
    build,
};

/// Appends a parameter to the query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddRequestParameter(Box<Parameter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parameter {
    name: Box<str>,
    value: Box<str>,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let (name, value) = (args.required("name")?.into(), args.required("value")?.into());
    Ok(Filter::AddRequestParameter(AddRequestParameter(Box::new(Parameter { name, value }))))
}

impl Behaviour for AddRequestParameter {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let mut written = String::new();
        encode(&self.0.name, is_query_byte, &mut written);
        written.push('=');
        written += &Template(&self.0.value).expand_encoded(context.vars, is_query_byte)?;
        let mut query = context.head.query().unwrap_or_default().to_vec();
        append(&mut query, written.as_bytes());
        context.head.set_query(Some(&query));
        Ok(Verdict::Continue)
    }

    fn variables(&self) -> Vec<&str> {
        Template(&self.0.value).variables().collect()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text(&self.0.name, &self.0.value)
    }

    fn explain(&self) -> String {
        format!("adds the query parameter `{}={}`", self.0.name, self.0.value)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_path;

    #[test]
    fn parameters_are_appended() {
        let check = |query: &str, expected: &str| {
            check_path("- AddRequestParameter=p, v", &format!("/{query}"), &format!("/{expected}"));
        };
        check("", "?p=v");
        check("?", "?p=v");
        check("?a=1", "?a=1&p=v");
        check("?a=1&", "?a=1&p=v");
        check("?p=1", "?p=1&p=v");
        check("?a=%2B+%7e&b=x:/@!", "?a=%2B+%7e&b=x:/@!&p=v");
    }

    #[test]
    fn values_are_encoded() {
        check_path("- AddRequestParameter=p, a b&c=d%", "/", "/?p=a%20b&c=d%25");
        check_path("- AddRequestParameter=p, a%20b", "/", "/?p=a%2520b");
        let var = "predicates:\n- Path=/{v}\nfilters:\n- AddRequestParameter=p, x{v}y";
        check_path(var, "/1%202", "/1%202?p=x1%202y");
        check_path(var, "/a&b=c", "/a&b=c?p=xa&b=cy");
        check_path(var, "/%0d%0a%23", "/%0d%0a%23?p=x%0D%0A%23y");
        check_path("- AddRequestParameter=p, {nope}", "/", "500");
    }
}
