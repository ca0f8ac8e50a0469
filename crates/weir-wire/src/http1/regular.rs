//! Heads that are written as nearly all are, in one pass: single blanks, values without tabs, lines
//! that end in CR LF, all of it there.
//!
//! Whatever is written otherwise, allowed or not, is left to `httparse`. What is read here is what
//! comes out there too: the tests read each head in both ways.

use crate::fields::{Fields, NameSet, Span};
use crate::message::Version;
use crate::syntax::{text_len, token_len};

/// A request line (RFC 9112 section 3); spans are in the head.
pub(super) struct RequestLine {
    pub method: Span,
    pub target: Span,
    pub version: Version,
}

/// A status line (RFC 9112 section 4).
pub(super) struct StatusLine {
    pub version: Version,
    pub status: u16,
    pub reason: Span,
}

/// The request line that `text` begins with, and where the next line does. Nothing is known of its
/// target but that it has no blank and no control byte.
pub(super) fn request_line(text: &[u8]) -> Option<(RequestLine, usize)> {
    let method = token_len(text);
    let target = method + 1;
    let len = text_len(text.get(target..)?, b'!');
    let end = target + len;
    let version = match text.get(end..)?.first_chunk()? {
        b" HTTP/1.1\r\n" => Version::Http11,
        b" HTTP/1.0\r\n" => Version::Http10,
        _ => return None,
    };
    if method == 0 || text.get(method) != Some(&b' ') || len == 0 {
        return None;
    }
    let line = RequestLine { method: span(0, method), target: span(target, len), version };
    Some((line, end + " HTTP/1.1\r\n".len()))
}

/// The status line that `text` begins with, and where the next line does.
pub(super) fn status_line(text: &[u8]) -> Option<(StatusLine, usize)> {
    let (start, rest) = text.split_first_chunk::<13>()?;
    let &[b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor, b' ', a, b, c, b' '] = start else {
        return None;
    };
    let version = match minor {
        b'0' => Version::Http10,
        b'1' => Version::Http11,
        _ => return None,
    };
    let digits = [a, b, c].map(|digit| u16::from(digit.wrapping_sub(b'0')));
    let status = digits.iter().fold(0, |sum, digit| sum * 10 + digit);
    let len = text_len(rest, b' ');
    if digits.iter().any(|digit| *digit > 9) || !rest.get(len..)?.starts_with(b"\r\n") {
        return None;
    }
    let line = StatusLine { version, status, reason: span(start.len(), len) };
    Some((line, start.len() + len + 2))
}

/// Adds the field lines of `text` from `at` on to `fields`, `fields_max` of them at most; where the
/// empty line behind them ends. The text itself is not added.
pub(super) fn fields(
    text: &[u8],
    mut at: usize,
    fields_max: usize,
    fields: &mut Fields,
) -> Option<usize> {
    loop {
        let line = text.get(at..)?;
        if line.starts_with(b"\r\n") {
            return Some(at + 2);
        }
        let (name, rest) = line.split_at_checked(token_len(line))?;
        let rest = rest.strip_prefix(b": ")?;
        let (value, rest) = rest.split_at_checked(text_len(rest, b' '))?;
        let (Some(b'!'..), Some(b'!'..)) = (value.first(), value.last()) else { return None };
        if name.is_empty() || !rest.starts_with(b"\r\n") || fields.len() == fields_max {
            return None;
        }
        let from = at + name.len() + 2;
        fields.push_sorted(NameSet::of(name), span(at, name.len()), span(from, value.len()));
        at = from + value.len() + 2;
    }
}

fn span(start: usize, len: usize) -> Span {
    Span { start: start as u32, len: len as u32 }
}

#[cfg(test)]
mod tests {
    use super::{fields, request_line, status_line};
    use crate::fields::Fields;

    fn check_fields(text: &str, expected: Option<usize>) {
        let mut read = Fields::default();
        assert_eq!(fields(text.as_bytes(), 1, 2, &mut read), expected, "{text:?}");
    }

    #[test]
    fn regular_lines_only() {
        check_fields("|\r\n", Some(3));
        check_fields("|A: b\r\nC-d: e f\r\n\r\nbody", Some(19));
        for other in
            ["|", "|\r", "|\n", "|A: b\r\n", "|A: b\r", "|A: b\n\r\n", "|A: b\rC: d\r\n\r\n"]
        {
            check_fields(other, None);
        }
        for other in ["A:b", "A:  b", "A: b ", "A:", "A: ", "A: b\tc", "A : b", ": b", "A: \x7f"] {
            check_fields(&format!("|{other}\r\n\r\n"), None);
        }
        check_fields("|A: b\r\n C\r\n\r\n", None);
        check_fields("|A: 1\r\nB: 2\r\nC: 3\r\n\r\n", None);
    }

    #[test]
    fn regular_first_lines_only() {
        let request = |text: &str| request_line(text.as_bytes()).map(|(_, len)| len);
        assert_eq!(request("GET /a HTTP/1.1\r\nHost"), Some(17));
        assert_eq!(request("GET /a HTTP/1.0\r\n"), Some(17));
        for other in ["\r\nGET / HTTP/1.1\r\n", "GET  / HTTP/1.1\r\n", "GET /  HTTP/1.1\r\n"] {
            assert_eq!(request(other), None, "{other:?}");
        }
        for other in
            ["GET / HTTP/1.1\n", "GET / HTTP/1.2\r\n", "GET /", "", "GET", " / HTTP/1.1\r\n"]
        {
            assert_eq!(request(other), None, "{other:?}");
        }
        let status =
            |text: &str| status_line(text.as_bytes()).map(|(line, len)| (line.status, len));
        assert_eq!(status("HTTP/1.1 204 No Content\r\n\r\n"), Some((204, 25)));
        assert_eq!(status("HTTP/1.0 007 \r\n"), Some((7, 15)));
        for other in
            ["HTTP/1.1 200\r\n", "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1 200 OK\n", "HTTP/1.1 200 O"]
        {
            assert_eq!(status(other), None, "{other:?}");
        }
        for other in ["HTTP/1.2 200 OK\r\n", "HTTP/1.1 200 \x01\r\n", "http/1.1 200 OK\r\n"] {
            assert_eq!(status(other), None, "{other:?}");
        }
    }
}
