//! Escapes in texts of pipelines, which ini files and single-quoted YAML keep.

use crate::fields::Fields;

/// The bytes of a field: its text with `\r`, `\n`, `\t`, `\\` and `\xNN` decoded. `None` if it is
/// missing or wrong, which is reported.
pub(super) fn bytes(fields: &mut Fields<'_, '_>, name: &str) -> Option<Vec<u8>> {
    let text = fields.whole_text(name)?;
    decoded(fields, name, &text)
}

/// The bytes of `text`, a part of the field `name`.
pub(super) fn decoded(fields: &mut Fields<'_, '_>, name: &str, text: &str) -> Option<Vec<u8>> {
    match unescape(text) {
        Ok(bytes) => Some(bytes),
        Err(wrong) => {
            let at = fields.node(name).map_or(fields.at(), |node| node.span());
            let help = "write `\\r`, `\\n`, `\\t`, `\\\\` for a backslash, or `\\x0d` for any byte";
            fields.wrong(at, format!("`{wrong}` is no escape"), help);
            None
        }
    }
}

/// # Errors
/// What stands in the place of an escape.
fn unescape(text: &str) -> Result<Vec<u8>, &str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        let mut chars = behind.chars();
        match chars.next() {
            Some('r') => out.push(b'\r'),
            Some('n') => out.push(b'\n'),
            Some('t') => out.push(b'\t'),
            Some('\\') => out.push(b'\\'),
            Some('x') => {
                let digits = behind.get(1..3).filter(|two| !two.starts_with('+'));
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                out.push(byte.ok_or_else(|| beginning(rest, before.len(), 4))?);
                chars = behind.get(3..).unwrap_or_default().chars();
            }
            _ => return Err(beginning(rest, before.len(), 2)),
        }
        rest = chars.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// At most so many characters of `text` from byte `from` on.
fn beginning(text: &str, from: usize, count: usize) -> &str {
    let text = text.get(from..).unwrap_or_default();
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn escapes_are_decoded_or_refused() {
        let check = |text: &str, expected: Result<&[u8], &str>| {
            assert_eq!(unescape(text).as_deref(), expected.as_deref(), "{text}");
        };
        check("PING\\r\\n", Ok(b"PING\r\n"));
        check(r"a\\b\t\x00\xfFé", Ok(b"a\\b\t\0\xff\xc3\xa9"));
        check("a\\q", Err("\\q"));
        check("a\\xZZb", Err("\\xZZ"));
        check("\\x+1", Err("\\x+1"));
        check("\\x1", Err("\\x1"));
        check("\\xé1", Err("\\xé1"));
        check("end\\", Err("\\"));
    }
}
