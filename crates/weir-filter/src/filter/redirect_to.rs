//! RedirectTo: answers with a redirect.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::query::append;
use crate::styled::Styled;
use crate::template::encode;
use crate::uri::illegal_in_reference;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RedirectTo",
    doc: r#"Answers with a redirect; the upstream is not asked, and filters on the response do
not run.

The url is taken as it is: it has no `{variable}` parts. With `includeRequestParams` the request's
query is added to it.

```yaml
filters:
- RedirectTo=302, https://acme.example/x?a=1#top, true
```
```http request
GET /old?q=%2B+ HTTP/1.1
```
```http response
HTTP/1.1 302 Found
Location: https://acme.example/x?a=1&q=%2B+#top
```"#,
    args: &[
        required("status", ArgKind::Status, "Number or name of a 3xx status."),
        required("url", ArgKind::Text, "Absolute or relative URI for Location."),
        optional(
            "includeRequestParams",
            ArgKind::Bool,
            Some("false"),
            "Add the query of the request.",
        ),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "the request's query is added as it is: SCG decodes and encodes it (`+` becomes `%20`)",
    ),
    build,
};

/// Answers with a redirect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RedirectTo(Box<Redirect>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Redirect {
    status: u16,
    url: Box<str>,
    with_query: bool,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let written = args.required("status")?;
    let status = args.status("status")?.unwrap_or_default();
    if !(300..400).contains(&status) {
        return Err(ArgError::new("status", format!("`{written}` is not a redirect"))
            .help("use a 3xx status such as 302"));
    }
    let url = args.required("url")?;
    if let Some(at) = illegal_in_reference(url) {
        let what = url.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
        return Err(ArgError::new(
            "url",
            format!("`{}` at position {} of the url is not allowed", what.escape_debug(), at + 1),
        )
        .help("percent-encode it; the url of RedirectTo has no template variables"));
    }
    let mut ascii = String::new();
    encode(url, |_| true, &mut ascii);
    let with_query = args.bool("includeRequestParams")?.unwrap_or(false);
    let redirect = Redirect { status, url: ascii.into(), with_query };
    Ok(Filter::RedirectTo(RedirectTo(Box::new(redirect))))
}

impl Behaviour for RedirectTo {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let query = context.head.query().filter(|q| self.0.with_query && !q.is_empty());
        let location = match query {
            Some(query) => with_query(&self.0.url, query),
            None => self.0.url.as_bytes().to_vec(),
        };
        let fields = vec![("Location".to_owned(), location)];
        let local = LocalResponse { status: self.0.status, fields, body: Vec::new() };
        Ok(Verdict::Respond(Box::new(local)))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain(&self.0.status.to_string(), &self.0.url)?;
        styled.plain("includeRequestParams", self.0.with_query)
    }

    fn explain(&self) -> String {
        let query = if self.0.with_query { " with the request's query" } else { "" };
        format!("answers {} and redirects to `{}`{query}", self.0.status, self.0.url)
    }
}

/// `url` with `query` appended to its query, before its fragment.
fn with_query(url: &str, query: &[u8]) -> Vec<u8> {
    let (url, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let mut location = url.as_bytes().to_vec();
    match url.find('?') {
        None => {
            location.push(b'?');
            location.extend_from_slice(query);
        }
        Some(at) if at + 1 == url.len() => location.extend_from_slice(query),
        Some(_) => append(&mut location, query),
    }
    location.extend_from_slice(fragment.as_bytes());
    location
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused, check_request};

    fn check(args: &str, request: &str, expected: &str) {
        let (status, location) = expected.split_once(' ').expect("status and location");
        let phrase = crate::status::reason(status.parse().expect("a number"));
        let expected = format!("HTTP/1.1 {status} {phrase}\nLocation: {location}");
        check_request(&format!("- RedirectTo={args}"), request, &expected);
    }

    #[test]
    fn redirects() {
        check("302, https://acme.example", "GET /a?q=1 HTTP/1.1", "302 https://acme.example");
        check("PERMANENT_REDIRECT, /x", "POST / HTTP/1.1", "308 /x");
        check("301, /ü", "GET / HTTP/1.1", "301 /%C3%BC");
        check("302, /x, true", "GET /?q=1&r=a%20b HTTP/1.1", "302 /x?q=1&r=a%20b");
        check("302, /x, true", "GET / HTTP/1.1", "302 /x");
        check("302, /x?, true", "GET /?q HTTP/1.1", "302 /x?q");
        check("302, /x?a=1, true", "GET /?q=1 HTTP/1.1", "302 /x?a=1&q=1");
        check("302, /x#frag, true", "GET /?q=1 HTTP/1.1", "302 /x?q=1#frag");
    }

    #[test]
    fn filters_on_the_response_do_not_run() {
        let route = "- AddResponseHeader=X-A, 1\n- RedirectTo=302, /x\n- SetStatus=200";
        check_request(route, "GET / HTTP/1.1", "HTTP/1.1 302 Found\nLocation: /x");
    }

    #[test]
    fn bad_arguments_are_refused() {
        check_refused("RedirectTo=200, /x", "status");
        check_refused("RedirectTo=NOPE, /x", "status");
        check_refused("RedirectTo=302, https://acme.example/{v}", "url");
        let text = TestExchange::new("- RedirectTo=302, /x").chain.entries()[0].to_string();
        assert_eq!(text, "[[RedirectTo 302 = /x, includeRequestParams = false], order = 1]");
    }
}
