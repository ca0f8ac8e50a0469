//! Masking of secrets: no diagnostic shows a password, a token or a key.

use std::ops::Range;

/// Replacement of a masked text.
pub(super) const HIDDEN: &str = "******";

/// The name of a filter, which is not secret.
const TOKEN_RELAY: &str = "TokenRelay";

/// Words that make any name secret that contains them.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "secrets",
    "token",
    "tokens",
    "credential",
    "credentials",
    "apikey",
    "authorization",
];

/// Whether a property or header of this name has a secret value: its last segment contains a secret
/// word, or ends in `key`.
pub fn is_secret(name: &str) -> bool {
    let last = name.trim().rsplit('.').next().unwrap_or_default();
    let words = words(last);
    if last == TOKEN_RELAY {
        return false;
    }
    let secret = words.iter().any(|word| WORDS.contains(&word.as_str()));
    secret || words.last().is_some_and(|word| word == "key")
}

/// Whether a text has a placeholder for a secret, such as `${db.password}`.
pub(crate) fn fills_in_secret(text: &str) -> bool {
    let names = text.split("${").skip(1);
    names.filter_map(|rest| rest.split([':', '}']).next()).any(is_secret)
}

/// `apiKey`, `api-key`, `API_KEY` → `api`, `key`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut lower_before = false;
    let mut fresh = true;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            fresh = true;
            lower_before = false;
            continue;
        }
        if fresh || (c.is_uppercase() && lower_before) {
            words.push(String::new());
        }
        fresh = false;
        lower_before = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// Masks user and password of every URL in a text.
pub(crate) fn mask_url(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = rest.find("://") {
        let (before, after) = rest.split_at(found + 3);
        out.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`');
        let authority = after.split(ends).next().unwrap_or_default();
        rest = after;
        if let Some((user, _)) = authority.rsplit_once('@') {
            out.push_str(HIDDEN);
            rest = after.get(user.len()..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    mask_logins(&out)
}

/// Masks `user:password` before an `@` without a `://`, as in `http:/user:password@host`.
fn mask_logins(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let (before, after) = rest.split_at(at);
        let belongs = |c: char| c.is_alphanumeric() || "._~%!$&*+=:-".contains(c);
        let login = before.trim_end_matches(belongs).len();
        let (before, login) = before.split_at(login);
        out.push_str(before);
        out.push_str(if login.contains(':') { HIDDEN } else { login });
        out.push('@');
        rest = after.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Masks the secrets in a line for an excerpt, and adjusts the marked range. A name that ends in
/// one of the `open` ranges is not that of a secret.
pub(super) fn mask_line(
    line: &str,
    (start, end): (usize, usize),
    all: bool,
    open: &[Range<usize>],
) -> (String, usize, usize) {
    let hide_from = if all { hidden_whole(line) } else { secret_value(line, open) };
    let Some(from) = hide_from else {
        let masked = mask_url(line);
        let (start, end) = moved(line, &masked, start, end);
        return (masked, start, end);
    };
    let shown = line.get(..from).unwrap_or_default();
    let masked = format!("{shown}{HIDDEN}");
    if end <= from {
        return (masked, start, end);
    }
    let start = start.min(from);
    let end = masked.len();
    (masked, start, end)
}

/// The range of `masked` for the marked range of `line`; extends to the end if its end was masked.
fn moved(line: &str, masked: &str, start: usize, end: usize) -> (usize, usize) {
    let before = |at: usize| line.get(..at).is_some_and(|text| masked.starts_with(text));
    let place = |at: usize| {
        if before(at) {
            return Some(at);
        }
        let tail = line.get(at..).filter(|tail| masked.ends_with(tail))?;
        Some(masked.len() - tail.len())
    };
    let start = place(start).unwrap_or_default();
    (start, place(end).unwrap_or(masked.len()).max(start))
}

/// Start of the value of a line: after `key:`, `key=` or `- `.
fn hidden_whole(line: &str) -> Option<usize> {
    let blanks = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    let rest = line.get(blanks..).unwrap_or_default();
    let value = rest.find([':', '=']).map_or(0, |at| at + 1);
    Some(skip_blanks(line, blanks + value))
}

/// Start of the secret value in `key: value`, `key=value` or `Filter=Header, value`.
fn secret_value(line: &str, open: &[Range<usize>]) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = line.get(from..)?.find([':', '=', ',']) {
        let at = from + found;
        const AROUND: [char; 9] = [' ', '\t', '-', '"', '\'', '{', '[', ']', '}'];
        let name = line.get(from..at)?.trim_end_matches(AROUND);
        let ends = from + name.len();
        let is_open = open.iter().any(|range| (range.start..=range.end).contains(&ends));
        if !is_open && is_secret(name.trim_start_matches(AROUND)) {
            return Some(skip_blanks(line, at + 1));
        }
        from = at + 1;
    }
    None
}

fn skip_blanks(line: &str, from: usize) -> usize {
    let rest = line.get(from..).unwrap_or_default();
    from + (rest.len() - rest.trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::{is_secret, mask_line, mask_url};

    fn check(line: &str, expected: &str) {
        let (masked, start, end) = mask_line(line, (0, line.len()), false, &[]);
        assert_eq!(masked, expected);
        assert!(masked.get(start..end).is_some());
    }

    #[test]
    fn names_tell_secrets() {
        for name in ["password", "spring.redis.password", "apiKey", "X-Api-Key", "ADMIN_TOKEN"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["key-resolver", "keys", "monkey", "TokenRelay", "path", "keyResolver"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn lines_hide_secrets() {
        check("  password: abc", "  password: ******");
        check("spring.redis.password=abc", "spring.redis.password=******");
        check(
            "- AddRequestHeader=Authorization, Basic abc",
            "- AddRequestHeader=Authorization, ******",
        );
        check("uri: http://u:p@h:80/x", "uri: http://******@h:80/x");
        check("  id: a", "  id: a");
        check("{\"token\": \"abc\"}", "{\"token\": ******");
    }

    #[test]
    fn an_open_text_is_shown() {
        let line = "{ key: \"header:X-Api-Key\", password: abc, key: def }";
        let check = |open: &str, expected: &str| {
            let start = line.find(open).expect("it is there");
            let open = start..start + open.len();
            let (masked, ..) = mask_line(line, (0, 1), false, std::slice::from_ref(&open));
            assert_eq!(masked, expected);
        };
        check("key: \"header:X-Api-Key", "{ key: \"header:X-Api-Key\", password: ******");
        check("key", "{ key: \"header:X-Api-Key\", ******");
        check("abc", "{ key: ******");
    }

    #[test]
    fn marks_move_with_what_is_hidden_before_them() {
        let check = |line: &str, marked: &str, expected: &str| {
            let start = line.find(marked).expect("it is there");
            let (masked, start, end) = mask_line(line, (start, start + marked.len()), false, &[]);
            assert_eq!(masked.get(start..end), Some(expected), "{masked}");
        };
        check("uri: http://user:password@h/é", "é", "é");
        check("uri: http://u:p@h, x: é", "x", "x");
        check("é: http://u:p@h", "é", "é");
        check("uri: http://u:p@h/é", "u:p@h", "******@h");
        check("uri: http://u:pé@h/x", "é@h/x", "uri: http://******@h/x");
    }

    #[test]
    fn urls_hide_users() {
        assert_eq!(
            mask_url("a http://u:p@h/x, redis://:q@r"),
            "a http://******@h/x, redis://******@r"
        );
        assert_eq!(mask_url("http://h/@x"), "http://h/@x");
        assert_eq!(mask_url("uri: http:/u:p@h, http:u:p@h"), "uri: http:/******@h, ******@h");
        assert_eq!(mask_url("Path=/{id:[^@]+}/a@b, #{@bean}"), "Path=/{id:[^@]+}/a@b, #{@bean}");
    }
}
