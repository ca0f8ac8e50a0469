//! The content behind a head: so many bytes, or `chunked-body` of RFC 9112 section 7.1.

use super::grammar::{field_line, is_field_value, line};
use super::message::{Delimiter, Message, Stop};

/// Reads the body of `message`, whose `end` is where it starts, and moves `end` behind it.
pub(super) fn read(bytes: &[u8], message: &mut Message) -> Result<(), Stop> {
    match message.delimiter {
        Delimiter::Nothing => Ok(()),
        Delimiter::Length(length) => content(bytes, message, length),
        Delimiter::Chunked => chunked(bytes, message),
    }
}

/// Reads `length` bytes of content, or as many as there are.
fn content(bytes: &[u8], message: &mut Message, length: u64) -> Result<(), Stop> {
    let rest = bytes.get(message.end..).unwrap_or_default();
    let there = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
    message.body.extend(rest.iter().take(there));
    message.end += there;
    if there as u64 == length { Ok(()) } else { Err(Stop::Inside) }
}

/// `chunked-body = *chunk last-chunk trailer-section CRLF`
fn chunked(bytes: &[u8], message: &mut Message) -> Result<(), Stop> {
    loop {
        let (text, next) = line(bytes, message.end)?;
        let size = chunk_size(text)?;
        message.end = next;
        if size == 0 {
            break;
        }
        content(bytes, message, size)?;
        match bytes.get(message.end..).unwrap_or_default() {
            [b'\r', b'\n', ..] => message.end += 2,
            [] | [b'\r'] => return Err(Stop::Inside),
            _ => return Err(Stop::Refused("no CRLF behind chunk-data")),
        }
    }
    loop {
        let (text, next) = line(bytes, message.end)?;
        message.end = next;
        if text.is_empty() {
            return Ok(());
        }
        let trailer = field_line(text)?;
        message.trailers.push(trailer);
    }
}

/// `chunk-size [ chunk-ext ]`. An extension is not taken apart, since none is known and unknown
/// ones are ignored: any bytes of a field value will do behind `BWS ";"`.
fn chunk_size(text: &[u8]) -> Result<u64, Stop> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, extension) = text.split_at(digits);
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    let size = u64::from_str_radix(digits, 16);
    let Ok(size) = size else { return Err(Stop::Refused("chunk-size is not a number")) };
    let mut behind = extension;
    while let [b' ' | b'\t', rest @ ..] = behind {
        behind = rest;
    }
    match (extension, behind) {
        ([], _) => Ok(size),
        (_, [b';', ..]) if is_field_value(behind) => Ok(size),
        _ => Err(Stop::Refused("chunk-size is followed by something else")),
    }
}
