//! Framing of forwarded messages: a length, chunks, or the end of the connection.
//!
//! The body's length is known once its head is read; filters in between may remove, change or add
//! framing fields. The framing sent always fits the body; otherwise the next message on the
//! connection would be read from the wrong place.

use weir_wire::http1::BodyKind;
use weir_wire::{Fields, Version};

use super::exchange::Exchange;
use super::relay::Framing;

/// Makes the framing fields fit `body`. If a filter has removed the length, chunked coding is used,
/// as in SCG.
pub(super) fn frame(fields: &mut Fields, body: BodyKind) -> Framing {
    match body {
        BodyKind::Length(length) => match fits(fields, length) {
            Some(true) => Framing::Identity,
            Some(false) => {
                fields.set(b"content-length", length.to_string().as_bytes());
                Framing::Identity
            }
            None if length == 0 => Framing::Identity,
            None => chunked(fields),
        },
        BodyKind::None => {
            fields.remove(b"content-length");
            Framing::Identity
        }
        BodyKind::Chunked | BodyKind::UntilClose => {
            fields.remove(b"content-length");
            chunked(fields)
        }
    }
}

/// Whether the single Content-Length is `length`; `None` if there is none.
fn fits(fields: &Fields, length: u64) -> Option<bool> {
    let mut told = fields.get_all(b"content-length");
    let first = told.next()?;
    Some(is_number(first, length) && told.next().is_none())
}

fn chunked(fields: &mut Fields) -> Framing {
    fields.append(b"transfer-encoding", b"chunked");
    Framing::Chunked
}

/// Removes all framing fields.
pub(super) fn unframe(fields: &mut Fields) {
    fields.retain(|name, _| {
        !name.eq_ignore_ascii_case(b"content-length")
            && !name.eq_ignore_ascii_case(b"transfer-encoding")
    });
}

/// Framing of the response to the client, the kind of the upstream's body, and whether the client's
/// connection can be kept. Sets the framing fields.
pub(super) fn frame_response(x: &mut Exchange, body: BodyKind) -> (Framing, BodyKind, bool) {
    x.response.fields.remove(b"transfer-encoding");
    let bodiless = matches!(x.response.status, 204 | 304) || x.request.method() == b"HEAD";
    if bodiless {
        if x.response.status == 204 {
            x.response.fields.remove(b"content-length");
        }
        return (Framing::Discard, body, true);
    }
    if matches!(body, BodyKind::None | BodyKind::Length(0)) {
        // Without a length, the client would wait for the end of the connection. `None` is the body
        // of a status without one, which a filter has changed into a status with one.
        x.response.fields.set(b"content-length", b"0");
        return (Framing::Identity, body, true);
    }
    let framing = frame(&mut x.response.fields, body);
    if framing == Framing::Chunked && x.request.version == Version::Http10 {
        // HTTP/1.0 has no chunks: the end of the connection is the end of the body.
        x.response.fields.remove(b"transfer-encoding");
        return (Framing::Identity, body, false);
    }
    (framing, body, true)
}

fn is_number(value: &[u8], number: u64) -> bool {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let append = |sum: u64, byte| sum.checked_mul(10)?.checked_add(digit(byte)?);
    !value.is_empty() && value.iter().try_fold(0, append) == Some(number)
}

#[cfg(test)]
mod tests {
    use weir_wire::Fields;
    use weir_wire::http1::BodyKind;

    use super::frame;

    fn check(filtered: &[(&str, &str)], body: BodyKind, expected: &[(&str, &str)]) {
        let mut fields = Fields::default();
        for (name, value) in filtered {
            fields.append(name.as_bytes(), value.as_bytes());
        }
        frame(&mut fields, body);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let left: Vec<_> = fields.iter().map(|(name, value)| (text(name), text(value))).collect();
        let left: Vec<_> = left.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(left, expected, "{filtered:?} {body:?}");
    }

    #[test]
    fn what_is_sent_fits_the_body_whatever_filters_did() {
        let five = ("Content-Length", "5");
        let chunked = ("transfer-encoding", "chunked");
        check(&[five], BodyKind::Length(5), &[five]);
        check(&[], BodyKind::Length(5), &[chunked]);
        check(&[("Content-Length", "3")], BodyKind::Length(5), &[("Content-Length", "5")]);
        check(&[five, five], BodyKind::Length(5), &[five]);
        check(&[("Content-Length", "05x")], BodyKind::Length(5), &[five]);
        check(&[("Content-Length", "0")], BodyKind::Length(0), &[("Content-Length", "0")]);
        check(&[], BodyKind::Length(0), &[]);
        check(&[five], BodyKind::None, &[]);
        check(&[five], BodyKind::Chunked, &[chunked]);
        check(&[five], BodyKind::UntilClose, &[chunked]);
    }
}
