//! Escapes in texts of pipelines.

use crate::fields::Fields;
use crate::spring::Node;

const EXPECTED: &str = "write `\\r`, `\\n`, `\\t`, `\\\\` for a backslash, or `\\x` with two hexadecimal \
                        digits, such as `\\x03`";

/// The bytes of a field, without trimming; none if it is missing. A wrong escape is reported.
pub(super) fn bytes(fields: &mut Fields<'_, '_>, name: &str) -> Vec<u8> {
    let text = fields.node(name).and_then(Node::text).unwrap_or_default();
    bytes_of(fields, name, &text)
}

/// The bytes of `text`, a part of the field `name`. A wrong escape is reported.
pub(super) fn bytes_of(fields: &mut Fields<'_, '_>, name: &str, text: &str) -> Vec<u8> {
    unescape(text).unwrap_or_else(|wrong| {
        let at = fields.node(name).map(Node::span).unwrap_or_default();
        fields.wrong(at, format!("`{wrong}` in `{name}` is no escape"), EXPECTED);
        Vec::new()
    })
}

/// Decodes `\r`, `\n`, `\t`, `\\` and `\xNN`, which ini files and single-quoted YAML keep.
///
/// # Errors
/// The first text that starts as an escape and is none.
fn unescape(text: &str) -> Result<Vec<u8>, &str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.extend_from_slice(plain.as_bytes());
        let (byte, len) = match escape.chars().next() {
            Some('r') => (Some(b'\r'), 1),
            Some('n') => (Some(b'\n'), 1),
            Some('t') => (Some(b'\t'), 1),
            Some('\\') => (Some(b'\\'), 1),
            Some('x') => (escape.get(1..3).and_then(hexadecimal), 3),
            _ => (None, 1),
        };
        let Some(byte) = byte else {
            let from = text.len() - escape.len() - 1;
            let wrong = text.get(from..).unwrap_or_default();
            let end = wrong.char_indices().nth(len + 1).map_or(wrong.len(), |(end, _)| end);
            return Err(wrong.get(..end).unwrap_or_default());
        };
        out.push(byte);
        rest = escape.get(len..).unwrap_or_default();
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// `03` → 3. `from_str_radix` alone would take `+3` too.
fn hexadecimal(digits: &str) -> Option<u8> {
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn escapes_become_bytes() {
        for (text, expected) in [
            ("", Ok(&b""[..])),
            (r"PING\r\n", Ok(b"PING\r\n")),
            (r"\t\\n\x00\xfF", Ok(b"\t\\n\x00\xff")),
            ("é\\x03é", Ok("é\u{3}é".as_bytes())),
            (r"a\xZZb", Err(r"\xZZ")),
            (r"\x+3", Err(r"\x+3")),
            (r"\x3", Err(r"\x3")),
            ("\\xéé", Err("\\xéé")),
            (r"\\\q", Err(r"\q")),
            ("\\é", Err("\\é")),
            (r"a\", Err(r"\")),
        ] {
            assert_eq!(unescape(text).as_deref(), expected.as_ref().map(|bytes| *bytes), "{text}");
        }
    }
}
