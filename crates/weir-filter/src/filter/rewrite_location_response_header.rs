//! RewriteLocationResponseHeader: replaces the host in redirects of the upstream by the gateway's.

use std::fmt;
use std::hash::{Hash, Hasher};

use weir_route::pattern::JavaRegex;
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, optional};
use crate::context::{FilterError, ResponseContext};
use crate::header::{HeaderName, check_sendable, check_value};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RewriteLocationResponseHeader",
    doc: r#"Puts the gateway's host in place of the upstream's in the Location header, and may
drop a version (`/v2`) in front of its path.

Only the host and port of an absolute URI are replaced, and only if a `/` follows them. The version
is kept (`NEVER_STRIP`), dropped (`ALWAYS_STRIP`), or dropped if the path of the request has none
(`AS_IN_REQUEST`).

```yaml
filters:
- RewriteLocationResponseHeader=AS_IN_REQUEST, Location
```
```http request
POST /some/object HTTP/1.1
Host: api.example.com
```
```http answer
HTTP/1.1 201 Created
Location: https://object-service.prod.example.net:8080/v2/some/object/id
```
```http response
HTTP/1.1 201 Created
Location: https://api.example.com/some/object/id
```"#,
    args: &[
        optional(
            "stripVersion",
            ArgKind::OneOf(&["NEVER_STRIP", "AS_IN_REQUEST", "ALWAYS_STRIP"]),
            Some("AS_IN_REQUEST"),
            "When to drop the version.",
        ),
        optional(
            "locationHeaderName",
            ArgKind::Text,
            Some("Location"),
            "Name of the response header.",
        ),
        optional("hostValue", ArgKind::Text, None, "Host to put in; that of the request if none."),
        optional(
            "protocols",
            ArgKind::Regex,
            Some(DEFAULT_PROTOCOLS),
            "Java regular expression for the scheme; other schemes are left alone.",
        ),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "`$` and `\\` in the host are ordinary characters: SCG reads them as in a replacement",
    ),
    build,
};

const DEFAULT_PROTOCOLS: &str = "https?|ftps?";

/// Replaces the host in redirects of the upstream by the gateway's.
#[derive(Clone, Debug)]
pub struct RewriteLocationResponseHeader(Box<Rewrite>);

#[derive(Clone, Debug)]
struct Rewrite {
    strip: Strip,
    name: HeaderName,
    host: Option<Box<str>>,
    protocols: JavaRegex,
    /// An earlier filter replaces the path, so the path to compare is the one sent upstream.
    after_path_change: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Strip {
    Never,
    AsInRequest,
    Always,
}

impl Strip {
    fn name(self) -> &'static str {
        match self {
            Self::Never => "NEVER_STRIP",
            Self::AsInRequest => "AS_IN_REQUEST",
            Self::Always => "ALWAYS_STRIP",
        }
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let strip = match args.one_of("stripVersion")? {
        Some("NEVER_STRIP") => Strip::Never,
        Some("ALWAYS_STRIP") => Strip::Always,
        _ => Strip::AsInRequest,
    };
    let name = args.text("locationHeaderName").unwrap_or("Location");
    let name = HeaderName::writable("locationHeaderName", name)?;
    let host = args.text("hostValue").filter(|host| !host.trim().is_empty());
    if let Some(host) = host {
        check_value("hostValue", host)?;
    }
    let protocols = args.regex("protocols", &options.regexes)?;
    let protocols = protocols.ok_or_else(|| ArgError::new("protocols", "`protocols` is blank"))?;
    let host = host.map(Box::from);
    let rewrite = Rewrite { strip, name, host, protocols, after_path_change: false };
    Ok(Filter::RewriteLocationResponseHeader(RewriteLocationResponseHeader(Box::new(rewrite))))
}

impl RewriteLocationResponseHeader {
    fn definition(&self) -> (Strip, &HeaderName, Option<&str>, &str, bool) {
        let rewrite = &*self.0;
        let (host, protocols) = (rewrite.host.as_deref(), rewrite.protocols.source());
        (rewrite.strip, &rewrite.name, host, protocols, rewrite.after_path_change)
    }
}

impl PartialEq for RewriteLocationResponseHeader {
    fn eq(&self, other: &Self) -> bool {
        self.definition() == other.definition()
    }
}

impl Eq for RewriteLocationResponseHeader {}

impl Hash for RewriteLocationResponseHeader {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition().hash(state);
    }
}

impl Behaviour for RewriteLocationResponseHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn place_after(&mut self, path_change: bool) {
        self.0.after_path_change = path_change;
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("stripVersion", self.0.strip.name())?;
        styled.text("locationHeaderName", self.0.name.as_str())?;
        match &self.0.host {
            Some(host) => styled.text("hostValue", host)?,
            None => styled.plain("hostValue", "[null]")?,
        }
        styled.text("protocols", self.0.protocols.source())
    }

    fn explain(&self) -> String {
        let host = match &self.0.host {
            Some(host) => format!("`{host}`"),
            None => "the host of the request".to_owned(),
        };
        let version = match self.0.strip {
            Strip::Never => "",
            Strip::AsInRequest => ", without its version if the request has none",
            Strip::Always => ", without its version",
        };
        format!("puts {host} into the response header `{}`{version}", self.0.name)
    }
}

impl OnResponse for RewriteLocationResponseHeader {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        let rewrite = &*self.0;
        let host = rewrite.host.as_deref().map_or(context.client_host, str::as_bytes);
        let Some(location) = context.head.fields.get(rewrite.name.as_bytes()) else {
            return Ok(());
        };
        if host.is_empty() {
            return Ok(());
        }
        let request = context.request;
        let path = if rewrite.after_path_change { request.path() } else { request.received_path() };
        let location = match rewrite.host_in(location, path)? {
            None => location.to_vec(),
            Some(Around { before, after }) => [before, host, after].concat(),
        };
        check_sendable(&location)?;
        // If there are several headers, a single one remains, as in SCG.
        context.head.fields.set(rewrite.name.as_bytes(), &location);
        Ok(())
    }
}

/// The parts of a location around its host.
struct Around<'l> {
    /// Scheme and `://`.
    before: &'l [u8],
    /// The path, without its version if that is removed.
    after: &'l [u8],
}

impl Rewrite {
    /// The parts of `location` around its host, if the host is to be replaced.
    fn host_in<'l>(
        &self,
        location: &'l [u8],
        request_path: &[u8],
    ) -> Result<Option<Around<'l>>, FilterError> {
        let Some(at) = memchr::memmem::find(location, b"://") else { return Ok(None) };
        let (before, authority) = location.split_at(at + 3);
        let Ok(scheme) = std::str::from_utf8(location.get(..at).unwrap_or_default()) else {
            return Ok(None);
        };
        let is_protocol = self
            .protocols
            .full_match(scheme)
            .map_err(|_| FilterError(format!("{}: `protocols` needs too many steps", SPEC.name)))?;
        let Some(path) = path_behind_host(authority).filter(|_| is_protocol) else {
            return Ok(None);
        };
        let strip = match self.strip {
            Strip::Never => false,
            Strip::AsInRequest => path_behind_version(request_path).is_none(),
            Strip::Always => true,
        };
        let stripped = if strip { path_behind_version(path) } else { None };
        Ok(Some(Around { before, after: stripped.unwrap_or(path) }))
    }
}

/// The text after `host[:port]`, if it is a path.
fn path_behind_host(authority: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr2(b':', b'/', authority).filter(|end| *end > 0)?;
    let rest = authority.get(end..)?;
    let Some(port) = rest.strip_prefix(b":") else { return Some(rest) };
    let digits = port.iter().take_while(|b| b.is_ascii_digit()).count();
    let path = port.get(digits..)?;
    (digits > 0 && path.starts_with(b"/")).then_some(path)
}

/// The text after `/v1` in a path, if it is a path too.
fn path_behind_version(path: &[u8]) -> Option<&[u8]> {
    let version = path.strip_prefix(b"/v")?;
    let digits = version.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = version.get(digits..)?;
    (digits > 0 && rest.starts_with(b"/")).then_some(rest)
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused, check_response};

    fn check(args: &str, path: &str, location: &str, expected: &str) {
        let head = "HTTP/1.1 201 Created\nLocation: ";
        let (answer, expected) = (format!("{head}{location}"), format!("{head}{expected}"));
        let route = format!("- RewriteLocationResponseHeader{args}");
        check_response(&route, &format!("GET {path} HTTP/1.1"), &answer, &expected);
    }

    #[test]
    fn hosts_and_versions() {
        let up = "http://up.example:8080/v2/some/id?x=1";
        check("", "/some", up, "http://gw.example/some/id?x=1");
        check("", "/v1/some", up, "http://gw.example/v2/some/id?x=1");
        check("=NEVER_STRIP", "/some", up, "http://gw.example/v2/some/id?x=1");
        check("=always-strip", "/v2/some", up, "http://gw.example/some/id?x=1");
        check(
            "=AS_IN_REQUEST, Location, public.example:8443",
            "/some",
            "ftp://up/v2/x",
            "ftp://public.example:8443/x",
        );
        check("", "/x", "http://up.example/v2", "http://gw.example/v2");
        check("", "/x", "http://up.example/v2x/y", "http://gw.example/v2x/y");
    }

    #[test]
    fn other_locations_are_left_alone() {
        for location in [
            "http://up.example:8080",
            "/v2/relative",
            "wss://up.example/x",
            "HTTP://up.example/x",
            "http://up.example:x/y",
            "http:///x",
        ] {
            check("", "/x", location, location);
        }
        check(
            "=AS_IN_REQUEST, Location, p.example, https|wss",
            "/x",
            "wss://up/x",
            "wss://p.example/x",
        );
        check("=AS_IN_REQUEST, Location, p.example, https|wss", "/x", "http://up/x", "http://up/x");
    }

    #[test]
    fn other_headers_and_several_of_them() {
        let link = "- RewriteLocationResponseHeader=AS_IN_REQUEST, Link, p.example";
        let answer = "HTTP/1.1 200 OK\nLocation: http://up/x\nLink: http://up/1\nLink: http://up/2";
        let expected = "HTTP/1.1 200 OK\nLocation: http://up/x\nLink: http://p.example/1";
        check_response(link, "GET / HTTP/1.1", answer, expected);
        check_response(link, "GET / HTTP/1.1", "", "HTTP/1.1 200 OK");
    }

    #[test]
    fn the_path_is_that_at_its_place_in_the_chain() {
        let answer = "HTTP/1.1 200 OK\nLocation: http://up/v2/x";
        let check = |route, expected: &str| {
            let expected = format!("HTTP/1.1 200 OK\nLocation: http://gw.example{expected}");
            check_response(route, "GET /api/v2/x HTTP/1.1", answer, &expected);
        };
        check("- StripPrefix=1\n- RewriteLocationResponseHeader", "/v2/x");
        check("- RewriteLocationResponseHeader\n- StripPrefix=1", "/x");
    }

    #[test]
    fn bad_arguments_are_refused() {
        check_refused("RewriteLocationResponseHeader=SOMETIMES", "stripVersion");
        check_refused("RewriteLocationResponseHeader=NEVER_STRIP, a b", "locationHeaderName");
        let text =
            TestExchange::new("- RewriteLocationResponseHeader").chain.entries()[0].to_string();
        let expected = "[[RewriteLocationResponseHeader stripVersion = AS_IN_REQUEST, \
                        locationHeaderName = 'Location', hostValue = [null], \
                        protocols = 'https?|ftps?'], order = 1]";
        assert_eq!(text, expected);
    }
}
