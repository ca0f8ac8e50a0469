//! Host and port, as in the Host field and in absolute-form and authority-form targets.

use std::net::Ipv6Addr;

use crate::syntax::{is_host_byte, percent_byte};

/// Whether `authority` is `host [":" port]` without userinfo: a name (RFC 3986 reg-name, but no
/// comma), an IPv4 address or a bracketed IPv6 address, and a port up to 65535, which may be empty.
pub(super) fn is_authority(authority: &[u8]) -> bool {
    split_port(authority).is_some_and(|(_, port)| port.is_none_or(is_port))
}

/// Whether `authority` is `host ":" port`, as CONNECT needs it.
pub(super) fn is_authority_with_port(authority: &[u8]) -> bool {
    split_port(authority)
        .is_some_and(|(_, port)| port.is_some_and(|port| !port.is_empty() && is_port(port)))
}

/// Host and port of a valid host; `None` if the host is not valid.
fn split_port(authority: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    if authority.first() == Some(&b'[') {
        let end = memchr::memchr(b']', authority)?;
        let host = std::str::from_utf8(authority.get(1..end)?).ok()?;
        host.parse::<Ipv6Addr>().ok()?;
        return match authority.get(end + 1..)? {
            [] => Some((host.as_bytes(), None)),
            [b':', port @ ..] => Some((host.as_bytes(), Some(port))),
            _ => None,
        };
    }
    let end = authority.iter().position(|&byte| !is_host_byte(byte)).unwrap_or(authority.len());
    let end = match authority.get(end) {
        Some(b'%') => escaped_end(authority)?,
        _ => end,
    };
    let (host, rest) = authority.split_at_checked(end)?;
    let port = match rest {
        [] => None,
        [b':', port @ ..] => Some(port),
        _ => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

/// End of a name with percent-encoded bytes; `None` if it is not valid.
fn escaped_end(authority: &[u8]) -> Option<usize> {
    let end = memchr::memchr(b':', authority).unwrap_or(authority.len());
    let host = authority.get(..end)?;
    let escaped = |at: usize| percent_byte(host.get(at + 1..at + 3)).is_some_and(|byte| byte != 0);
    let fits = |(at, &byte): (usize, &u8)| is_host_byte(byte) || (byte == b'%' && escaped(at));
    host.iter().enumerate().all(fits).then_some(end)
}

fn is_port(port: &[u8]) -> bool {
    let append =
        |sum: u32, &digit: &u8| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'));
    port.len() <= 5 && port.iter().try_fold(0, append).is_some_and(|port| port <= 65535)
}

#[cfg(test)]
mod tests {
    use super::{is_authority, is_authority_with_port};

    fn check(authority: &str, valid: bool, valid_with_port: bool) {
        assert_eq!(is_authority(authority.as_bytes()), valid, "{authority:?}");
        assert_eq!(is_authority_with_port(authority.as_bytes()), valid_with_port, "{authority:?}");
    }

    #[test]
    fn hosts_and_ports() {
        check("a", true, false);
        check("A.example.", true, false);
        check("a_b-c.example:8080", true, true);
        check("a:", true, false);
        check("127.0.0.1:0", true, true);
        check("a:65535", true, true);
        check("a%20b:1", true, true);
        check("[::1]", true, false);
        check("[::1]:80", true, true);
        check("[::ffff:127.0.0.1]:80", true, true);
    }

    #[test]
    fn what_is_refused() {
        for bad in [
            "",
            ":80",
            "a:65536",
            "a:99999999999999999999",
            "a:080000",
            "a:+1",
            "a:b",
            "a:1:2",
            "a@b",
            "a,b",
            "a b",
            "a/b",
            "a?b",
            "a#b",
            "a\\b",
            "a%2",
            "a%zz",
            "a%00",
            "\u{e9}",
            "[::1",
            "[::1]x",
            "[::1]80",
            "[]",
            "[a]",
            "[::1%25eth0]",
            "[v1.a]",
            "::1",
            "a\"",
            "<a>",
        ] {
            check(bad, false, false);
        }
    }
}
