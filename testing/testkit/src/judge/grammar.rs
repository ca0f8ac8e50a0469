//! The rules of RFC 9110 appendix A, RFC 9112 appendix A and RFC 3986 that requests are made of.

use std::net::Ipv6Addr;

use super::message::Stop;

/// Taken in targets though RFC 3986 has them in IPv6 addresses only: browsers send them as they
/// are, and they bear on nothing but the text of the target.
pub(super) const TOLERATED_IN_TARGETS: &[u8] = b"[]";

/// `line CRLF` at `at`: the line, and the offset after it. CR and LF stand nowhere else.
pub(super) fn line(bytes: &[u8], at: usize) -> Result<(&[u8], usize), Stop> {
    for (offset, byte) in bytes.iter().enumerate().skip(at) {
        match (byte, bytes.get(offset + 1)) {
            (b'\n', _) => return Err(Stop::Refused("LF without CR")),
            (b'\r', Some(b'\n')) => {
                return Ok((bytes.get(at..offset).unwrap_or_default(), offset + 2));
            }
            (b'\r', None) => return Err(Stop::Inside),
            (b'\r', Some(_)) => return Err(Stop::Refused("CR without LF")),
            _ => {}
        }
    }
    Err(Stop::Inside)
}

/// `token = 1*tchar`
pub(super) fn is_token(text: &[u8]) -> bool {
    let tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(tchar)
}

/// `field-value`, blanks inside included: VCHAR, obs-text, SP and HTAB.
pub(super) fn is_field_value(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e | 0x80..=0xff))
}

/// `text` without OWS at its ends.
pub(super) fn without_ows(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// `field-line = field-name ":" OWS field-value OWS`
pub(super) fn field_line(line: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Stop> {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Err(Stop::Refused("obs-fold or blank before a field"));
    }
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return Err(Stop::Refused("field line without colon"));
    };
    let (name, value) = line.split_at(colon);
    let value = without_ows(value.get(1..).unwrap_or_default());
    if !is_token(name) {
        return Err(Stop::Refused("field name is not a token"));
    }
    if !is_field_value(value) {
        return Err(Stop::Refused("control byte in a field value"));
    }
    Ok((name.to_vec(), value.to_vec()))
}

/// The members of a list of tokens, empty ones left out.
pub(super) fn members(value: &[u8]) -> Vec<&[u8]> {
    value.split(|byte| *byte == b',').map(without_ows).filter(|one| !one.is_empty()).collect()
}

/// `*( <one of the rule's bytes> / pct-encoded )`
fn is_text_of(text: &[u8], allowed: impl Fn(u8) -> bool) -> bool {
    let mut rest = text;
    loop {
        rest = match rest {
            [] => return true,
            [b'%', high, low, tail @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                tail
            }
            [byte, tail @ ..] if *byte != b'%' && allowed(*byte) => tail,
            _ => return false,
        };
    }
}

fn is_unreserved_or_sub_delim(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}

/// `pchar`, and what is tolerated.
fn is_pchar(byte: u8) -> bool {
    is_unreserved_or_sub_delim(byte)
        || matches!(byte, b':' | b'@')
        || TOLERATED_IN_TARGETS.contains(&byte)
}

/// `absolute-path = 1*( "/" segment )`
pub(super) fn is_absolute_path(path: &[u8]) -> bool {
    path.first() == Some(&b'/') && is_text_of(path, |byte| is_pchar(byte) || byte == b'/')
}

/// `query = *( pchar / "/" / "?" )`
pub(super) fn is_query(query: &[u8]) -> bool {
    is_text_of(query, |byte| is_pchar(byte) || matches!(byte, b'/' | b'?'))
}

/// `uri-host [ ":" port ]`, without userinfo; `needs_port` for authority-form.
pub(super) fn is_authority(text: &[u8], needs_port: bool) -> bool {
    let (host, port) = match text {
        [b'[', ..] => match text.iter().position(|byte| *byte == b']') {
            Some(end) => text.split_at(end + 1),
            None => return false,
        },
        _ => {
            let colon = text.iter().position(|byte| *byte == b':');
            text.split_at(colon.unwrap_or(text.len()))
        }
    };
    let port_is_fine = match port {
        [] => !needs_port,
        [b':', digits @ ..] => {
            digits.iter().all(u8::is_ascii_digit) && !(needs_port && digits.is_empty())
        }
        _ => false,
    };
    let host_is_fine = match host {
        [b'[', literal @ .., b']'] => {
            std::str::from_utf8(literal).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
        }
        _ => !host.is_empty() && is_text_of(host, is_unreserved_or_sub_delim),
    };
    port_is_fine && host_is_fine
}
