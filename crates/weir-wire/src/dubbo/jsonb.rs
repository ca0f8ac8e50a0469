//! Strings and scalars of fastjson2's JSONB (`JSONB.Constants`), as Dubbo frames them: each value
//! of a body is preceded by its length, four bytes, big-endian (`FastJson2ObjectOutput`).
//!
//! Every reader here takes bytes off the front of `input` and returns `None` if they end early or
//! have another type.

use std::borrow::Cow;

use super::hessian::TEXT_UNITS_MAX;

/// Null.
pub(super) const NULL: u8 = 0xaf;

const OBJECT: u8 = 0xa6;
const OBJECT_END: u8 = 0xa5;
/// Tag of an empty string of one byte a character; longer ones count up from it.
const TEXT_FIXED: u8 = 0x49;
/// Most bytes of such a string.
const TEXT_FIXED_BYTES_MAX: usize = 47;
const TEXT_LATIN1: u8 = 0x79;
const TEXT_UTF8: u8 = 0x7a;
const TEXT_UTF16LE: u8 = 0x7c;
const TEXT_UTF16BE: u8 = 0x7d;

/// Reads one value with its length in front.
pub(super) fn framed<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = input.split_off(..4)?;
    let len = u32::from_be_bytes(*len.first_chunk()?);
    input.split_off(..usize::try_from(len).ok()?)
}

/// Reads a framed string.
pub(super) fn framed_text<'a>(input: &mut &'a [u8]) -> Option<Cow<'a, str>> {
    let mut value = framed(input)?;
    text(&mut value).filter(|_| value.is_empty())
}

/// Reads a string of at most [`TEXT_UNITS_MAX`] bytes.
fn text<'a>(input: &mut &'a [u8]) -> Option<Cow<'a, str>> {
    let tag = *input.split_off_first()?;
    let len = text_len(input, tag)?;
    let bytes = input.split_off(..len).filter(|_| len <= TEXT_UNITS_MAX)?;
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let (pairs, []) = bytes.as_chunks() else { return None };
        String::from_utf16(&pairs.iter().copied().map(unit).collect::<Vec<_>>()).ok()
    };
    match tag {
        TEXT_UTF8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        TEXT_UTF16LE => utf16(u16::from_le_bytes).map(Cow::Owned),
        TEXT_UTF16BE => utf16(u16::from_be_bytes).map(Cow::Owned),
        TEXT_FIXED..=TEXT_LATIN1 if bytes.is_ascii() => {
            std::str::from_utf8(bytes).ok().map(Cow::Borrowed)
        }
        TEXT_FIXED..=TEXT_LATIN1 => Some(bytes.iter().copied().map(char::from).collect()),
        _ => None,
    }
}

/// The string at `key` in an object whose keys are strings and whose values, up to there, are
/// scalars.
pub(super) fn field<'a>(mut object: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    let input = &mut object;
    if *input.split_off_first()? != OBJECT {
        return None;
    }
    while *input.first()? != OBJECT_END {
        if text(input)? == key {
            return text(input);
        }
        skip_scalar(input)?;
    }
    None
}

fn skip_scalar(input: &mut &[u8]) -> Option<()> {
    let tag = *input.split_off_first()?;
    let len = match tag {
        0x00..=0x2f | 0xf0..=0xff | 0xd8..=0xef | NULL..=0xb3 => 0,
        0x30..=0x3f | 0xc8..=0xd7 | 0xbd => 1,
        0x40..=0x47 | 0xc0..=0xc7 | 0xbc => 2,
        0x48 | 0xac | 0xad | 0xb7 | 0xbf => 4,
        0xab | 0xb5 | 0xbe => 8,
        _ => text_len(input, tag)?,
    };
    input.split_off(..len).map(|_| ())
}

/// Bytes of the string with this tag; `None` if it is no string.
fn text_len(input: &mut &[u8], tag: u8) -> Option<usize> {
    match tag {
        TEXT_FIXED..TEXT_LATIN1 => Some(usize::from(tag - TEXT_FIXED)),
        TEXT_LATIN1..=0x7e => length(input),
        _ => None,
    }
}

/// Reads a compact integer that is not negative.
fn length(input: &mut &[u8]) -> Option<usize> {
    let tag = *input.split_off_first()?;
    let mut byte = || input.split_off_first().map(|&byte| usize::from(byte));
    match tag {
        0x00..=0x2f => Some(usize::from(tag)),
        0x38..=0x3f => Some(usize::from(tag & 7) << 8 | byte()?),
        0x44..=0x47 => Some(usize::from(tag & 3) << 16 | byte()? << 8 | byte()?),
        0x48 => {
            let len = i32::from_be_bytes(*input.split_off(..4)?.first_chunk()?);
            usize::try_from(len).ok()
        }
        _ => None,
    }
}

/// Appends a framed string, cut after 2047 bytes at most.
pub(super) fn write_framed_text(out: &mut Vec<u8>, text: &str) {
    let text = text.get(..text.floor_char_boundary(0x7ff)).unwrap_or_default();
    let len = text.len();
    let mut head = Vec::with_capacity(3);
    if text.is_ascii() && len <= TEXT_FIXED_BYTES_MAX {
        head.push(TEXT_FIXED + len as u8);
    } else {
        head.push(if text.is_ascii() { TEXT_LATIN1 } else { TEXT_UTF8 });
        if len <= 0x2f {
            head.push(len as u8);
        } else {
            head.extend_from_slice(&[0x38 | (len >> 8) as u8, len as u8]);
        }
    }
    out.extend_from_slice(&((head.len() + len) as u32).to_be_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<&str>) {
        assert_eq!(text(&mut &*bytes).as_deref(), expected, "{bytes:x?}");
        for end in 0..bytes.len() {
            assert_eq!(text(&mut &bytes[..end]), None, "{:x?}", &bytes[..end]);
        }
    }

    #[test]
    fn strings() {
        check(b"\x49", Some(""));
        check(b"\x4ehello", Some("hello"));
        check(b"\x4ew\xf6rld", Some("wörld"));
        check(b"\x79\x05hello", Some("hello"));
        check(b"\x79\x38\x05hello", Some("hello"));
        check(b"\x79\x44\0\x05hello", Some("hello"));
        check(b"\x79\x48\0\0\0\x05hello", Some("hello"));
        check(&[b"\x79\x39\x2c".as_slice(), &[b'a'; 300]].concat(), Some(&"a".repeat(300)));
        check("\x7a\x0awörld😀".as_bytes(), Some("wörld😀"));
        check(b"\x7c\x04\x60\x4f\x7d\x59", Some("你好"));
        check(b"\x7d\x04\x4f\x60\x59\x7d", Some("你好"));
    }

    #[test]
    fn what_is_no_string() {
        for bad in [
            b"\xaf".as_slice(),
            b"\x48\0\0\0\0",
            b"\x7f\0",
            b"\x7e\x02\xc4\xe3",
            b"\x7a\x01\xff",
            b"\x7c\x01a",
            b"\x7c\x02\x3d\xd8",
            b"\x79\x37\x05hello",
            b"\x79\x43\0\x05hello",
            b"\x79\x48\xff\xff\xff\xffhello",
        ] {
            check(bad, None);
        }
        let long = [b"\x79\x44\x10\x01".as_slice(), &[b'a'; 4097]].concat();
        assert_eq!(text(&mut long.as_slice()), None);
    }

    #[test]
    fn frames() {
        assert_eq!(framed_text(&mut b"\0\0\0\x06\x4ehello".as_slice()).as_deref(), Some("hello"));
        for bad in
            [b"\0\0\0\x07\x4ehello!".as_slice(), b"\0\0\0\x05\x4ehell", b"\0\0\0\x07\x4ehello"]
        {
            assert_eq!(framed_text(&mut &*bad), None, "{bad:x?}");
        }
        assert_eq!(framed(&mut b"\xff\xff\xff\xff".as_slice()), None);
        let mut input = b"\0\0\0\0a".as_slice();
        assert_eq!(framed(&mut input), Some(b"".as_slice()));
        assert_eq!(input, b"a");
    }

    #[test]
    fn fields() {
        let group = |before: &[u8]| {
            let object = [b"\xa6", before, b"\x4egroup\x4dblue\xa5"].concat();
            field(&object, "group").map(Cow::into_owned)
        };
        let blue = Some("blue".to_owned());
        assert_eq!(group(b""), blue);
        assert_eq!(group(b"\x4cold\x4egroup"), blue);
        for scalar in [
            b"\x01".as_slice(),
            b"\x3f\x01",
            b"\x47\x01\x02",
            b"\x48\0\0\0\x01",
            b"\xaf",
            b"\xb1",
            b"\xb5\0\0\0\0\0\0\0\x01",
            b"\xb7\0\0\0\x01",
            b"\xbc\0\x01",
            b"\xbd\x01",
            b"\xbe\0\0\0\0\0\0\0\x01",
            b"\xbf\0\0\0\x01",
            b"\xc4\x01\x02",
            b"\xd0\x01",
            b"\xe0",
            b"\xf0",
            b"\x7e\x02\xc4\xe3",
        ] {
            assert_eq!(group(&[b"\x4ak", scalar].concat()), blue, "{scalar:x?}");
        }
        assert_eq!(group(b"\x4ak\xa6\x4egroup\x4cred\xa5"), None);
        assert_eq!(group(b"\x7f\x01\x4cred"), None);
        assert_eq!(field(b"\xa6\xa5", "group"), None);
        assert_eq!(field(b"\xa6\x4egroup\xaf\xa5", "group"), None);
        assert_eq!(field(b"\x94", "group"), None);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(written in "\\PC{0,300}", behind in vec(any::<u8>(), 0..4)) {
            let mut out = Vec::new();
            write_framed_text(&mut out, &written);
            for end in 0..out.len() {
                prop_assert_eq!(framed_text(&mut &out[..end]), None);
            }
            out.extend_from_slice(&behind);
            let mut input = out.as_slice();
            prop_assert_eq!(framed_text(&mut input), Some(written.into()));
            prop_assert_eq!(input, behind);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..64)) {
            let _ = framed_text(&mut bytes.as_slice());
            let _ = text(&mut bytes.as_slice());
            let _ = field(&bytes, "group");
            let _ = field(&[&[OBJECT], bytes.as_slice()].concat(), "group");
        }
    }
}
