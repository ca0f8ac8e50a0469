//! RequestHeaderToRequestUri: takes the whole target of the request from one of its headers.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::HeaderName;
use crate::path::{Retargeted, retarget};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RequestHeaderToRequestUri",
    doc: r#"Takes scheme, host, port, path and query of the request from the URL in one of its
headers.

**Whoever may send that header decides where the gateway connects to.** Use it only behind something
that sets the header itself.

It acts after all filters without an order of their own (10001). A header that is missing or holds
no http or https URL is ignored.

```yaml
filters:
- RequestHeaderToRequestUri=X-To
```
```http request
GET /from?q=1 HTTP/1.1
X-To: http://internal.example/to?b=2
```
```http sent
GET http://internal.example:80/to?b=2 HTTP/1.1
X-To: http://internal.example/to?b=2
```"#,
    args: &[required("name", ArgKind::Text, "Name of the header.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a URL with another scheme (`ftp:`, `file:`) is ignored (SCG: 200 without content)",
    ),
    build,
};

/// Takes the whole target of the request from one of its headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestHeaderToRequestUri(HeaderName);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let name = HeaderName::new("name", args.required("name")?)?;
    Ok(Filter::RequestHeaderToRequestUri(RequestHeaderToRequestUri(name)))
}

impl Behaviour for RequestHeaderToRequestUri {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn own_order(&self) -> Option<i32> {
        // After RouteToRequestUrlFilter (10000), which sets the route's own target.
        Some(10_001)
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let value = context.head.fields.get(self.0.as_bytes());
        let Some(text) = value.and_then(|value| std::str::from_utf8(value).ok()) else {
            return Ok(Verdict::Continue);
        };
        let is_http = text.split_once(':').is_some_and(|(scheme, _)| {
            scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
        });
        if !is_http {
            return Ok(Verdict::Continue);
        }
        let text = text.to_owned();
        match retarget(context, SPEC.name, &text)? {
            Retargeted::Done(verdict) => Ok(verdict),
            Retargeted::Ignored | Retargeted::UnknownScheme => Ok(Verdict::Continue),
        }
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("name", self.0.as_str())
    }

    fn explain(&self) -> String {
        format!("sends the request to the URL in its header `{}` instead", self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{check_refused, check_request};

    #[test]
    fn only_http_urls_count() {
        let check = |value: &str, expected: &str| {
            let request = format!("GET /from?q=1 HTTP/1.1\nX-To: {value}");
            let expected = format!("GET {expected} HTTP/1.1\nX-To: {value}");
            check_request("- RequestHeaderToRequestUri=x-to", &request, &expected);
        };
        check("http://a.example/to?b=2", "http://a.example:80/to?b=2");
        check("HTTPS://a.example:8443", "https://a.example:8443/");
        for ignored in
            ["not a uri", "/relative", "ftp://a/", "lb://a/", "http://a b/", "caf\u{e9}", ""]
        {
            check(ignored, "/from?q=1");
        }
        let same = "GET /from HTTP/1.1";
        check_request("- RequestHeaderToRequestUri=x-to", same, same);
        check_refused("RequestHeaderToRequestUri=x to", "name");
    }
}
