//! Escapes in texts of pipelines.

/// Decodes `\r`, `\n`, `\t`, `\\` and `\xNN`, which ini files and single-quoted YAML keep.
pub(super) fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match rest.next() {
            Some('r') => out.push(b'\r'),
            Some('n') => out.push(b'\n'),
            Some('t') => out.push(b'\t'),
            Some('x') => {
                let digits: String = rest.by_ref().take(2).collect();
                out.extend(u8::from_str_radix(&digits, 16));
            }
            Some(other) => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.push(b'\\'),
        }
    }
    out
}
