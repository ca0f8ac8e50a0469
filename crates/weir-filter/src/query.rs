//! Query parameters: found by decoded name; all other bytes stay unchanged.

/// The parameters of a raw query as written, `name`, `name=` or `name=value`, in order.
pub(crate) fn parameters(query: &[u8]) -> impl Iterator<Item = &[u8]> {
    query.split(|&byte| byte == b'&')
}

/// Whether the decoded name of the raw parameter `written` is `name`.
pub(crate) fn is_named(written: &[u8], name: &str) -> bool {
    let end = memchr::memchr(b'=', written).unwrap_or(written.len());
    // An empty parameter or one without a name, such as `=v`, does not count.
    end > 0 && decoded(written.get(..end).unwrap_or_default()).eq(name.bytes())
}

/// Decoded bytes of a raw name or value: `+` is a blank, `%XX` a byte.
fn decoded(raw: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let (byte, tail) = match rest {
            [] => return None,
            [b'+', tail @ ..] => (b' ', tail),
            [b'%', high, low, tail @ ..] => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, tail),
                _ => (b'%', rest.get(1..).unwrap_or_default()),
            },
            [byte, tail @ ..] => (*byte, tail),
        };
        rest = tail;
        Some(byte)
    })
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Whether `byte` may appear unencoded in a query (RFC 3986 `query`), `%` excluded.
pub(crate) fn is_query_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte)
}

/// Whether `byte` is `unreserved` (RFC 3986), and never needs encoding.
pub(crate) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// `query` without the parameters called `name`; `None` if there were none.
pub(crate) fn without(query: &[u8], name: &str) -> Option<Vec<u8>> {
    if !parameters(query).any(|written| is_named(written, name)) {
        return None;
    }
    let mut kept = Vec::with_capacity(query.len());
    let mut first = true;
    for written in parameters(query).filter(|written| !is_named(written, name)) {
        if !first {
            kept.push(b'&');
        }
        first = false;
        kept.extend_from_slice(written);
    }
    Some(kept)
}

/// Appends the raw parameter `written` to `query`.
pub(crate) fn append(query: &mut Vec<u8>, written: &[u8]) {
    if !matches!(query.last(), None | Some(b'&')) {
        query.push(b'&');
    }
    query.extend_from_slice(written);
}

#[cfg(test)]
mod tests {
    use super::without;

    fn check(query: &str, name: &str, expected: Option<&str>) {
        let kept = without(query.as_bytes(), name);
        assert_eq!(kept.as_deref(), expected.map(str::as_bytes), "{query:?}");
    }

    #[test]
    fn parameters_are_found_by_decoded_name() {
        check("a=1&p=2&b=3&p=4", "p", Some("a=1&b=3"));
        check("p=1", "p", Some(""));
        check("p", "p", Some(""));
        check("a=1&b", "p", None);
        check("", "p", None);
        check("%70=1&a", "p", Some("a"));
        check("x+y=1&x%20y=2&z", "x y", Some("z"));
        check("a=p&%zz=1", "p", None);
        check("a=%2B+%7e&p&b=x:/@!&&c=%c3", "p", Some("a=%2B+%7e&b=x:/@!&&c=%c3"));
    }
}
