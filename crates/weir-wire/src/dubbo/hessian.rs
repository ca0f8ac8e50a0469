//! Strings and scalars of Hessian 2, as hessian-lite and dubbo-go write them.
//!
//! A string is one final chunk, after any number of chunks marked `R`. Lengths count UTF-16 units;
//! each unit is encoded separately in one to three bytes, so that Java writes a surrogate pair in
//! six. dubbo-go writes it in four, as UTF-8 does. Every reader here takes bytes off the front of
//! `input` and returns `None` if they end early or have another type.

use std::borrow::Cow;

/// The longest string that fits the form with a length of 10 bits.
const WRITTEN_UNITS_MAX: usize = 1023;

/// Most UTF-16 units, or bytes in JSONB, of a name.
pub(super) const TEXT_UNITS_MAX: usize = 4096;
/// Null.
pub(super) const NULL: u8 = b'N';

/// Reads a string of at most [`TEXT_UNITS_MAX`].
pub(super) fn text<'a>(input: &mut &'a [u8]) -> Option<Cow<'a, str>> {
    let mut chunk = *input;
    let (units, last) = chunk_head(&mut chunk)?;
    let plain = chunk.split_off(..units).filter(|bytes| last && bytes.is_ascii());
    if let Some(plain) = plain {
        *input = chunk;
        return std::str::from_utf8(plain)
            .ok()
            .filter(|_| units <= TEXT_UNITS_MAX)
            .map(Cow::Borrowed);
    }
    let mut units = Vec::new();
    each_unit(input, |unit| {
        units.push(unit);
        units.len() <= TEXT_UNITS_MAX
    })?;
    String::from_utf16(&units).ok().map(Cow::Owned)
}

/// Passes over a string of any length.
pub(super) fn skip_text(input: &mut &[u8]) -> Option<()> {
    each_unit(input, |_| true)
}

/// Passes over a string, number, boolean, date or null.
pub(super) fn skip_scalar(input: &mut &[u8]) -> Option<()> {
    let more = match *input.first()? {
        0x00..=0x1f | 0x30..=0x33 | b'R' | b'S' => return skip_text(input),
        NULL | b'T' | b'F' | 0x5b | 0x5c | 0x80..=0xbf | 0xd8..=0xef => 0,
        0x5d | 0xc0..=0xcf | 0xf0..=0xff => 1,
        0x38..=0x3f | 0x5e | 0xd0..=0xd7 => 2,
        b'I' | 0x4b | 0x59 | 0x5f => 4,
        b'L' | b'D' | 0x4a => 8,
        _ => return None,
    };
    input.split_off(..1 + more).map(|_| ())
}

/// Appends a string, cut after [`WRITTEN_UNITS_MAX`].
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    let mut units = 0;
    let fits = |char: &char| {
        units += char.len_utf16();
        units <= WRITTEN_UNITS_MAX
    };
    let text: String = text.chars().take_while(fits).collect();
    match text.encode_utf16().count() {
        units @ 0..=0x1f => out.push(units as u8),
        units => out.extend_from_slice(&[0x30 | (units >> 8) as u8, units as u8]),
    }
    for unit in text.encode_utf16() {
        let tail = 0x80 | (unit & 0x3f) as u8;
        match unit {
            0..=0x7f => out.push(unit as u8),
            0x80..=0x7ff => out.extend_from_slice(&[0xc0 | (unit >> 6) as u8, tail]),
            _ => {
                let middle = 0x80 | (unit >> 6 & 0x3f) as u8;
                out.extend_from_slice(&[0xe0 | (unit >> 12) as u8, middle, tail]);
            }
        }
    }
}

/// Units of the chunk that starts here, and whether it is the last one of its string.
fn chunk_head(input: &mut &[u8]) -> Option<(usize, bool)> {
    let tag = *input.split_off_first()?;
    let mut byte = || input.split_off_first().map(|&byte| usize::from(byte));
    match tag {
        0x00..=0x1f => Some((usize::from(tag), true)),
        0x30..=0x33 => Some((usize::from(tag & 3) << 8 | byte()?, true)),
        b'R' | b'S' => Some((byte()? << 8 | byte()?, tag == b'S')),
        _ => None,
    }
}

/// Calls `visit` with each unit of one string until it returns `false`.
fn each_unit(input: &mut &[u8], mut visit: impl FnMut(u16) -> bool) -> Option<()> {
    loop {
        let (mut left, last) = chunk_head(input)?;
        while left > 0 {
            let [high, low] = next_units(input)?;
            for unit in [high, low].into_iter().flatten() {
                left = left.checked_sub(1)?;
                if !visit(unit) {
                    return None;
                }
            }
        }
        if last {
            return Some(());
        }
    }
}

/// The next unit; two from a code of four bytes. Decoded as Java does, with overlong codes and any
/// continuation bytes: a name must be read here as its provider reads it, or a rule on names could
/// be passed by.
fn next_units(input: &mut &[u8]) -> Option<[Option<u16>; 2]> {
    let first = *input.split_off_first()?;
    let mut tail = || input.split_off_first().map(|&byte| u32::from(byte & 0x3f));
    let one = |unit: u32| u16::try_from(unit).ok().map(|unit| [Some(unit), None]);
    match first {
        0x00..=0x7f => one(u32::from(first)),
        0xc0..=0xdf => one(u32::from(first & 0x1f) << 6 | tail()?),
        0xe0..=0xef => one(u32::from(first & 0x0f) << 12 | tail()? << 6 | tail()?),
        0xf0..=0xf7 => {
            let code = u32::from(first & 7) << 18 | tail()? << 12 | tail()? << 6 | tail()?;
            let mut pair = [0; 2];
            match char::from_u32(code)?.encode_utf16(&mut pair) {
                [high, low] => Some([Some(*high), Some(*low)]),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<&str>) {
        let behind = [bytes, b"behind"].concat();
        let mut input = behind.as_slice();
        assert_eq!(text(&mut input).as_deref(), expected, "{bytes:x?}");
        let mut skipped = behind.as_slice();
        if expected.is_some() {
            assert_eq!(input, b"behind");
            assert_eq!(skip_text(&mut skipped), Some(()));
            assert_eq!(skipped, b"behind");
        }
        for end in 0..bytes.len() {
            assert_eq!(text(&mut &bytes[..end]), None, "{:x?}", &bytes[..end]);
        }
    }

    #[test]
    fn strings() {
        check(b"\0", Some(""));
        check(b"\x05hello", Some("hello"));
        check(b"\x30\x05hello", Some("hello"));
        check(b"S\0\x05hello", Some("hello"));
        check(b"R\0\x02heR\0\0\x03llo", Some("hello"));
        check(b"R\0\x02heS\0\x03llo", Some("hello"));
        check(&[b"\x33\xff".as_slice(), &[b'a'; 1023]].concat(), Some(&"a".repeat(1023)));
    }

    #[test]
    fn lengths_count_utf16_units() {
        check("\x05wörld".as_bytes(), Some("wörld"));
        check("\x02你好".as_bytes(), Some("你好"));
        check(b"\x03a\xed\xa0\xbd\xed\xb8\x80", Some("a😀"));
        check("\x03a😀".as_bytes(), Some("a😀"));
        check(b"R\0\x02a\xed\xa0\xbd\x01\xed\xb8\x80", Some("a😀"));
    }

    #[test]
    fn a_name_reads_as_java_reads_it() {
        check(b"\x02\xc1\xa1\xe0\x81\xa2", Some("ab"));
    }

    #[test]
    fn what_is_no_string() {
        for bad in [
            b"N".as_slice(),
            b"\x20a",
            b"\x34\x01a",
            b"H",
            b"\x01\x80",
            b"\x01\xf8\x80\x80\x80\x80",
            b"\x01\xf0\x9f\x98\x80",
            b"\x02\xf0\x80\x81\xa1",
            b"\x02\xf7\xbf\xbf\xbf",
            b"\x01\xed\xa0\xbd",
            b"R\0\x01aN",
        ] {
            assert_eq!(text(&mut [bad, b"behind"].concat().as_slice()), None, "{bad:x?}");
        }
        let long = [b"S\x10\x01".as_slice(), &[b'a'; 4097]].concat();
        assert_eq!(text(&mut long.as_slice()), None);
        assert_eq!(skip_text(&mut long.as_slice()), Some(()));
        let chunks = [b"R\x10\0".as_slice(), &[b'a'; 4096], b"\x01a"].concat();
        assert_eq!(text(&mut chunks.as_slice()), None);
    }

    #[test]
    fn scalars_are_passed_over() {
        for bytes in [
            b"N".as_slice(),
            b"T",
            b"F",
            b"\x90",
            b"\xc8\x01",
            b"\xd4\x01\x02",
            b"I\0\0\0\x01",
            b"\xe0",
            b"\xf8\x01",
            b"\x3c\x01\x02",
            b"\x59\0\0\0\x01",
            b"L\0\0\0\0\0\0\0\x01",
            b"\x5b",
            b"\x5d\x01",
            b"\x5e\x01\x02",
            b"\x5f\0\0\0\x01",
            b"D\0\0\0\0\0\0\0\x01",
            b"\x4a\0\0\0\0\0\0\0\x01",
            b"\x4b\0\0\0\x01",
            b"\x02hi",
        ] {
            let behind = [bytes, b"Z"].concat();
            let mut input = behind.as_slice();
            assert_eq!(skip_scalar(&mut input), Some(()), "{bytes:x?}");
            assert_eq!(input, b"Z", "{bytes:x?}");
            let cut = &bytes[..bytes.len() - 1];
            assert_eq!(skip_scalar(&mut &*cut), None, "{cut:x?}");
        }
        for bytes in [b"H".as_slice(), b"Z", b"C", b"O", b"\x78", b"\x60", b"Q\x90", b"\x23abc"] {
            assert_eq!(skip_scalar(&mut &*bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut out = Vec::new();
        write_text(&mut out, &"😀".repeat(600));
        assert_eq!(text(&mut out.as_slice()), Some("😀".repeat(511).into()));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(written in "\\PC{0,80}", behind in vec(any::<u8>(), 0..4)) {
            let mut out = Vec::new();
            write_text(&mut out, &written);
            for end in 0..out.len() {
                prop_assert_eq!(text(&mut &out[..end]), None);
            }
            out.extend_from_slice(&behind);
            let mut input = out.as_slice();
            prop_assert_eq!(text(&mut input), Some(written.into()));
            prop_assert_eq!(input, behind);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..64)) {
            let mut input = bytes.as_slice();
            let _ = text(&mut input);
            prop_assert!(bytes.ends_with(input));
            let mut input = bytes.as_slice();
            while skip_scalar(&mut input).is_some() {}
            prop_assert!(bytes.ends_with(input));
        }
    }
}
