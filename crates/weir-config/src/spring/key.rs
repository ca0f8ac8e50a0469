//! Property names: segments, and equality by Spring Boot's relaxed binding.
//!
//! `connect-timeout`, `connectTimeout` and `CONNECT_TIMEOUT` name the same property: case, `-` and
//! `_` are ignored. Names in brackets (`[/**]`) are compared exactly.

/// Maximum number of segments of a key.
const SEGMENTS_MAX: usize = 32;

/// A segment of a dotted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment<'t> {
    /// Text without brackets.
    pub text: &'t str,
    /// Written in brackets.
    pub bracketed: bool,
}

impl Segment<'_> {
    /// The element number of `[3]`.
    pub fn index(self) -> Option<u32> {
        if !self.bracketed { None } else { index(self.text) }
    }
}

/// `text` as an element number.
pub(crate) fn index(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.len() < 9 && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Whether `key` is more than one plain segment.
pub(crate) fn is_path(key: &str) -> bool {
    key.bytes().any(|byte| byte == b'.' || byte == b'[')
}

/// Splits `a.b[0][/**]` into its segments. A key with invalid syntax is one segment.
pub(crate) fn segments(key: &str) -> Vec<Segment<'_>> {
    split(key).unwrap_or_else(|| vec![Segment { text: key, bracketed: false }])
}

fn split(key: &str) -> Option<Vec<Segment<'_>>> {
    let mut list = Vec::with_capacity(8);
    let mut rest = key;
    while !rest.is_empty() {
        if list.len() >= SEGMENTS_MAX {
            return None;
        }
        if let Some(inside) = rest.strip_prefix('[') {
            let (text, after) = inside.split_once(']')?;
            list.push(Segment { text, bracketed: true });
            rest = match after.strip_prefix('.') {
                Some("") => return None,
                Some(after) => after,
                None if after.is_empty() || after.starts_with('[') => after,
                None => return None,
            };
            continue;
        }
        let end = rest.bytes().position(|byte| matches!(byte, b'.' | b'['));
        let end = end.unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        if text.is_empty() {
            return None;
        }
        list.push(Segment { text, bracketed: false });
        rest = match after.strip_prefix('.') {
            Some("") => return None,
            Some(after) => after,
            None => after,
        };
    }
    if list.is_empty() { None } else { Some(list) }
}

/// Whether two names are equal, ignoring case, `-` and `_`.
pub(crate) fn same(one: &str, two: &str) -> bool {
    letters(one).eq(letters(two))
}

/// The characters of a name that are compared.
pub(crate) fn letters(name: &str) -> impl Iterator<Item = char> + Clone {
    name.chars().filter(|c| *c != '-' && *c != '_').map(|c| c.to_ascii_lowercase())
}

/// A normal form, equal for names that are the [`same`].
pub(crate) fn canonical(segment: Segment<'_>) -> String {
    let plain = segment.text.bytes().all(|b| b.is_ascii_alphanumeric());
    if segment.bracketed && !plain {
        return segment.text.to_owned();
    }
    letters(segment.text).collect()
}

#[cfg(test)]
mod tests {
    use super::{same, segments};

    fn check(key: &str, expected: &str) {
        let parts: Vec<String> = segments(key)
            .into_iter()
            .map(|s| if s.bracketed { format!("[{}]", s.text) } else { s.text.to_owned() })
            .collect();
        assert_eq!(parts.join(" "), expected);
    }

    #[test]
    fn keys_split_at_dots_and_brackets() {
        check("routes", "routes");
        check("spring.cloud.gateway.routes", "spring cloud gateway routes");
        check("routes[0].predicates[1]", "routes [0] predicates [1]");
        check(
            "cors-configurations.[/**].allowedHeaders",
            "cors-configurations [/**] allowedHeaders",
        );
        check("[/a.b/**]", "[/a.b/**]");
        check("args[pattern]", "args [pattern]");
        check("[0]", "[0]");
    }

    #[test]
    fn what_is_no_path_stays_whole() {
        check("a..b", "a..b");
        check(".a", ".a");
        check("a.", "a.");
        check("a[0", "a[0");
        check("a[0]b", "a[0]b");
        check("", "");
    }

    #[test]
    fn relaxed_names_are_the_same() {
        assert!(same("connect-timeout", "connectTimeout"));
        assert!(same("CONNECT_TIMEOUT", "connect-timeout"));
        assert!(!same("connect-timeouts", "connect-timeout"));
    }
}
