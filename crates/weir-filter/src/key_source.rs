//! The key by which a limit counts requests.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::Write as _;

use weir_auth::Claims;

use crate::arrivals::field_name;
use crate::context::RequestContext;

/// Longest text of an address: IPv6 with an IPv4 address at its end.
const IP_BYTES_MAX: usize = 45;

/// Source of the key by which requests are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// One count for all requests.
    #[default]
    None,
    /// The client's address.
    Ip,
    /// The value of a header.
    Header(String),
    /// The value of a query parameter.
    Query(String),
    /// The value of a cookie.
    Cookie(String),
    /// The Host of the request.
    Host,
    /// A URI variable.
    Path(String),
    /// The whole path.
    Uri,
    /// The principal: subject of the token, or name of the API key.
    Principal,
}

impl KeySource {
    /// Reads `none`, `ip`, `header:N`, `query:N`, `cookie:N`, `host`, `principal`, `path` or
    /// `path:{v}`.
    ///
    /// # Errors
    /// The correct syntax.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim().to_owned();
        Ok(match (kind.trim(), name.is_empty()) {
            ("none", true) => Self::None,
            ("ip", true) => Self::Ip,
            ("host", true) => Self::Host,
            ("path", true) => Self::Uri,
            ("principal", true) => Self::Principal,
            ("header", false) => Self::Header(field_name(&name)?),
            ("query", false) => Self::Query(name),
            ("cookie", false) => Self::Cookie(name),
            ("path", false) => {
                Self::Path(name.trim_start_matches('{').trim_end_matches('}').to_owned())
            }
            _ => {
                return Err("write `none`, `ip`, `header:NAME`, `query:NAME`, `cookie:NAME`, \
                            `host`, `principal`, `path` or `path:{variable}`"
                    .to_owned());
            }
        })
    }

    /// Calls `work` with the key of a request; an empty one if it has none.
    pub fn read<T>(&self, context: &RequestContext<'_>, work: impl FnOnce(&[u8]) -> T) -> T {
        let head = &*context.head;
        match self {
            Self::None => work(&[]),
            Self::Ip => {
                let mut text = [0; IP_BYTES_MAX];
                let mut rest = text.as_mut_slice();
                let _ = write!(rest, "{}", context.peer.ip());
                let count = IP_BYTES_MAX - rest.len();
                work(text.get(..count).unwrap_or_default())
            }
            Self::Header(name) => work(head.fields.get(name.as_bytes()).unwrap_or_default()),
            Self::Host => match head.host() {
                mixed if mixed.iter().any(u8::is_ascii_uppercase) => {
                    work(&mixed.to_ascii_lowercase())
                }
                host => work(host),
            },
            Self::Uri => work(head.path()),
            Self::Principal => {
                let name = context.claims.as_deref().and_then(Claims::principal);
                work(name.unwrap_or_default().as_bytes())
            }
            Self::Path(name) => work(context.vars.get(name).unwrap_or_default().as_bytes()),
            Self::Query(name) => work(value_of(head.query().unwrap_or_default(), b'&', name)),
            Self::Cookie(name) => {
                let mut lines = head.fields.get_all(b"cookie");
                let found = lines.find_map(|line| {
                    Some(value_of(line, b';', name)).filter(|value| !value.is_empty())
                });
                work(found.unwrap_or_default())
            }
        }
    }

    /// A key of a request as operators may see it: no credential.
    pub(crate) fn shown(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        let is_secret = match self {
            Self::Cookie(_) => true,
            Self::Header(name) | Self::Query(name) => weir_mock::is_secret(name, &text),
            _ => weir_mock::is_secret("", &text),
        };
        match is_secret {
            true => format!("hidden {:08x}", hash_of(text.as_bytes()) >> 32),
            false => text.into_owned(),
        }
    }

    /// The URI variable that it reads.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Path(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Ip => f.write_str("ip"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Host => f.write_str("host"),
            Self::Path(name) => write!(f, "path:{{{name}}}"),
            Self::Uri => f.write_str("path"),
            Self::Principal => f.write_str("principal"),
        }
    }
}

fn value_of<'t>(text: &'t [u8], between: u8, name: &str) -> &'t [u8] {
    let pairs = text.split(|byte| *byte == between).map(<[u8]>::trim_ascii);
    let mut found = pairs.filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (own, value) = pair.split_at_checked(at)?;
        (own == name.as_bytes()).then(|| value.get(1..).unwrap_or_default())
    });
    found.next().unwrap_or_default()
}

/// Hash of a key's text.
pub(crate) fn hash_of(text: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use weir_route::Vars;
    use weir_wire::http1::{HeadLimits, parse_request};
    use weir_wire::{Fields, RequestHead};

    use super::*;

    #[test]
    fn a_key_is_shown_as_it_is_written() {
        for text in ["none", "ip", "header:X-A", "query:a", "cookie:a", "host", "path:{id}", "path"]
        {
            let key = KeySource::parse(text).expect("a key");
            assert_eq!(key.to_string(), text);
        }
        assert_eq!(KeySource::Principal.to_string(), "principal");
    }

    #[test]
    fn operators_see_no_credential() {
        let check = |source: &str, text: &str, expected: &str| {
            let shown = KeySource::parse(source).expect("a key").shown(text.as_bytes());
            assert_eq!(shown.split(' ').next(), Some(expected), "{source} {shown}");
            assert!(expected == text || !shown.contains(text), "{shown}");
        };
        check("header:X-Tenant", "acme", "acme");
        check("ip", "10.0.0.1", "10.0.0.1");
        check("header:Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "hidden");
        check("header:X-Api-Key", "k1", "hidden");
        check("query:access_token", "t", "hidden");
        check("cookie:id", "session-7", "hidden");
        check("header:X-User", "Bearer abc.def", "hidden");
    }

    #[test]
    fn keys_of_requests() {
        let text = b"GET /a/b?q=1&t=2 HTTP/1.1\r\nHost: A.Example\r\nX-A: v\r\n\
                     Cookie: x=1\r\nCookie: y=3; z=4\r\n\r\n";
        let mut head = RequestHead::default();
        parse_request(text, &mut head, &HeadLimits::default()).expect("a head");
        let mut vars = Vars::default();
        vars.set("id", "7".to_owned());
        let check = |source: &str, peer: &str, expected: &str| {
            let context = RequestContext {
                head: &mut head.clone(),
                vars: &vars,
                target: &mut None,
                preserve_host: &mut false,
                prefixed: &mut false,
                added: &mut Fields::default(),
                claims: &mut None,
                kept: &mut None,
                failure: None,
                peer: peer.parse().expect("an address"),
                now_ms: 0,
                dice: 0,
                is_asked: false,
            };
            let key = KeySource::parse(source).expect("a key").read(&context, <[u8]>::to_vec);
            assert_eq!(String::from_utf8_lossy(&key), expected, "{source}");
        };
        let peer = "192.0.2.9:4711";
        check("none", peer, "");
        check("ip", peer, "192.0.2.9");
        check("ip", "[2001:db8::9]:1", "2001:db8::9");
        check(
            "ip",
            "[1111:2222:3333:4444:5555:6666:255.255.255.255]:1",
            "1111:2222:3333:4444:5555:6666:ffff:ffff",
        );
        check("host", peer, "a.example");
        check("header:x-a", peer, "v");
        check("header:X-B", peer, "");
        check("query:t", peer, "2");
        check("cookie:z", peer, "4");
        check("path:{id}", peer, "7");
        check("path:{no}", peer, "");
        check("path", peer, "/a/b");
        check("principal", peer, "");
    }

    #[test]
    fn values_of_queries_and_cookies() {
        assert_eq!(value_of(b"a=1&b=2", b'&', "b"), b"2");
        assert_eq!(value_of(b"a=1; session=x", b';', "session"), b"x");
        assert!(value_of(b"ab=1", b'&', "b").is_empty());
    }
}
