//! Byte classes of the HTTP grammar, and the two list forms every field reader needs.
//!
//! One table for all of them, so that no two parsers disagree on what a token is.

/// `tchar` (RFC 9110 section 5.6.2).
const TOKEN: u8 = 1;
/// Bytes of a path or query: RFC 3986 `pchar`, `/`, `?`, and the `[` `]` browsers send.
const TARGET: u8 = 2;
/// A registered name's bytes (RFC 3986) but `,`, which would make Host a list, and `%`.
const HOST: u8 = 4;
/// Bytes that every server reads alike in a path: `TARGET` without `%`, `;`, `.` and the delimiters
/// that end a path.
const PLAIN: u8 = 8;
/// Bytes of a field value (RFC 9110 section 5.5).
const VALUE: u8 = 16;
/// The bytes of `TARGET` that are allowed in a path.
const PATH: u8 = 32;
/// The byte between two segments of a path.
const SLASH: u8 = 64;

const CLASSES: [u8; 256] = classes();

#[expect(clippy::indexing_slicing, reason = "below 256; made by the compiler")]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        let alnum = byte.is_ascii_alphanumeric();
        if alnum || is_one_of(byte, b"!#$%&'*+-.^_`|~") {
            table[at] |= TOKEN;
        }
        if alnum || is_one_of(byte, b"-._~!$&'()*+,;=:@/?%[]") {
            table[at] |= TARGET;
            if byte != b'?' {
                table[at] |= PATH;
            }
        }
        if alnum || is_one_of(byte, b"-._~!$&'()*+;=") {
            table[at] |= HOST;
        }
        if alnum || is_one_of(byte, b"-_~!$&'()*+,=:@/") {
            table[at] |= PLAIN;
        }
        if byte == b'/' {
            table[at] |= SLASH;
        }
        if byte == b'\t' || (byte >= b' ' && byte != 0x7f) {
            table[at] |= VALUE;
        }
        at += 1;
    }
    table
}

#[expect(clippy::indexing_slicing, reason = "`at` is below the length; made by the compiler")]
const fn is_one_of(byte: u8, set: &[u8]) -> bool {
    let mut at = 0;
    while at < set.len() {
        if set[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}

#[inline]
fn classes_of(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or_default()
}

#[inline]
fn has_class(byte: u8, class: u8) -> bool {
    classes_of(byte) & class != 0
}

/// Whether `byte` may be part of a token.
#[inline]
pub(crate) fn is_token_byte(byte: u8) -> bool {
    has_class(byte, TOKEN)
}

/// Whether `byte` may be part of a path or query (`%` included).
#[inline]
pub(crate) fn is_target_byte(byte: u8) -> bool {
    has_class(byte, TARGET)
}

/// Whether `byte` may be part of a host name as sent (`%` excluded).
#[inline]
pub(crate) fn is_host_byte(byte: u8) -> bool {
    has_class(byte, HOST)
}

/// Whether all of `bytes` have `class`. No early exit: nearly all inputs pass.
#[inline]
fn all_have(bytes: &[u8], class: u8) -> bool {
    bytes.iter().fold(class, |all, &byte| all & classes_of(byte)) != 0
}

/// Whether `bytes` may be a path or query (`%` and `?` included).
pub(crate) fn is_target(bytes: &[u8]) -> bool {
    all_have(bytes, TARGET)
}

/// Whether `bytes` may be a path (`%` included).
pub(crate) fn is_path(bytes: &[u8]) -> bool {
    all_have(bytes, PATH)
}

/// Whether every server reads this path in the same way: it starts with `/` and has no dots,
/// escapes, parameters and doubled slashes. Recognizes most paths in one pass.
pub fn is_plain_path(path: &[u8]) -> bool {
    // No early exit, as in `all_have`.
    let (mut all, mut doubled, mut before) = (PLAIN, 0, 0);
    for &byte in path {
        let classes = classes_of(byte);
        all &= classes;
        doubled |= classes & before;
        before = classes;
    }
    path.first() == Some(&b'/') && all != 0 && doubled & SLASH == 0
}

/// Whether two names are the same but for case: `eq_ignore_ascii_case`, in a few words instead of
/// byte by byte.
// Once, not at each of its calls: a request makes several, and is slowed down by how much code it
// runs through.
#[inline(never)]
pub(crate) fn is_same_name(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // The last word overlaps the one before.
    if let (Some(a_end), Some(b_end)) = (a.last_chunk::<8>(), b.last_chunk()) {
        let (a, b) = (a.as_chunks().0, b.as_chunks().0);
        let same =
            |a: &[u8; 8], b: &[u8; 8]| is_same_word(u64::from_ne_bytes(*a), u64::from_ne_bytes(*b));
        return same(a_end, b_end) && a.iter().zip(b).all(|(a, b)| same(a, b));
    }
    match (half_words(a), half_words(b)) {
        (Some(a), Some(b)) => is_same_word(a, b),
        _ => a.eq_ignore_ascii_case(b),
    }
}

/// The first four bytes and the last four.
fn half_words(name: &[u8]) -> Option<u64> {
    let (start, end) = (name.first_chunk()?, name.last_chunk()?);
    Some(u64::from(u32::from_ne_bytes(*start)) << 32 | u64::from(u32::from_ne_bytes(*end)))
}

/// Whether eight bytes are the same but for the case of ASCII letters.
fn is_same_word(a: u64, b: u64) -> bool {
    let differing = a ^ b;
    differing & !CASE == 0 && differing & !(letters(a) >> 2) == 0
}

/// A byte in each byte of a word.
const EACH: u64 = u64::MAX / 255;
/// The bit that distinguishes the cases of a letter.
const CASE: u64 = EACH * 0x20;
const TOP: u64 = EACH * 0x80;

/// The top bit of each byte of `word` that is an ASCII letter.
#[inline]
fn letters(word: u64) -> u64 {
    // From `a` to `z` in lower case, without a byte's top bit.
    let lower = (word | CASE) & !TOP;
    let from_a = lower + EACH * (0x80 - b'a' as u64);
    let beyond_z = lower + EACH * (0x7f - b'z' as u64);
    from_a & !beyond_z & !word & TOP
}

/// The top bit of each byte of `word` that is `byte`.
#[inline]
fn marked(word: u64, byte: u8) -> u64 {
    let differing = word ^ (EACH * u64::from(byte));
    !(((differing & !TOP) + !TOP) | differing) & TOP
}

/// Calls `visit` with each place of `byte` in `bytes`, in order. For texts too short for `memchr`.
#[inline]
pub fn each_place(bytes: &[u8], byte: u8, mut visit: impl FnMut(usize)) {
    let (words, rest) = bytes.as_chunks();
    for (at, word) in words.iter().enumerate() {
        let mut marks = marked(u64::from_le_bytes(*word), byte);
        while marks != 0 {
            visit(at * 8 + marks.trailing_zeros() as usize / 8);
            marks &= marks - 1;
        }
    }
    for (at, other) in rest.iter().enumerate() {
        if *other == byte {
            visit(words.len() * 8 + at);
        }
    }
}

/// Whether `bytes` contains either of two bytes. For texts too short for `memchr2`.
#[inline]
pub fn has_either(bytes: &[u8], one: u8, other: u8) -> bool {
    let (words, rest) = bytes.as_chunks();
    let marks = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        marked(word, one) | marked(word, other)
    };
    let any = words.iter().fold(0, |any, word| any | marks(word));
    any != 0 || rest.iter().any(|byte| *byte == one || *byte == other)
}

/// Appends `bytes` to `out`. Once, not at each of its calls, as [`is_same_name`].
#[inline(never)]
pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

/// Whether `bytes` is a token: a method, a field name, a connection option.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && all_have(bytes, TOKEN)
}

/// Whether `bytes` can be a field value (RFC 9110 section 5.5: HTAB, SP, VCHAR, obs-text): no
/// control byte but HTAB, so no CR, LF or NUL.
pub fn is_field_value(bytes: &[u8]) -> bool {
    if bytes.len() < 32 {
        return all_have(bytes, VALUE);
    }
    // No early exit: so the compiler turns it into wide compares.
    bytes.iter().fold(true, |fine, &b| fine & ((b >= b' ' || b == b'\t') & (b != 0x7f)))
}

/// `bytes` without blanks (SP, HTAB) at either end.
pub fn trim_blanks(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let Some(start) = bytes.iter().position(|b| !is_blank(b)) else { return &[] };
    let end = bytes.iter().rposition(|b| !is_blank(b)).map_or(start, |last| last + 1);
    bytes.get(start..end).unwrap_or_default()
}

/// The members of a comma-separated field value without blanks and empty members (RFC 9110
/// section 5.6.1). Quoted commas are not known: for lists of tokens only (Connection, TE, Upgrade).
pub fn list_members(value: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    value.split(|&byte| byte == b',').map(trim_blanks).filter(|member| !member.is_empty())
}

/// The value of the two hex digits after a `%`, if they are hex digits.
pub(crate) fn percent_byte(digits: Option<&[u8]>) -> Option<u8> {
    let &[high, low] = digits? else { return None };
    let high = char::from(high).to_digit(16)?;
    let low = char::from(low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests {
    use super::{
        each_place, has_either, is_field_value, is_plain_path, is_same_name, is_token,
        list_members, percent_byte, trim_blanks,
    };
    use crate::http1::{LenientPath, canonical_path, lenient_path};

    fn check(value: &str, expected: &[&str]) {
        let members: Vec<_> = list_members(value.as_bytes()).collect();
        let expected: Vec<_> = expected.iter().map(|m| m.as_bytes()).collect();
        assert_eq!(members, expected, "{value:?}");
    }

    #[test]
    fn lists_drop_blanks_and_empty_members() {
        check("", &[]);
        check(",, ,\t", &[]);
        check("close", &["close"]);
        check(" a ,\tb,,c d ", &["a", "b", "c d"]);
    }

    #[test]
    fn names_are_the_same_where_the_library_says_so() {
        for len in 0..20 {
            let name: Vec<u8> = (0..len).map(|at| b"aZ-\xe9"[at % 4]).collect();
            assert!(is_same_name(&name, &name.to_ascii_uppercase()));
            assert!(!is_same_name(&name, &[&name[..], b"a"].concat()));
            for at in 0..len {
                for (one, other) in (0..=255).flat_map(|one| [1, 0x20, 0x80].map(|bit| (one, bit)))
                {
                    let (mut a, mut b) = (name.clone(), name.clone());
                    (a[at], b[at]) = (one, one ^ other);
                    let expected = a.eq_ignore_ascii_case(&b);
                    assert_eq!(is_same_name(&a, &b), expected, "{a:?} {b:?}");
                }
            }
        }
    }

    /// Each text of up to 19 bytes of `sample`, and each with any one other byte in it.
    fn each_text(sample: &[u8], check: impl Fn(&[u8])) {
        for len in 0..20 {
            let mut text: Vec<u8> = sample.iter().copied().cycle().take(len).collect();
            check(&text);
            for at in 0..len {
                for byte in 0..=255 {
                    let before = std::mem::replace(&mut text[at], byte);
                    check(&text);
                    text[at] = before;
                }
            }
        }
    }

    #[test]
    fn every_place_is_found() {
        each_text(b"/a//%./", |text| {
            for byte in [b'/', b'%', 0, 0xd0] {
                let (mut found, is_it) = (Vec::new(), |at: &usize| text[*at] == byte);
                each_place(text, byte, |at| found.push(at));
                assert_eq!(found, (0..text.len()).filter(is_it).collect::<Vec<_>>(), "{text:?}");
                assert_eq!(has_either(text, byte, b'.'), !found.is_empty() || text.contains(&b'.'));
            }
        });
    }

    #[test]
    fn byte_classes_follow_the_grammar() {
        assert!(is_token(b"GET") && is_token(b"!#$%&'*+-.^_`|~09azAZ"));
        for bad in ["", "a b", "a:", "(", "\u{e9}", "a\r", "a\0", "\"a\"", "a,b", "a/b"] {
            assert!(!is_token(bad.as_bytes()), "{bad:?}");
        }
        assert!(is_field_value(b"") && is_field_value(b"a \t\xff~"));
        for bad in [&b"\r"[..], b"a\n", b"\0", b"\x7f", b"a\x0bb", b"\x1f"] {
            assert!(!is_field_value(bad), "{bad:?}");
        }
    }

    #[test]
    fn plain_paths_are_canonical_and_read_in_one_way() {
        for plain in ["/", "/a/b/", "/a-b_c~/!$&'()*+,=:@"] {
            assert!(is_plain_path(plain.as_bytes()), "{plain}");
            assert_eq!(canonical_path(plain.as_bytes()), Ok(None));
            assert_eq!(lenient_path(plain.as_bytes()), LenientPath::Same);
        }
        for other in ["", "*", "a", "//", "/a//b", "/a.b", "/a%20", "/a;b", "/a?", "/[", "/\u{e9}"]
        {
            assert!(!is_plain_path(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn blanks_and_escapes() {
        assert_eq!(trim_blanks(b" \t a b \t"), b"a b");
        assert_eq!(trim_blanks(b" \t "), b"");
        assert_eq!(percent_byte(Some(b"2e")), Some(b'.'));
        assert_eq!(percent_byte(Some(b"Ff")), Some(255));
        for bad in [&b"2"[..], b"", b"+1", b"g0", b"0g", b"123"] {
            assert_eq!(percent_byte(Some(bad)), None);
        }
        assert_eq!(percent_byte(None), None);
    }
}
