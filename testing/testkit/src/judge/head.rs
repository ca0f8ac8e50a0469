//! `request-line CRLF *( field-line CRLF ) CRLF`, and how the body behind it is delimited.

use super::grammar::{field_line, is_authority, is_token, line, members};
use super::message::{Delimiter, Message, Stop, values};
use super::target::check;

/// Reads the head at `at`; its `end` is where the body starts.
pub(super) fn read(bytes: &[u8], at: usize) -> Result<Message, Stop> {
    let mut start = at;
    let mut empty_lines = 0;
    let (request_line, mut end) = loop {
        match line(bytes, start)? {
            ([], next) => {
                start = next;
                empty_lines += 1;
            }
            found => break found,
        }
    };
    let (method, target, minor) = read_request_line(request_line)?;
    let mut fields = Vec::new();
    loop {
        let (text, next) = line(bytes, end)?;
        end = next;
        if text.is_empty() {
            break;
        }
        fields.push(field_line(text)?);
    }
    check(&method, &target)?;
    check_host(&fields, minor)?;
    let delimiter = delimiter(&fields, minor)?;
    let last = method == b"CONNECT" || ends_connection(&fields, minor);
    let (body, trailers) = (Vec::new(), Vec::new());
    Ok(Message {
        start,
        end,
        empty_lines,
        method,
        target,
        minor,
        fields,
        delimiter,
        body,
        trailers,
        last,
    })
}

/// `request-line = method SP request-target SP HTTP-version`
fn read_request_line(text: &[u8]) -> Result<(Vec<u8>, Vec<u8>, u8), Stop> {
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words.as_slice() else {
        return Err(Stop::Refused("request line is not three words"));
    };
    if !is_token(method) {
        return Err(Stop::Refused("method is not a token"));
    }
    let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9'] = *version else {
        return Err(Stop::Refused("version is not HTTP/1.x"));
    };
    Ok((method.to_vec(), target.to_vec(), minor - b'0'))
}

/// RFC 9112 section 3.2: exactly one Host, which is valid; it may be missing in HTTP/1.0 only.
fn check_host(fields: &[(Vec<u8>, Vec<u8>)], minor: u8) -> Result<(), Stop> {
    match values(fields, "host").as_slice() {
        [] if minor == 0 => Ok(()),
        [] => Err(Stop::Refused("no Host")),
        [host] if host.is_empty() || is_authority(host, false) => Ok(()),
        [_] => Err(Stop::Refused("Host is not a host")),
        _ => Err(Stop::Refused("several Host")),
    }
}

/// RFC 9112 section 6.3, with an error wherever it leaves a choice.
fn delimiter(fields: &[(Vec<u8>, Vec<u8>)], minor: u8) -> Result<Delimiter, Stop> {
    let codings = values(fields, "transfer-encoding");
    let lengths = values(fields, "content-length");
    match (codings.as_slice(), lengths.as_slice()) {
        ([], []) => Ok(Delimiter::Nothing),
        ([], [length]) => {
            let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            let number = std::str::from_utf8(length).ok().and_then(|text| text.parse().ok());
            match number {
                Some(number) if digits => Ok(Delimiter::Length(number)),
                _ => Err(Stop::Refused("Content-Length is not a number")),
            }
        }
        ([coding], []) if minor > 0 && coding.eq_ignore_ascii_case(b"chunked") => {
            Ok(Delimiter::Chunked)
        }
        ([], _) => Err(Stop::Refused("several Content-Length")),
        (_, []) => Err(Stop::Refused("Transfer-Encoding is not just chunked, or in HTTP/1.0")),
        (_, _) => Err(Stop::Refused("Transfer-Encoding and Content-Length")),
    }
}

/// RFC 9112 section 9.3.
fn ends_connection(fields: &[(Vec<u8>, Vec<u8>)], minor: u8) -> bool {
    let options = values(fields, "connection");
    let has = |name: &[u8]| {
        options.iter().any(|v| members(v).iter().any(|one| one.eq_ignore_ascii_case(name)))
    };
    has(b"close") || (minor == 0 && !has(b"keep-alive"))
}
