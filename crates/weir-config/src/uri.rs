//! Parsing of a route's uri (scg.md 1.6).

use weir_filter::{Scheme, Target};

/// A valid uri of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteUri {
    /// Its destination.
    pub destination: Destination,
    /// A path or query after the authority, which is ignored.
    pub ignored: Option<String>,
}

/// Destination of a uri.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// `http`, `ws`, `https`, `wss`.
    Target(Target),
    /// `lb://name`, in lower case; the scheme is that of `lb:ws://name`.
    Service { name: String, scheme: Option<Scheme> },
    /// `no:`; or the name of a scheme that no routing filter knows.
    Nowhere(String),
    /// `forward:/path`: the route that matches this path.
    Forward(String),
    /// `fn:`, `stream:`.
    Internal(String),
}

/// Reason for which a uri is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriError {
    /// Description.
    pub message: String,
    /// A remedy.
    pub help: String,
}

impl UriError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// Maximum length of a uri in bytes.
const BYTES_MAX: usize = 8 * 1024;

/// Parses the uri of a route.
///
/// # Errors
/// The reason if it is invalid, without user and password.
pub(crate) fn parse(text: &str) -> Result<RouteUri, UriError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(UriError::new("the uri is empty", "write one such as `http://host:8080`"));
    }
    if text.len() > BYTES_MAX {
        return Err(UriError::new("the uri is too long", "write `http://host:port`, nothing else"));
    }
    if let Some(bad) = text.chars().find(|c| !is_uri_char(*c)) {
        let message = format!("the uri has a {} in it", named(bad));
        return Err(UriError::new(message, "write it as `scheme://host:port`"));
    }
    let Some((scheme, rest)) = split_scheme(text) else {
        let help = format!("put a scheme in front: `http://{}`", text.trim_start_matches('/'));
        return Err(UriError::new("the uri has no scheme", help));
    };
    match scheme.to_ascii_lowercase().as_str() {
        // Java parses `localhost:8080` as a scheme, but the operator meant a host.
        "localhost" => {
            let help = format!("put a scheme in front: `http://{text}`");
            Err(UriError::new("the uri has no scheme", help))
        }
        "http" | "ws" => target(Scheme::Http, rest),
        "https" | "wss" => target(Scheme::Https, rest),
        "lb" => service(rest),
        "forward" => {
            let path = rest.trim_start_matches("//");
            let path = path.split(['?', '#']).next().unwrap_or(path);
            if !path.starts_with('/') {
                let help = "write `forward:/path`, and a route that matches the path";
                return Err(UriError::new("the uri leads nowhere within the gateway", help));
            }
            Ok(plain(Destination::Forward(path.to_owned())))
        }
        name @ ("fn" | "stream") => Ok(plain(Destination::Internal(name.to_owned()))),
        // `myhost:8080/x`: digits after the colon are a port, not a scheme-specific part.
        name if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            let help = format!("put a scheme in front: `http://{text}`");
            Err(UriError::new(format!("`{name}` is no scheme"), help))
        }
        name => Ok(plain(Destination::Nowhere(name.to_owned()))),
    }
}

fn plain(destination: Destination) -> RouteUri {
    RouteUri { destination, ignored: None }
}

fn named(bad: char) -> String {
    match bad {
        ' ' => "blank".to_owned(),
        c if c.is_control() => "control character".to_owned(),
        c => format!("`{c}`"),
    }
}

/// Whether Java's `URI` accepts a character, including letters of other scripts (class
/// `java.net.URI`, "other" category).
fn is_uri_char(c: char) -> bool {
    match c {
        '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => false,
        c if c.is_ascii() => c.is_ascii_graphic(),
        c => !c.is_control() && !c.is_whitespace(),
    }
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut chars = scheme.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (starts && goes_on).then_some((scheme, rest))
}

fn target(scheme: Scheme, rest: &str) -> Result<RouteUri, UriError> {
    let (host, port, ignored) = authority(rest)?;
    let default = match scheme {
        Scheme::Https => 443,
        Scheme::Http | Scheme::Lb => 80,
    };
    let target = Target::new(scheme, host, port.unwrap_or(default));
    Ok(RouteUri { destination: Destination::Target(target), ignored })
}

/// Parses `//name`, or another uri: `ws://name`.
fn service(rest: &str) -> Result<RouteUri, UriError> {
    let (scheme, rest) = match split_scheme(rest) {
        Some((inner, rest)) => match inner.to_ascii_lowercase().as_str() {
            "http" | "ws" => (Some(Scheme::Http), rest),
            "https" | "wss" => (Some(Scheme::Https), rest),
            "lb" => (None, rest),
            _ => {
                let message = format!("`lb:{inner}:` is not a kind of service");
                let help = "write `lb://name`, `lb:http://name` or `lb:ws://name`";
                return Err(UriError::new(message, help));
            }
        },
        None => (None, rest),
    };
    let (name, _, ignored) = authority(rest)?;
    Ok(RouteUri { destination: Destination::Service { name, scheme }, ignored })
}

/// Lower-case host, port, and the rest.
fn authority(rest: &str) -> Result<(String, Option<u16>, Option<String>), UriError> {
    let help = "write it as `scheme://host:port`";
    let Some(rest) = rest.strip_prefix("//") else {
        return Err(UriError::new("the uri has no `//` and so no host", help));
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host_port.strip_prefix('[') {
        Some(inside) => {
            let (address, after) = inside
                .split_once(']')
                .ok_or_else(|| UriError::new("the uri has a `[` without `]`", help))?;
            let valid = address.parse::<std::net::Ipv6Addr>().is_ok();
            if !valid || !(after.is_empty() || after.starts_with(':')) {
                return Err(UriError::new("the uri has no valid address in `[…]`", help));
            }
            (format!("[{address}]"), after.strip_prefix(':').unwrap_or(""))
        }
        None => {
            let (host, port) = host_port.split_once(':').unwrap_or((host_port, ""));
            (host.to_owned(), port)
        }
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | '%');
    if host.is_empty() || (!host.starts_with('[') && !host.chars().all(is_name)) {
        return Err(UriError::new("the uri has no valid host", help));
    }
    let port = match port {
        "" => None,
        digits => Some(digits.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
            UriError::new("the uri has no valid port", "write a port from 1 to 65535")
        })?),
    };
    let ignored = Some(after).filter(|after| !matches!(*after, "" | "/")).map(str::to_owned);
    Ok((host.to_ascii_lowercase(), port, ignored))
}

#[cfg(test)]
mod tests {
    use super::{Destination, parse};

    fn check(text: &str, expected: &str) {
        let found = match parse(text) {
            Err(error) => format!("error: {}", error.message),
            Ok(uri) => {
                let ignored = uri.ignored.map(|rest| format!(" without {rest}"));
                let kind = match uri.destination {
                    Destination::Target(t) => format!("{:?} {} {}", t.scheme, t.host, t.port),
                    Destination::Service { name, scheme: None } => format!("service {name}"),
                    Destination::Service { name, scheme: Some(s) } => {
                        format!("service {name} {s:?}")
                    }
                    Destination::Nowhere(name) => format!("nowhere {name}"),
                    Destination::Forward(path) => format!("forward {path}"),
                    Destination::Internal(name) => format!("internal {name}"),
                };
                format!("{kind}{}", ignored.unwrap_or_default())
            }
        };
        assert_eq!(found, expected, "for {text}");
    }

    #[test]
    fn uris_that_lead_somewhere() {
        check("http://Host:8080", "Http host 8080");
        check("HTTP://h", "Http h 80");
        check("https://h/", "Https h 443");
        check("ws://h", "Http h 80");
        check("wss://h", "Https h 443");
        check("http://u:p@h:1/x?y", "Http h 1 without /x?y");
        check("http://[::1]:8080", "Http [::1] 8080");
        check("http://h:", "Http h 80");
        check("http://a_b:1", "Http a_b 1");
        check("lb://Svc", "service svc");
        check("lb://a_b:8080", "service a_b");
        check("lb:ws://svc", "service svc Http");
        check("lb:https://svc", "service svc Https");
        check("no://op", "nowhere no");
        check("grayLb://svc", "nowhere graylb");
        check("forward:/x", "forward /x");
        check("forward:///x?y", "forward /x");
    }

    #[test]
    fn uris_that_lead_nowhere() {
        check("", "error: the uri is empty");
        check("localhost:8080", "error: the uri has no scheme");
        check("example.org", "error: the uri has no scheme");
        check("example.org:80", "error: `example.org` is no scheme");
        check("//h", "error: the uri has no scheme");
        check("http:h", "error: the uri has no `//` and so no host");
        check("http://", "error: the uri has no valid host");
        check("http://:80", "error: the uri has no valid host");
        check("http://h:99999", "error: the uri has no valid port");
        check("http://h:x", "error: the uri has no valid port");
        check("http://${X}", "error: the uri has a `{` in it");
        check("http://h h", "error: the uri has a blank in it");
        check("http://[::1", "error: the uri has a `[` without `]`");
        check("lb:foo://x", "error: `lb:foo:` is not a kind of service");
    }
}
