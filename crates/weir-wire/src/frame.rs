//! Messages on a plain TCP connection: of a fixed length, or with their length in front.
//!
//! The rules define where a message ends and which bytes pair a response with its request; the rest
//! of a message is opaque. Lengths work as in Netty's `LengthFieldBasedFrameDecoder`, with the
//! digits of ISO 8583 links besides binary numbers.

use std::fmt;

/// Rules for cutting a stream into frames. [`FrameRules::fault`] checks that they are consistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRules {
    /// Source of a frame's length.
    pub kind: FrameKind,
    /// Most bytes of a frame, all its parts included.
    pub max: usize,
    /// Offset and bytes of the key that a reply shares with its request. Without it the replies of
    /// a connection come in the order of the requests.
    pub correlation: Option<(usize, usize)>,
    /// A frame of [`FrameKind::Length`] with nothing behind its length field is a poll: the peer
    /// only asks whether the connection lives.
    pub poll: bool,
}

/// Source of a frame's length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// All frames have `size` bytes.
    Fixed {
        /// Bytes of a frame.
        size: usize,
    },
    /// A frame has `offset + size + value + adjust + trailer.len()` bytes, where `value` is the
    /// number in its length field.
    Length {
        /// Bytes before the length field.
        offset: usize,
        /// Bytes of the length field.
        size: usize,
        /// Encoding of the length field.
        len_type: LenType,
        /// Added to the value: `-2` if it counts its own two bytes.
        adjust: i64,
        /// Bytes at the end of every frame. An adjustment subtracts them from values that include
        /// them.
        trailer: Vec<u8>,
    },
}

/// Encoding of a length field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LenType {
    /// Binary, the highest byte first.
    Be,
    /// Binary, the lowest byte first.
    Le,
    /// Decimal digits, `0` to `9`.
    Ascii,
    /// Hexadecimal digits in either case.
    Hex,
    /// Two decimal digits in each byte.
    Bcd,
}

/// A frame at the start of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its bytes, never 0.
    pub len: usize,
    /// See [`FrameRules::poll`].
    pub is_poll: bool,
}

/// Error in a frame. The start of the next one is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Longer than [`FrameRules::max`].
    TooLong {
        /// Bytes of the frame.
        len: u64,
        /// Bytes allowed.
        max: usize,
    },
    /// The adjusted length ends before the length field does.
    TooShort {
        /// Value of the length field.
        value: u64,
        /// See [`FrameKind::Length`].
        adjust: i64,
    },
    /// The length field holds a byte that is not a digit of its type.
    Digit {
        /// The byte.
        byte: u8,
        /// Encoding of the field.
        len_type: LenType,
    },
    /// The frame does not end with its trailer.
    Trailer,
    /// The rules yield a frame without bytes.
    Empty,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { len, max } => {
                write!(f, "frame of {len} bytes is longer than the {max} allowed")
            }
            Self::TooShort { value, adjust } => {
                write!(f, "length {value} adjusted by {adjust} ends before the length field does")
            }
            Self::Digit { byte, len_type } => {
                let digits = match len_type {
                    LenType::Hex => "a hexadecimal digit",
                    LenType::Bcd => "two decimal digits",
                    LenType::Ascii | LenType::Be | LenType::Le => "a decimal digit",
                };
                write!(f, "length field holds byte {byte:#04x}, which is not {digits}")
            }
            Self::Trailer => write!(f, "frame does not end with its trailer"),
            Self::Empty => write!(f, "frame without bytes"),
        }
    }
}

impl std::error::Error for FrameError {}

impl FrameRules {
    /// The frame that `bytes` start with; `None` if more bytes are needed.
    ///
    /// # Errors
    /// See [`FrameError`]. A frame that is too long is refused when its length field is there, not
    /// when it is whole.
    pub fn next(&self, bytes: &[u8]) -> Result<Option<Frame>, FrameError> {
        match &self.kind {
            FrameKind::Fixed { size } => self.cut(bytes, *size as u64, &[], false),
            FrameKind::Length { offset, size, len_type, adjust, trailer } => {
                let header = offset.saturating_add(*size);
                if header > self.max {
                    return Err(FrameError::TooLong { len: header as u64, max: self.max });
                }
                let Some(field) = bytes.get(*offset..header) else { return Ok(None) };
                let value = len_type.value(field)?;
                let body = i128::from(value) + i128::from(*adjust);
                let Ok(body) = u64::try_from(body.min(i128::from(u64::MAX))) else {
                    if self.poll && value == 0 {
                        return self.cut(bytes, header as u64, &[], true);
                    }
                    return Err(FrameError::TooShort { value, adjust: *adjust });
                };
                let len = body.saturating_add(header as u64).saturating_add(trailer.len() as u64);
                self.cut(bytes, len, trailer, self.poll && body == 0)
            }
        }
    }

    /// The bytes of a frame that pair it with another one; `None` if there are no such rules or the
    /// frame is too short for them.
    pub fn key<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        let (offset, size) = self.correlation?;
        frame.get(offset..offset.checked_add(size)?)
    }

    /// Why no frame could be read by these rules, for whoever wrote them.
    pub fn fault(&self) -> Option<&'static str> {
        let frame_max = match &self.kind {
            FrameKind::Fixed { size: 0 } => return Some("frames have no bytes"),
            FrameKind::Fixed { size } => *size,
            FrameKind::Length { size: 0, .. } => return Some("the length field has no bytes"),
            FrameKind::Length { size: 21.., .. } => {
                return Some("the length field has more than 20 bytes");
            }
            FrameKind::Length { offset, size, trailer, .. } => {
                let least = offset.saturating_add(*size).saturating_add(trailer.len());
                if least > self.max {
                    return Some("the length field and the trailer do not fit the longest frame");
                }
                self.max
            }
        };
        if frame_max > self.max {
            return Some("frames are longer than the longest one allowed");
        }
        match self.correlation {
            Some((_, 0)) => Some("the correlation key has no bytes"),
            Some((offset, size)) if offset.saturating_add(size) > frame_max => {
                Some("the correlation key does not fit the longest frame")
            }
            _ => None,
        }
    }

    fn cut(
        &self,
        bytes: &[u8],
        len: u64,
        trailer: &[u8],
        is_poll: bool,
    ) -> Result<Option<Frame>, FrameError> {
        let too_long = FrameError::TooLong { len, max: self.max };
        let len = usize::try_from(len).map_err(|_| too_long)?;
        match bytes.get(..len) {
            _ if len > self.max => Err(too_long),
            _ if len == 0 => Err(FrameError::Empty),
            None => Ok(None),
            Some(frame) if frame.ends_with(trailer) => Ok(Some(Frame { len, is_poll })),
            Some(_) => Err(FrameError::Trailer),
        }
    }
}

impl LenType {
    /// The number in the field; the highest number if it is higher still.
    fn value(self, field: &[u8]) -> Result<u64, FrameError> {
        let add = |sum: u64, base: u64, digit: u64| sum.saturating_mul(base).saturating_add(digit);
        let binary = |sum, byte: &u8| add(sum, 256, u64::from(*byte));
        let digits = |radix: u32| {
            field.iter().try_fold(0, |sum, &byte| {
                let digit = char::from(byte).to_digit(radix);
                let digit = digit.ok_or(FrameError::Digit { byte, len_type: self })?;
                Ok(add(sum, u64::from(radix), u64::from(digit)))
            })
        };
        match self {
            Self::Be => Ok(field.iter().fold(0, binary)),
            Self::Le => Ok(field.iter().rev().fold(0, binary)),
            Self::Ascii => digits(10),
            Self::Hex => digits(16),
            Self::Bcd => field.iter().try_fold(0, |sum, &byte| match (byte >> 4, byte & 15) {
                (tens @ 0..=9, ones @ 0..=9) => Ok(add(sum, 100, u64::from(tens * 10 + ones))),
                _ => Err(FrameError::Digit { byte, len_type: self }),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 64;

    fn rules(kind: FrameKind) -> FrameRules {
        FrameRules { kind, max: MAX, correlation: None, poll: false }
    }

    fn length(size: usize, len_type: LenType, adjust: i64) -> FrameRules {
        rules(FrameKind::Length { offset: 0, size, len_type, adjust, trailer: Vec::new() })
    }

    fn polled(rules: FrameRules) -> FrameRules {
        FrameRules { poll: true, ..rules }
    }

    /// Banks frame BASE24 messages so: the length counts the ETX, but not itself.
    fn base24() -> FrameRules {
        let (offset, size, len_type, trailer) = (0, 2, LenType::Be, b"\x03".to_vec());
        rules(FrameKind::Length { offset, size, len_type, adjust: -1, trailer })
    }

    #[track_caller]
    fn check(rules: &FrameRules, bytes: &[u8], expected: Result<usize, FrameError>) {
        let expected = expected.map(|len| Some(Frame { len, is_poll: false }));
        assert_eq!(rules.next(bytes), expected, "{rules:?} {bytes:x?}");
        for end in 0..bytes.len() {
            let early = rules.next(&bytes[..end]);
            assert!(early == Ok(None) || early == expected, "{rules:?} {bytes:x?} {end}");
        }
    }

    #[test]
    fn fixed_frames() {
        let rules = rules(FrameKind::Fixed { size: 4 });
        check(&rules, b"abcd", Ok(4));
        check(&rules, b"abcdefgh", Ok(4));
        assert_eq!(rules.next(b"abc"), Ok(None));
    }

    #[test]
    fn every_type_of_length() {
        check(&length(1, LenType::Be, 0), b"\x03abcd", Ok(4));
        check(&length(2, LenType::Be, 0), b"\0\x03abcd", Ok(5));
        check(&length(4, LenType::Le, 0), b"\x03\0\0\0abc", Ok(7));
        check(&length(3, LenType::Le, 0), b"\x03\0\0abc", Ok(6));
        check(&length(8, LenType::Be, 0), b"\0\0\0\0\0\0\0\x01a", Ok(9));
        check(&length(4, LenType::Ascii, 0), b"0012abcdefghijkl", Ok(16));
        check(&length(4, LenType::Hex, 0), b"001Cabcdefghijklmnopqrstuvwxyz01", Ok(32));
        check(&length(2, LenType::Hex, 0), b"0aabcdefghij", Ok(12));
        check(&length(2, LenType::Bcd, 0), b"\0\x12abcdefghijkl", Ok(14));
    }

    #[test]
    fn lengths_that_count_more_or_less() {
        check(&length(2, LenType::Be, -2), b"\0\x05abc", Ok(5));
        check(&length(2, LenType::Be, 3), b"\0\x01hdra", Ok(6));
        check(&base24(), b"\0\x04abc\x03", Ok(6));
        let (offset, size, len_type, adjust) = (5, 2, LenType::Be, -7);
        let whole = FrameKind::Length { offset, size, len_type, adjust, trailer: Vec::new() };
        check(&rules(whole), b"\x60\0\0\0\0\0\x09ab", Ok(9));
    }

    #[test]
    fn what_is_refused() {
        let too_long = |len| Err(FrameError::TooLong { len, max: MAX });
        check(&length(2, LenType::Be, 0), b"\0\x3f", too_long(65));
        check(&length(2, LenType::Be, 0), b"\xff\xff", too_long(65537));
        check(&length(8, LenType::Be, 0), &[0xff; 8], too_long(u64::MAX));
        check(&length(8, LenType::Le, i64::MAX), &[0xff; 8], too_long(u64::MAX));
        check(&length(16, LenType::Be, 0), &[0xff; 16], too_long(u64::MAX));
        check(&length(20, LenType::Ascii, 0), &[b'9'; 20], too_long(u64::MAX));
        check(&rules(FrameKind::Fixed { size: 65 }), b"", too_long(65));
        check(&length(65, LenType::Be, 0), b"", too_long(65));
        let too_short = |value, adjust| Err(FrameError::TooShort { value, adjust });
        check(&length(2, LenType::Be, -2), b"\0\x01", too_short(1, -2));
        check(&length(2, LenType::Be, i64::MIN), b"\0\0", too_short(0, i64::MIN));
        let digit = |byte, len_type| Err(FrameError::Digit { byte, len_type });
        check(&length(4, LenType::Ascii, 0), b"00a1", digit(b'a', LenType::Ascii));
        check(&length(4, LenType::Ascii, 0), b" 001", digit(b' ', LenType::Ascii));
        check(&length(4, LenType::Ascii, 0), b"-001", digit(b'-', LenType::Ascii));
        check(&length(4, LenType::Hex, 0), b"00g1", digit(b'g', LenType::Hex));
        check(&length(2, LenType::Bcd, 0), b"\0\x1a", digit(0x1a, LenType::Bcd));
        check(&base24(), b"\0\x04abcd", Err(FrameError::Trailer));
        check(&rules(FrameKind::Fixed { size: 0 }), b"", Err(FrameError::Empty));
        check(&length(0, LenType::Be, 0), b"", Err(FrameError::Empty));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let text = |rules: FrameRules, bytes: &[u8]| rules.next(bytes).map_err(|e| e.to_string());
        let says = |text: &str| Err(text.to_owned());
        let too_long = says("frame of 257 bytes is longer than the 64 allowed");
        assert_eq!(text(length(1, LenType::Be, 1), b"\xff"), too_long);
        let too_short = says("length 1 adjusted by -2 ends before the length field does");
        assert_eq!(text(length(2, LenType::Be, -2), b"\0\x01"), too_short);
        let digit = says("length field holds byte 0x0d, which is not a decimal digit");
        assert_eq!(text(length(1, LenType::Ascii, 0), b"\r"), digit);
    }

    #[test]
    fn polls() {
        let check = |rules: &FrameRules, bytes: &[u8], len: usize, is_poll: bool| {
            assert_eq!(rules.next(bytes), Ok(Some(Frame { len, is_poll })), "{rules:?} {bytes:x?}");
        };
        let counts_itself = polled(length(2, LenType::Be, -2));
        check(&counts_itself, b"\0\0\0\x05abc", 2, true);
        check(&counts_itself, b"\0\x02\0\x05abc", 2, true);
        check(&counts_itself, b"\0\x03a", 3, false);
        check(&polled(length(4, LenType::Ascii, 0)), b"0000", 4, true);
        check(&length(4, LenType::Ascii, 0), b"0000", 4, false);
        check(&polled(length(2, LenType::Be, 3)), b"\0\0hdr", 5, false);
        check(&polled(base24()), b"\0\x01\x03", 3, true);
        check(&polled(base24()), b"\0\0\0\x01\x03", 2, true);
        check(&polled(rules(FrameKind::Fixed { size: 2 })), b"\0\0", 2, false);
    }

    #[test]
    fn keys() {
        let keyed = |correlation| FrameRules { correlation, ..length(2, LenType::Be, 0) };
        assert_eq!(keyed(Some((2, 3))).key(b"\0\x04abcd"), Some(b"abc".as_slice()));
        assert_eq!(keyed(Some((2, 3))).key(b"\0\x02ab"), None);
        assert_eq!(keyed(Some((usize::MAX, 3))).key(b"\0\x02ab"), None);
        assert_eq!(keyed(None).key(b"\0\x02ab"), None);
    }

    #[test]
    fn faulty_rules() {
        let fixed = |size| rules(FrameKind::Fixed { size });
        let keyed = |offset, size| FrameRules { correlation: Some((offset, size)), ..fixed(8) };
        for sound in [fixed(MAX), length(2, LenType::Be, -2), base24(), keyed(0, 8)] {
            assert_eq!(sound.fault(), None, "{sound:?}");
        }
        for (faulty, says) in [
            (fixed(0), "frames have no bytes"),
            (fixed(MAX + 1), "longest one allowed"),
            (length(0, LenType::Be, 0), "no bytes"),
            (length(21, LenType::Be, 0), "more than 20"),
            (FrameRules { max: 2, ..base24() }, "do not fit"),
            (keyed(1, 8), "key does not fit"),
            (keyed(usize::MAX, 8), "key does not fit"),
            (keyed(1, 0), "key has no bytes"),
        ] {
            assert!(faulty.fault().is_some_and(|fault| fault.contains(says)), "{faulty:?}");
        }
    }

    fn any_rules() -> impl Strategy<Value = FrameRules> {
        use LenType::{Ascii, Bcd, Be, Hex, Le};
        let len_type = prop_oneof![Just(Be), Just(Le), Just(Ascii), Just(Hex), Just(Bcd)];
        let adjust = prop_oneof![-4..5i64, any::<i64>()];
        let field = (0..4usize, 0..5usize, len_type, adjust, vec(any::<u8>(), 0..2));
        let length = field.prop_map(|(offset, size, len_type, adjust, trailer)| {
            FrameKind::Length { offset, size, len_type, adjust, trailer }
        });
        let kind = prop_oneof![(0..9usize).prop_map(|size| FrameKind::Fixed { size }), length];
        (kind, any::<bool>(), 0..40usize).prop_map(|(kind, poll, max)| FrameRules {
            kind,
            max,
            correlation: None,
            poll,
        })
    }

    proptest! {
        #[test]
        fn a_prefix_says_the_same_or_nothing(
            rules in any_rules(),
            bytes in vec(prop_oneof![0..4u8, b'0'..b'3', any::<u8>()], 0..48),
        ) {
            let whole = rules.next(&bytes);
            if let Ok(Some(Frame { len, .. })) = whole {
                prop_assert!((1..=bytes.len().min(rules.max)).contains(&len));
                prop_assert_eq!(rules.next(&bytes[..len]), whole);
            }
            for end in 0..bytes.len() {
                let early = rules.next(&bytes[..end]);
                prop_assert!(early == Ok(None) || early == whole, "{end}: {early:?}");
            }
        }

        #[test]
        fn coalesced_frames_are_told_apart(bodies in vec(vec(any::<u8>(), 0..30), 0..8)) {
            let frame = |body: &Vec<u8>| [format!("{:04}", body.len()).as_bytes(), body].concat();
            let stream: Vec<u8> = bodies.iter().flat_map(frame).collect();
            let rules = length(4, LenType::Ascii, 0);
            let (mut rest, mut found) = (stream.as_slice(), Vec::new());
            while let Some(frame) = rules.next(rest).expect("sound") {
                found.push(rest[4..frame.len].to_vec());
                rest = &rest[frame.len..];
            }
            prop_assert_eq!(found, bodies);
            prop_assert_eq!(rest, b"");
        }
    }
}
