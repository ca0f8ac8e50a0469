//! RewriteRequestParameter: replaces a parameter of the query.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::query::{append, is_unreserved, without};
use crate::styled::Styled;
use crate::template::encode;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RewriteRequestParameter",
    doc: r#"Replaces all query parameters of a name by one, which comes last. Does nothing
if there is none.

```yaml
filters:
- RewriteRequestParameter=campaign, fall & winter
```
```http request
GET /?campaign=old&a=%2B+%7e&campaign=older HTTP/1.1
```
```http sent
GET /?a=%2B+%7e&campaign=fall%20%26%20winter HTTP/1.1
```"#,
    args: &[
        required("name", ArgKind::Text, "Name of the parameter, not encoded."),
        required("replacement", ArgKind::Text, "Its new value, not encoded."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "the other parameters stay as they are: SCG encodes them again (`+` becomes `%20`)",
    ),
    build,
};

/// Replaces a parameter of the query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RewriteRequestParameter(Box<Parameter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parameter {
    name: Box<str>,
    replacement: Box<str>,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let name = args.required("name")?.into();
    let replacement = args.required("replacement")?.into();
    let parameter = Box::new(Parameter { name, replacement });
    Ok(Filter::RewriteRequestParameter(RewriteRequestParameter(parameter)))
}

impl Behaviour for RewriteRequestParameter {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        if let Some(mut query) = context.head.query().and_then(|q| without(q, &self.0.name)) {
            let mut written = String::new();
            encode(&self.0.name, is_unreserved, &mut written);
            written.push('=');
            encode(&self.0.replacement, is_unreserved, &mut written);
            append(&mut query, written.as_bytes());
            context.head.set_query(Some(&query));
        }
        Ok(Verdict::Continue)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text(&self.0.name, &self.0.replacement)
    }

    fn explain(&self) -> String {
        format!("replaces the query parameter `{}` by `{}`", self.0.name, self.0.replacement)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_path;

    #[test]
    fn all_of_a_name_become_one() {
        let check = |query: &str, expected: &str| {
            let route = "- RewriteRequestParameter=p, new value";
            check_path(route, &format!("/?{query}"), &format!("/?{expected}"));
        };
        check("a=1&p=old&b=2", "a=1&b=2&p=new%20value");
        check("p=1&p=2", "p=new%20value");
        check("p", "p=new%20value");
        check("a=1", "a=1");
        check("p=1&a=%2B+%7e&b=x:/@!", "a=%2B+%7e&b=x:/@!&p=new%20value");
    }
}
