//! RemoveRequestParameter: removes a parameter from the query.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::query::without;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RemoveRequestParameter",
    doc: r#"Removes all query parameters of a name; the rest stays byte for byte.

```yaml
filters:
- RemoveRequestParameter=secret
```
```http request
GET /?secret=1&a=%2B+%7e&secret=2&b=x:/ HTTP/1.1
```
```http sent
GET /?a=%2B+%7e&b=x:/ HTTP/1.1
```"#,
    args: &[required("name", ArgKind::Text, "Name of the parameter, not encoded.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "the other parameters stay as they are: SCG encodes them again (`+` becomes `%20`)",
    ),
    build,
};

/// Removes a parameter from the query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoveRequestParameter(Box<str>);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::RemoveRequestParameter(RemoveRequestParameter(args.required("name")?.into())))
}

impl Behaviour for RemoveRequestParameter {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        if let Some(kept) = context.head.query().and_then(|query| without(query, &self.0)) {
            context.head.set_query((!kept.is_empty()).then_some(&kept));
        }
        Ok(Verdict::Continue)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("name", &self.0)
    }

    fn explain(&self) -> String {
        format!("removes the query parameter `{}`", self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_path;

    #[test]
    fn all_of_a_name_go() {
        let check = |query: &str, expected: &str| {
            check_path("- RemoveRequestParameter=p", &format!("/{query}"), &format!("/{expected}"));
        };
        check("?a=1&p=2&b=3&p=4", "?a=1&b=3");
        check("?p=1", "");
        check("?", "?");
        check("?a=1&b", "?a=1&b");
        check("?%70&a=%2B+%7e&&b", "?a=%2B+%7e&&b");
        check("", "");
    }
}
