//! Chunked coding (RFC 9112 section 7.1), read byte by byte but for the data itself.
//!
//! Strict: CRLF only, at most 16 hex digits, no blank before them, and none after them unless an
//! extension follows.

use super::step::{BodyError, BodyStep, Trailers};
use crate::fields::Fields;
use crate::syntax::{is_field_value, is_token, is_token_byte, trim_blanks};

/// Most bytes of chunk extensions in one body.
pub const EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// Most bytes of the trailer section of one body.
pub const TRAILER_BYTES_MAX: usize = 8 * 1024;

/// Most trailer lines of one body.
pub const TRAILER_LINES_MAX: usize = 32;

/// State of the chunk reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Before the first digit of a size, or after some.
    #[default]
    Size,
    /// In blanks after the size: an extension must follow.
    Blank,
    Extension,
    /// After the CR of the size line.
    SizeLf,
    Data,
    /// After the data: CR, then LF.
    DataCr,
    DataLf,
    /// At the start of a trailer line, or of the last, empty one.
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Done,
}

/// Reads one chunked body.
#[derive(Clone, Debug, Default)]
pub(super) struct ChunkReader {
    phase: Phase,
    /// The size being read, then the rest of the chunk's data.
    left: u64,
    digits: u8,
    extension_bytes: usize,
    trailer_bytes: usize,
    trailer_lines: usize,
    line: Vec<u8>,
    trailers: Trailers,
}

impl ChunkReader {
    pub(super) fn restart(&mut self) {
        self.line.clear();
        self.trailers.clear();
        let line = std::mem::take(&mut self.line);
        let trailers = std::mem::take(&mut self.trailers);
        *self = Self { line, trailers, ..Self::default() };
    }

    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    pub(super) fn trailers(&self) -> &Trailers {
        &self.trailers
    }

    /// See `BodyDecoder::step`.
    pub(super) fn step(&mut self, input: &[u8]) -> Result<BodyStep, BodyError> {
        let mut at = 0;
        let mut content = (0, 0);
        while let Some(&byte) = input.get(at) {
            match self.phase {
                Phase::Done => break,
                Phase::Data if content.1 > 0 => break,
                Phase::Data => {
                    let rest = input.len() - at;
                    let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest);
                    content = (at, at + take);
                    at += take;
                    self.left -= take as u64;
                    if self.left == 0 {
                        self.phase = Phase::DataCr;
                    }
                }
                _ => match self.advance(byte) {
                    Ok(()) => at += 1,
                    Err(error) if content.1 == 0 => return Err(error),
                    Err(_) => break,
                },
            }
        }
        Ok(BodyStep { consumed: at, content, done: self.is_done() })
    }

    /// Parses one byte of framing. A rejected byte changes nothing.
    fn advance(&mut self, byte: u8) -> Result<(), BodyError> {
        self.phase = match (self.phase, byte) {
            (Phase::Size, b'\r') if self.digits > 0 => Phase::SizeLf,
            (Phase::Size, b';') if self.digits > 0 => self.take_extension()?,
            (Phase::Size, b' ' | b'\t') if self.digits > 0 => {
                self.take_extension()?;
                Phase::Blank
            }
            (Phase::Size, _) => self.take_digit(byte)?,
            (Phase::Blank, b';') => self.take_extension()?,
            (Phase::Blank, b' ' | b'\t') => {
                self.take_extension()?;
                Phase::Blank
            }
            (Phase::Blank, _) => return Err(BodyError::Chunk("blank after the size")),
            (Phase::Extension, b'\r') => Phase::SizeLf,
            (Phase::Extension, _) if is_field_value(&[byte]) => self.take_extension()?,
            (Phase::Extension, _) => return Err(BodyError::Chunk("extension")),
            (Phase::SizeLf, b'\n') => self.start_data(),
            (Phase::DataCr, b'\r') => Phase::DataLf,
            (Phase::DataLf, b'\n') => Phase::Size,
            (Phase::DataCr | Phase::DataLf, _) => {
                return Err(BodyError::Chunk("data longer than its size"));
            }
            (Phase::TrailerStart, b'\r') => Phase::EndLf,
            (Phase::TrailerStart, _) => self.start_trailer(byte)?,
            (Phase::Trailer, b'\r') => Phase::TrailerLf,
            (Phase::Trailer, _) => self.take_trailer(byte)?,
            (Phase::TrailerLf, b'\n') => self.end_trailer()?,
            (Phase::EndLf, b'\n') => Phase::Done,
            (Phase::SizeLf | Phase::TrailerLf | Phase::EndLf, _) => {
                return Err(BodyError::Chunk("CR without LF"));
            }
            (Phase::Data | Phase::Done, _) => self.phase,
        };
        Ok(())
    }

    fn take_digit(&mut self, byte: u8) -> Result<Phase, BodyError> {
        let digit = char::from(byte).to_digit(16).ok_or(BodyError::Chunk("size"))?;
        if self.digits == 16 {
            return Err(BodyError::Chunk("size longer than 16 digits"));
        }
        self.digits += 1;
        self.left = self.left << 4 | u64::from(digit);
        Ok(Phase::Size)
    }

    fn take_extension(&mut self) -> Result<Phase, BodyError> {
        if self.extension_bytes == EXTENSION_BYTES_MAX {
            return Err(BodyError::TooLarge("chunk extensions"));
        }
        self.extension_bytes += 1;
        Ok(Phase::Extension)
    }

    fn start_data(&mut self) -> Phase {
        self.digits = 0;
        if self.left == 0 { Phase::TrailerStart } else { Phase::Data }
    }

    fn start_trailer(&mut self, byte: u8) -> Result<Phase, BodyError> {
        if !is_token_byte(byte) {
            return Err(BodyError::Chunk("trailer name"));
        }
        if self.trailer_lines == TRAILER_LINES_MAX {
            return Err(BodyError::TooLarge("trailer lines"));
        }
        let phase = self.take_trailer(byte)?;
        self.trailer_lines += 1;
        Ok(phase)
    }

    fn take_trailer(&mut self, byte: u8) -> Result<Phase, BodyError> {
        if !is_field_value(&[byte]) {
            return Err(BodyError::Chunk("trailer"));
        }
        if self.trailer_bytes == TRAILER_BYTES_MAX {
            return Err(BodyError::TooLarge("trailer bytes"));
        }
        self.trailer_bytes += 1;
        self.line.push(byte);
        Ok(Phase::Trailer)
    }

    fn end_trailer(&mut self) -> Result<Phase, BodyError> {
        let colon = memchr::memchr(b':', &self.line).unwrap_or(self.line.len());
        let (name, value) = self.line.split_at_checked(colon).unwrap_or_default();
        let Some((_, value)) = value.split_first() else {
            return Err(BodyError::Chunk("trailer without colon"));
        };
        if !is_token(name) {
            return Err(BodyError::Chunk("trailer name"));
        }
        keep_trailer(&mut self.trailers, name, trim_blanks(value));
        self.line.clear();
        Ok(Phase::TrailerStart)
    }
}

fn keep_trailer(trailers: &mut Fields, name: &[u8], value: &[u8]) {
    let dropped = NEVER_TRAILERS.iter().any(|never| name.eq_ignore_ascii_case(never));
    let prefix = |prefix: &[u8]| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if !dropped && !prefix(b"x-forwarded-") && !prefix(b"if-") {
        trailers.append(name, value);
    }
}

/// Fields that mean something only before the content (RFC 9110 section 6.5.1): framing, routing,
/// authentication, request modifiers, response control, content format. Also `X-Forwarded-*` and
/// `If-*`.
const NEVER_TRAILERS: &[&[u8]] = &[
    b"age",
    b"allow",
    b"authorization",
    b"cache-control",
    b"connection",
    b"content-encoding",
    b"content-length",
    b"content-location",
    b"content-range",
    b"content-type",
    b"cookie",
    b"date",
    b"expect",
    b"expires",
    b"forwarded",
    b"host",
    b"keep-alive",
    b"location",
    b"max-forwards",
    b"pragma",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"range",
    b"retry-after",
    b"set-cookie",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"vary",
    b"via",
    b"warning",
    b"www-authenticate",
    b"x-real-ip",
];
