//! URIs in configurations and requests: the target of a request, and the target of a redirect.

use crate::query::is_query_byte;
use crate::target::{Scheme, Target};

/// A parsed absolute URI (RFC 3986). Userinfo and fragment are dropped, as in SCG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AbsoluteUri<'a> {
    /// Scheme as written.
    pub scheme: &'a str,
    /// Host as written, IPv6 in brackets.
    pub host: &'a str,
    /// Port, if there is one.
    pub port: Option<u16>,
    /// Path, possibly empty.
    pub path: &'a str,
    /// Query without `?`.
    pub query: Option<&'a str>,
}

impl<'a> AbsoluteUri<'a> {
    /// Parses `text`; `None` if it has no scheme, no host or an illegal character.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let mut letters = scheme.bytes();
        let valid = letters.next().is_some_and(|b| b.is_ascii_alphabetic())
            && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        let (rest, fragment) = cut(rest, '#');
        let (rest, query) = cut(rest, '?');
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = split_port(authority)?;
        let legal = valid
            && is_host(host)
            && all_legal(path, is_path_byte)
            && query.is_none_or(|query| all_legal(query, is_query_byte))
            && fragment.is_none_or(|fragment| all_legal(fragment, is_query_byte));
        legal.then_some(Self { scheme, host, port, path, query })
    }

    /// The target of a request for this URI; `None` for an unsupported scheme.
    pub(crate) fn target(&self) -> Option<Target> {
        let is = |name: &str| self.scheme.eq_ignore_ascii_case(name);
        let (scheme, port) = match () {
            () if is("http") || is("ws") => (Scheme::Http, 80),
            () if is("https") || is("wss") => (Scheme::Https, 443),
            () if is("lb") => (Scheme::Lb, 80),
            () => return None,
        };
        let port = self.port.unwrap_or(port);
        Some(Target::new(scheme, self.host.to_ascii_lowercase(), port))
    }
}

/// Whether `byte` may appear unencoded in a path (RFC 3986 `pchar` and `/`), `%` excluded.
pub(crate) fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')')
        || matches!(byte, b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/')
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let bracket = authority.rfind(']').unwrap_or(0);
    let Some(colon) = authority.get(bracket..)?.rfind(':') else { return Some((authority, None)) };
    let (host, port) = authority.split_at(bracket + colon);
    match port.get(1..)? {
        "" => Some((host, None)),
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some((host, Some(digits.parse().ok().filter(|port| *port > 0)?)))
        }
        _ => None,
    }
}

/// Whether `text` is a valid Host: a name or address, optionally with a port.
pub(crate) fn is_host_and_port(text: &str) -> bool {
    split_port(text).is_some_and(|(host, _)| is_host(host))
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
        Some(Some(address)) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        Some(None) => false,
        None => {
            !host.is_empty()
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
        }
    }
}

/// Whether every byte is `legal` or part of a `%XX`.
fn all_legal(text: &str, legal: fn(u8) -> bool) -> bool {
    illegal_at(text, legal).is_none()
}

fn illegal_at(text: &str, legal: fn(u8) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    bytes.iter().enumerate().find_map(|(at, &byte)| {
        let fine = legal(byte) || (byte == b'%' && digit(at + 1) && digit(at + 2));
        (!fine).then_some(at)
    })
}

/// Position of the first illegal character in a URI or relative reference. Characters beyond ASCII
/// are legal, as in `java.net.URI`: they are percent-encoded when sent.
pub(crate) fn illegal_in_reference(text: &str) -> Option<usize> {
    let legal = |byte: u8| is_query_byte(byte) || b"#[]".contains(&byte) || !byte.is_ascii();
    illegal_at(text, legal)
}

#[cfg(test)]
mod tests {
    use super::{AbsoluteUri, illegal_in_reference};

    fn check(text: &str, expected: Option<(&str, &str, Option<&str>)>) {
        let uri = AbsoluteUri::parse(text);
        let target = uri.as_ref().and_then(AbsoluteUri::target);
        let shown = target.map(|t| format!("{:?} {}:{}", t.scheme, t.host, t.port));
        let found = uri.map(|uri| (shown.as_deref().unwrap_or("-"), uri.path, uri.query));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn whole_targets() {
        check("http://a", Some(("Http a:80", "", None)));
        check("HTTP://A.b:8080/x/?y#z", Some(("Http a.b:8080", "/x/", Some("y"))));
        check("https://u:p@a/%20?", Some(("Https a:443", "/%20", Some(""))));
        check("wss://[::1]:1/", Some(("Https [::1]:1", "/", None)));
        check("ws://[::1]", Some(("Http [::1]:80", "", None)));
        check("lb://my_service/x", Some(("Lb my_service:80", "/x", None)));
        check("foo://a", Some(("-", "", None)));
    }

    #[test]
    fn what_is_no_absolute_uri() {
        for text in [
            "",
            "/a",
            "a:80",
            "http:/a",
            "http://",
            "http:///a",
            "1http://a",
            "http://a b/",
            "http://a/b c",
            "http://a/%",
            "http://a/%zz",
            "http://a:x/",
            "http://a:65536/",
            "http://a:0/",
            "http://[::1/",
            "http://[x]/",
            "not a uri",
            "http://a/{v}",
            "http://a/?\u{e9}",
            "http://a\\b/",
            "http://a/\r\n",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn references() {
        for text in ["", "/x?y#z", "https://acme.example/[::1]", "../ü", "a%20b"] {
            assert_eq!(illegal_in_reference(text), None, "{text}");
        }
        assert_eq!(illegal_in_reference("https://acme.example/{v}"), Some(21));
        assert_eq!(illegal_in_reference("a b"), Some(1));
        assert_eq!(illegal_in_reference("a%2"), Some(1));
    }
}
