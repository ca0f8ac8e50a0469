//! SetRequestUri: replaces the whole target of the request.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::path::{Retargeted, retarget};
use crate::styled::Styled;
use crate::template::{Piece, Template};
use crate::uri::AbsoluteUri;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SetRequestUri",
    doc: r#"Replaces scheme, host, port, path and query of the request by those of a URI.

It acts after all filters without an order of their own (10001), so they see the request as it was.
A template that gives no absolute URI whatever its variables are is ignored: the route's own target
stays. A request whose variables make none of it (`a%20b` as `{id}`) is answered with 400, so that no
client can get around the filter.

```yaml
predicates:
- Path=/to/{host}/{id}
filters:
- SetRequestUri=http://{host}.example:8080/new/{id}?x=y
```
```http request
GET /to/blue/7?q=1 HTTP/1.1
```
```http sent
GET http://blue.example:8080/new/7?x=y HTTP/1.1
```"#,
    args: &[required("template", ArgKind::Template, "Absolute URI, with `{variable}` parts.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a scheme that weir does not serve fails with 500 (SCG: 200 without content); a request whose \
         variables make no valid URI is answered with 400 (SCG: the filter is skipped)",
    ),
    build,
};

/// Replaces the whole target of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetRequestUri(Box<str>);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::SetRequestUri(SetRequestUri(args.required("template")?.into())))
}

impl SetRequestUri {
    /// Whether the template can expand to an absolute URI.
    fn can_be_valid(&self) -> bool {
        let pieces = Template(&self.0).pieces().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Variable(_) => "1",
        });
        AbsoluteUri::parse(&pieces.collect::<String>()).is_some()
    }
}

impl Behaviour for SetRequestUri {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn own_order(&self) -> Option<i32> {
        // After RouteToRequestUrlFilter (10000), which sets the route's own target.
        Some(10_001)
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        // An unknown variable makes the URI invalid, and SCG ignores an invalid URI.
        let Ok(text) = Template(&self.0).expand(context.vars) else { return Ok(Verdict::Continue) };
        match retarget(context, SPEC.name, &text)? {
            Retargeted::Done(verdict) => Ok(verdict),
            Retargeted::Ignored if self.can_be_valid() => {
                let refused = LocalResponse { status: 400, ..LocalResponse::default() };
                Ok(Verdict::Respond(Box::new(refused)))
            }
            Retargeted::Ignored => Ok(Verdict::Continue),
            Retargeted::UnknownScheme => {
                let shown = text.escape_debug();
                Err(FilterError(format!("no upstream can be reached by the scheme of `{shown}`")))
            }
        }
    }

    fn variables(&self) -> Vec<&str> {
        Template(&self.0).variables().collect()
    }

    fn caution(&self) -> Option<String> {
        let text = Template(&self.0).constant()?;
        AbsoluteUri::parse(text)
            .is_none()
            .then(|| format!("`{text}` is not an absolute URI: the filter does nothing"))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("template", &self.0)
    }

    fn explain(&self) -> String {
        format!("sends the request to `{}` instead", self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::filter::Filter;
    use crate::test_exchange::{TestExchange, check_request};

    #[test]
    fn uris_replace_the_whole_target() {
        let check = |template: &str, expected: &str| {
            let route = format!("predicates:\n- Path=/{{v}}\nfilters:\n- SetRequestUri={template}");
            let expected = format!("GET {expected} HTTP/1.1");
            check_request(&route, "GET /a?q=1 HTTP/1.1", &expected);
        };
        check("http://h/new/{v}?x=y", "http://h:80/new/a?x=y");
        check("https://{v}.example", "https://a.example:443/");
        check("lb://{v}", "lb://a:80/");
        check("/new/{v}", "/a?q=1");
        check("http://h/{nope}", "/a?q=1");
        check("http://h/a b", "/a?q=1");
        let path = "predicates:\n- Path=/{v}\nfilters:\n- SetRequestUri=";
        for template in ["http://h/{v}", "http://{v}/"] {
            let refused = "HTTP/1.1 400 Bad Request";
            check_request(&format!("{path}{template}"), "GET /a%20b HTTP/1.1", refused);
        }
        let route = "- SetRequestUri=foo://h/";
        check_request(
            route,
            "GET / HTTP/1.1",
            "error: no upstream can be reached by the scheme of `foo://h/`",
        );
        check_request(
            "- SetRequestUri=http://h/a/../b",
            "GET / HTTP/1.1",
            "HTTP/1.1 400 Bad Request",
        );
    }

    #[test]
    fn it_runs_after_the_others() {
        let trial = TestExchange::new("- SetRequestUri=/x\n- AddRequestHeader=X-A, 1");
        let orders: Vec<_> = trial.chain.entries().iter().map(|e| e.order).collect();
        assert_eq!(orders, [2, 10_001]);
        let cautions = trial.chain.entries().iter().filter_map(|e| Filter::caution(&e.filter));
        assert_eq!(cautions.count(), 1);
    }
}
