//! The gateway's own elements in Forwarded (RFC 7239) and X-Forwarded-*.
//!
//! Existing elements are from a trusted peer: those of others have been removed before.

use std::fmt::Write;
use std::net::IpAddr;

use weir_wire::RequestHead;

use super::hop::Hop;
use super::options::{Part, XForwarded};

/// Keeps the elements of Forwarded whose `for` is trusted, each as a line of its own, and appends
/// the gateway's element (SCG class `ForwardedHeadersFilter`).
pub(super) fn append_standard(
    head: &mut RequestHead,
    hop: &Hop<'_>,
    by: Option<(IpAddr, u16)>,
    is_trusted: impl Fn(&str) -> bool,
) {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for value in head.fields.get_all(b"forwarded") {
        let elements = split_unquoted(value, b',').map(<[u8]>::trim_ascii);
        kept.extend(elements.filter(|e| is_from(e, &is_trusted)).map(<[u8]>::to_vec));
    }
    head.fields.remove(b"forwarded");
    for element in kept {
        head.fields.append(b"Forwarded", &element);
    }
    let mut own = format!("proto={}", scheme(hop));
    match by {
        Some((ip, 0)) => push_pair(&mut own, "by", &node(ip)),
        Some((ip, port)) => push_pair(&mut own, "by", &format!("{}:{port}", node(ip))),
        None => {}
    }
    if let Ok(host) = std::str::from_utf8(hop.client_host)
        && !host.is_empty()
    {
        push_pair(&mut own, "host", host);
    }
    push_pair(&mut own, "for", &format!("{}:{}", node(hop.peer.ip()), hop.peer.port()));
    head.fields.append(b"Forwarded", own.as_bytes());
}

/// Whether an element of Forwarded has a trusted `for`. The value is tested as written, quotes
/// included, as SCG does.
fn is_from(element: &[u8], is_trusted: impl Fn(&str) -> bool) -> bool {
    split_unquoted(element, b';').any(|pair| {
        let Some((name, value)) = std::str::from_utf8(pair).ok().and_then(|p| p.split_once('='))
        else {
            return false;
        };
        name.trim().eq_ignore_ascii_case("for") && is_trusted(value.trim())
    })
}

/// The parts of `value` between separators outside quotes.
fn split_unquoted(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    value.split(move |&byte| {
        quoted ^= byte == b'"';
        byte == separator && !quoted
    })
}

fn push_pair(element: &mut String, name: &str, value: &str) {
    let quote = if value.contains([':', '[', ',', ';', ' ']) { "\"" } else { "" };
    // Writing to a String cannot fail.
    let _ = write!(element, ";{name}={quote}{value}{quote}");
}

/// An address in the syntax of RFC 7239 section 6.
fn node(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn scheme(hop: &Hop<'_>) -> &'static str {
    if hop.https { "https" } else { "http" }
}

/// Appends the gateway's own values to X-Forwarded-* (SCG class `XForwardedHeadersFilter`): each
/// field becomes one line, its values joined by commas.
pub(super) fn append_x(
    head: &mut RequestHead,
    hop: &Hop<'_>,
    options: &XForwarded,
    is_trusted: impl Fn(&str) -> bool,
) {
    if options.for_.enabled {
        let peer = hop.peer.ip().to_canonical().to_string();
        write_x(head, b"X-Forwarded-For", peer.as_bytes(), options.for_, is_trusted);
    }
    let all = |_: &str| true;
    if options.proto.enabled {
        write_x(head, b"X-Forwarded-Proto", scheme(hop).as_bytes(), options.proto, all);
    }
    if options.prefix.enabled
        && let Some(prefix) = stripped_prefix(head)
    {
        write_x(head, b"X-Forwarded-Prefix", &prefix, options.prefix, all);
    }
    let (host, port) = split_host(hop.client_host);
    let default = if hop.https { "443" } else { "80" };
    let port = port.unwrap_or(default.as_bytes());
    if options.port.enabled {
        write_x(head, b"X-Forwarded-Port", port, options.port, all);
    }
    if options.host.enabled && !host.is_empty() {
        let mut value = host.to_vec();
        if port != default.as_bytes() {
            value.push(b':');
            value.extend_from_slice(port);
        }
        write_x(head, b"X-Forwarded-Host", &value, options.host, all);
    }
}

fn write_x(
    head: &mut RequestHead,
    name: &[u8],
    own: &[u8],
    part: Part,
    keep: impl Fn(&str) -> bool,
) {
    let kept = |value: &[u8]| std::str::from_utf8(value).is_ok_and(&keep);
    let mut joined = Vec::new();
    if part.append {
        // Each line is tested as a whole, as SCG does.
        for line in head.fields.get_all(name).filter(|line| kept(line)) {
            joined.extend_from_slice(line);
            joined.push(b',');
        }
    }
    joined.extend_from_slice(own);
    head.fields.set(name, &joined);
}

/// The prefix that filters removed from the path, if they changed nothing else in it.
fn stripped_prefix(head: &RequestHead) -> Option<Vec<u8>> {
    let without_slash = |path: &'_ [u8]| path.strip_suffix(b"/").unwrap_or(path).len();
    let received = head.received_path();
    let received = received.get(..without_slash(received))?;
    let sent = head.path();
    let sent = sent.get(..without_slash(sent))?;
    let prefix = received.strip_suffix(sent)?;
    (!prefix.is_empty()).then(|| prefix.to_vec())
}

/// Host and port of a Host field.
fn split_host(host: &[u8]) -> (&[u8], Option<&[u8]>) {
    let after_bracket = memchr::memrchr(b']', host).unwrap_or(0);
    match memchr::memrchr(b':', host).filter(|colon| *colon > after_bracket) {
        Some(colon) if colon + 1 < host.len() => {
            (host.get(..colon).unwrap_or_default(), host.get(colon + 1..))
        }
        Some(colon) => (host.get(..colon).unwrap_or_default(), None),
        None => (host, None),
    }
}
