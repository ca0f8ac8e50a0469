//! Origins: patterns, and the same-origin check.

/// A pattern such as `https://*.example.org` or `http://localhost:[*]` (Spring class
/// `CorsConfiguration.OriginPattern`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OriginPattern {
    /// Literal text before, between and after each `*`.
    texts: Box<[Box<str>]>,
    ports: Ports,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Ports {
    /// The port is part of the text.
    Written,
    /// `:[*]`: any port, or none.
    Any,
    /// `:[80,8080]`.
    OneOf(Box<[Box<str>]>),
}

impl OriginPattern {
    pub fn new(pattern: &str) -> Self {
        let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
        let (text, ports) = match split_ports(pattern) {
            None => (pattern, Ports::Written),
            Some((text, "*")) => (text, Ports::Any),
            Some((text, list)) => (text, Ports::OneOf(list.split(',').map(Box::from).collect())),
        };
        Self { texts: text.split('*').map(Box::from).collect(), ports }
    }

    pub fn matches(&self, origin: &str) -> bool {
        let with_port = || {
            let (host, port) = origin.rsplit_once(':')?;
            let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
            digits.then_some((host, port))
        };
        match &self.ports {
            Ports::Written => self.matches_text(origin),
            Ports::Any => {
                self.matches_text(origin)
                    || with_port().is_some_and(|(host, _)| self.matches_text(host))
            }
            Ports::OneOf(ports) => with_port().is_some_and(|(host, port)| {
                ports.iter().any(|own| **own == *port) && self.matches_text(host)
            }),
        }
    }

    /// Whether `text` consists of the literal texts with anything between them.
    fn matches_text(&self, text: &str) -> bool {
        let Some((first, others)) = self.texts.split_first() else { return false };
        let Some((last, middle)) = others.split_last() else { return **first == *text };
        let Some(mut rest) = text.strip_prefix(&**first) else { return false };
        for part in middle {
            let Some(at) = rest.find(&**part) else { return false };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        rest.ends_with(&**last)
    }
}

/// Splits `text:[ports]`.
fn split_ports(pattern: &str) -> Option<(&str, &str)> {
    let (text, ports) = pattern.strip_suffix(']')?.rsplit_once(":[")?;
    let number = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    (ports == "*" || ports.split(',').all(number)).then_some((text, ports))
}

/// Whether `origin` has the scheme, host and port of the client's request (Spring class
/// `CorsUtils`).
pub(super) fn is_same_origin(origin: &[u8], https: bool, host: &[u8]) -> bool {
    let (scheme, default) =
        if https { (&b"https://"[..], &b"443"[..]) } else { (&b"http://"[..], &b"80"[..]) };
    let Some(authority) = origin.strip_prefix(scheme) else { return false };
    let authority = authority.split(|byte| matches!(byte, b'/' | b'?' | b'#')).next();
    let (origin_host, origin_port) = split_port(authority.unwrap_or_default());
    let (own_host, own_port) = split_port(host);
    origin_host.eq_ignore_ascii_case(own_host)
        && origin_port.unwrap_or(default) == own_port.unwrap_or(default)
}

fn split_port(authority: &[u8]) -> (&[u8], Option<&[u8]>) {
    let bracket = memchr::memrchr(b']', authority).unwrap_or(0);
    match memchr::memrchr(b':', authority).filter(|colon| *colon > bracket) {
        Some(colon) => {
            let port = authority.get(colon + 1..).filter(|port| !port.is_empty());
            (authority.get(..colon).unwrap_or_default(), port)
        }
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{OriginPattern, is_same_origin};

    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        let compiled = OriginPattern::new(pattern);
        for origin in matching {
            assert!(compiled.matches(origin), "{pattern} {origin}");
        }
        for origin in other {
            assert!(!compiled.matches(origin), "{pattern} {origin}");
        }
    }

    #[test]
    fn patterns() {
        check(
            "https://a.example",
            &["https://a.example"],
            &["https://A.example", "https://b.a.example"],
        );
        check(
            "https://*.example",
            &["https://a.example", "https://a.b.example", "https://.example"],
            &[
                "https://example",
                "http://a.example",
                "https://a.example:1",
                "https://a.example.evil",
            ],
        );
        check("*", &["https://a", "null", ""], &[]);
        check("http://*.a.*/", &["http://x.a.y"], &["http://x.b.y", "http://.a"]);
        check("a*a", &["aa", "aba"], &["a"]);
        check(
            "http://localhost:[*]",
            &["http://localhost", "http://localhost:3000"],
            &["http://localhost:x"],
        );
        check(
            "http://*.x:[80,81]",
            &["http://a.x:81"],
            &["http://a.x", "http://a.x:8", "http://a.x:810"],
        );
        check("http://x:[8a]", &["http://x:[8a]"], &["http://x:8"]);
    }

    #[test]
    fn same_origins() {
        let check = |origin: &str, https: bool, host: &str, expected: bool| {
            let same = is_same_origin(origin.as_bytes(), https, host.as_bytes());
            assert_eq!(same, expected, "{origin} {https} {host}");
        };
        check("http://gw.example", false, "gw.example", true);
        check("http://GW.example:80", false, "gw.example", true);
        check("http://gw.example", false, "gw.example:80", true);
        check("https://gw.example:443/", true, "gw.example", true);
        check("http://[::1]:8080", false, "[::1]:8080", true);
        check("https://gw.example", false, "gw.example", false);
        check("http://gw.example:8080", false, "gw.example", false);
        check("null", false, "gw.example", false);
        check("http://gw.example.evil", false, "gw.example", false);
    }
}
