//! Message bodies: their length, and the position of their content in the received bytes.
//!
//! The decoder never copies: it returns the range of the content within the given bytes. Chunk
//! extensions are skipped, trailers are collected separately and never merged into the head.

use super::chunk::ChunkReader;
use super::step::{BodyError, BodyStep, Trailers};

/// Delimitation of a body (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// No body.
    None,
    /// Exactly so many bytes; zero is possible.
    Length(u64),
    /// Chunked coding.
    Chunked,
    /// Until the connection closes (responses only).
    UntilClose,
}

/// Decodes one body from bytes fed in any portions. Reuse one for many bodies: it keeps its memory.
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    state: State,
    /// Apart: large, and most bodies have none.
    chunks: Box<ChunkReader>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Left(u64),
    Chunked,
    UntilClose,
}

impl BodyDecoder {
    /// A decoder at the start of a body of `kind`.
    pub fn new(kind: BodyKind) -> Self {
        let mut decoder = Self { state: State::Left(0), chunks: Box::default() };
        decoder.restart(kind);
        decoder
    }

    /// Puts this decoder at the start of another body, keeping the memory.
    pub fn restart(&mut self, kind: BodyKind) {
        if self.state == State::Chunked {
            self.chunks.restart();
        }
        self.state = match kind {
            BodyKind::None => State::Left(0),
            BodyKind::Length(length) => State::Left(length),
            BodyKind::Chunked => State::Chunked,
            BodyKind::UntilClose => State::UntilClose,
        };
    }

    /// Decodes the next piece of `input`: call again with the rest until `consumed` is 0 or `done`.
    /// One step yields one run of content at most; a fault behind it is returned by the next step.
    ///
    /// # Errors
    /// See [`BodyError`]; the decoder cannot be used after one.
    pub fn step(&mut self, input: &[u8]) -> Result<BodyStep, BodyError> {
        match &mut self.state {
            State::Left(left) => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= take as u64;
                Ok(BodyStep { consumed: take, content: (0, take), done: *left == 0 })
            }
            State::Chunked => self.chunks.step(input),
            State::UntilClose => {
                Ok(BodyStep { consumed: input.len(), content: (0, input.len()), done: false })
            }
        }
    }

    /// Whether the body is complete. A body that lasts until close never is.
    pub fn is_done(&self) -> bool {
        match self.state {
            State::Left(left) => left == 0,
            State::Chunked => self.chunks.is_done(),
            State::UntilClose => false,
        }
    }

    /// Content bytes that come next without framing between them, as far as they need not be
    /// looked at: the rest of a length, or all there is until close. 0 for chunked coding.
    pub fn bare(&self) -> u64 {
        match self.state {
            State::Left(left) => left,
            State::Chunked => 0,
            State::UntilClose => u64::MAX,
        }
    }

    /// Records that the next `count` bytes, [`BodyDecoder::bare`] at most, were forwarded without
    /// being decoded.
    pub fn pass(&mut self, count: u64) {
        if let State::Left(left) = &mut self.state {
            *left = left.saturating_sub(count);
        }
    }

    /// Whether the connection may end here.
    ///
    /// # Errors
    /// [`BodyError::Truncated`] unless the body is complete or lasts until close.
    pub fn finish(&self) -> Result<(), BodyError> {
        if self.is_done() || self.state == State::UntilClose {
            return Ok(());
        }
        Err(BodyError::Truncated)
    }

    /// Trailer fields received, without those that bear on framing, routing, authentication or the
    /// reading of the content (RFC 9110 section 6.5.1). All of them once the body is done.
    pub fn trailers(&self) -> &Trailers {
        self.chunks.trailers()
    }
}

/// Writes one chunk (size line, data, CRLF). Writes nothing for empty `data`.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    write_chunk_size(out, data.len() as u64);
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Writes the size line of a chunk whose `len` bytes of data and CRLF are written by the caller.
/// `len` must not be 0: that would be the last chunk.
pub fn write_chunk_size(out: &mut Vec<u8>, len: u64) {
    let digits = 16 - (len | 1).leading_zeros() / 4;
    for at in (0..digits).rev() {
        let digit = (len >> (at * 4) & 15) as u8;
        out.push(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes the last chunk and the trailer section.
pub fn write_last_chunk(out: &mut Vec<u8>, trailers: &Trailers) {
    out.extend_from_slice(b"0\r\n");
    trailers.write_to(out);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{
        BodyDecoder, BodyError, BodyKind, Trailers, write_chunk, write_chunk_size, write_last_chunk,
    };
    use crate::http1::{EXTENSION_BYTES_MAX, TRAILER_BYTES_MAX, TRAILER_LINES_MAX};

    /// Result of decoding some bytes: content, trailers, outcome, and if there is no error the
    /// number of bytes after the body.
    #[derive(Debug, PartialEq)]
    struct Decoded {
        content: Vec<u8>,
        trailers: Vec<(Vec<u8>, Vec<u8>)>,
        left_over: usize,
        outcome: Result<(), BodyError>,
    }

    fn decode<'a>(kind: BodyKind, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
        let mut decoder = BodyDecoder::new(kind);
        let mut content = Vec::new();
        let mut left_over = 0;
        let mut outcome = Ok(());
        for piece in pieces {
            let mut rest = piece;
            while outcome.is_ok() && !decoder.is_done() && !rest.is_empty() {
                match decoder.step(rest) {
                    Ok(step) => {
                        assert!(step.consumed > 0, "a step that does nothing");
                        assert_eq!(step.done, decoder.is_done());
                        content.extend_from_slice(&rest[step.content.0..step.content.1]);
                        rest = &rest[step.consumed..];
                    }
                    Err(error) => outcome = Err(error),
                }
            }
            left_over += rest.len();
        }
        let lines = decoder.trailers().iter();
        let trailers = lines.map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        let outcome = outcome.and_then(|()| decoder.finish());
        let left_over = if outcome.is_ok() { left_over } else { 0 };
        Decoded { content, trailers, left_over, outcome }
    }

    /// Checks the whole input, byte by byte, and each split in two: `content|trailers|left over`,
    /// or `content!error`.
    fn check(kind: BodyKind, input: impl AsRef<[u8]>, expected: &str) {
        let input = input.as_ref();
        let whole = decode(kind, [input]);
        let content = String::from_utf8_lossy(&whole.content);
        let shown = match whole.outcome {
            Ok(()) => {
                let line = |(name, value): &(Vec<u8>, Vec<u8>)| {
                    format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
                };
                let trailers: Vec<_> = whole.trailers.iter().map(line).collect();
                format!("{content}|{}|{}", trailers.join(","), whole.left_over)
            }
            Err(BodyError::Truncated) => format!("{content}!truncated"),
            Err(BodyError::Chunk(_)) => format!("{content}!chunk"),
            Err(BodyError::TooLarge(_)) => format!("{content}!too large"),
        };
        let input_shown: String = String::from_utf8_lossy(input).chars().take(80).collect();
        assert_eq!(shown, expected, "{input_shown:?}");
        assert_eq!(decode(kind, input.chunks(1)), whole, "{input_shown:?} byte by byte");
        for at in (0..input.len()).take(200) {
            let (head, tail) = input.split_at(at);
            assert_eq!(decode(kind, [head, tail]), whole, "{input_shown:?} split at {at}");
        }
    }

    fn check_chunked(input: impl AsRef<[u8]>, expected: &str) {
        check(BodyKind::Chunked, input, expected);
    }

    #[test]
    fn lengths() {
        check(BodyKind::None, "", "||0");
        check(BodyKind::None, "GET", "||3");
        check(BodyKind::Length(0), "GET", "||3");
        check(BodyKind::Length(5), "hello", "hello||0");
        check(BodyKind::Length(5), "helloGET", "hello||3");
        check(BodyKind::Length(5), "hell", "hell!truncated");
        check(BodyKind::Length(5), "", "!truncated");
        check(BodyKind::Length(u64::MAX), "hello", "hello!truncated");
        check(BodyKind::UntilClose, "hello", "hello||0");
        check(BodyKind::UntilClose, "", "||0");
    }

    #[test]
    fn content_may_pass_unseen() {
        let mut decoder = BodyDecoder::new(BodyKind::Length(10));
        decoder.pass(4);
        assert_eq!((decoder.bare(), decoder.finish()), (6, Err(BodyError::Truncated)));
        decoder.pass(6);
        assert_eq!((decoder.bare(), decoder.finish()), (0, Ok(())));
        assert_eq!(BodyDecoder::new(BodyKind::Chunked).bare(), 0);
        let mut endless = BodyDecoder::new(BodyKind::UntilClose);
        endless.pass(endless.bare());
        assert!(endless.bare() > 0 && !endless.is_done());
    }

    #[test]
    fn chunks() {
        check_chunked("0\r\n\r\n", "||0");
        check_chunked("5\r\nhello\r\n0\r\n\r\n", "hello||0");
        check_chunked("5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n", "hello||16");
        check_chunked("2\r\nhe\r\n3\r\nllo\r\n000\r\n\r\n", "hello||0");
        check_chunked("A\r\n0123456789\r\n0\r\n\r\n", "0123456789||0");
        check_chunked("00000000000000A\r\n0123456789\r\n0\r\n\r\n", "0123456789||0");
        check_chunked("2\r\n\r\n\r\n0\r\n\r\n", "\r\n||0");
        check_chunked("5;a=b;c=\"d;e\"\r\nhello\r\n0;x\r\n\r\n", "hello||0");
        check_chunked("5 \t; a = b\r\nhello\r\n0\r\n\r\n", "hello||0");
        check_chunked("5;\u{e9}\r\nhello\r\n0\r\n\r\n", "hello||0");
    }

    #[test]
    fn chunk_sizes_are_plain_hex() {
        for bad in [
            "\r\n",
            ";a\r\n",
            " 5\r\n",
            "\t5\r\n",
            "5 \r\n",
            "5 5\r\n",
            "0x5\r\n",
            "+5\r\n",
            "-5\r\n",
            "5_0\r\n",
            "5g\r\n",
            "\"5\"\r\n",
            "5\n",
            "5\r",
            "5\r\r\n",
            "5;a\n",
            "5;a\rb\r\n",
            "5;\0\r\n",
            "5;\"\n\"\r\n",
            "00000000000000005\r\n",
            "10000000000000005\r\n",
            "\u{665}\r\n",
        ] {
            check_chunked(format!("{bad}hello\r\n0\r\n\r\n"), "!chunk");
        }
        check_chunked("ffffffffffffffff\r\nhello", "hello!truncated");
        for without_digits in ["\r\n\r\n", ";a\r\n\r\n", " ;a\r\n\r\n"] {
            check_chunked(without_digits, "!chunk");
        }
    }

    #[test]
    fn chunk_data_ends_in_crlf() {
        check_chunked("5\r\nhelloXX0\r\n\r\n", "hello!chunk");
        check_chunked("5\r\nhello\n0\r\n\r\n", "hello!chunk");
        check_chunked("5\r\nhello\r0\r\n\r\n", "hello!chunk");
        check_chunked("5\r\nhello0\r\n\r\n", "hello!chunk");
        check_chunked("4\r\nhello\r\n0\r\n\r\n", "hell!chunk");
        check_chunked("6\r\nhello\r\n0\r\n\r\n", "hello\r!chunk");
    }

    #[test]
    fn every_cut_is_a_truncation() {
        let body = "5;a\r\nhello\r\n0\r\nX-T: 1\r\n\r\n";
        for end in 0..body.len() {
            let decoded = decode(BodyKind::Chunked, [&body.as_bytes()[..end]]);
            assert_eq!(decoded.outcome, Err(BodyError::Truncated), "{end}");
        }
        check_chunked(body, "hello|X-T=1|0");
    }

    #[test]
    fn trailers() {
        check_chunked("0\r\nA: 1\r\nb:\t2 3 \r\nC:\r\n\r\nGET", "|A=1,b=2 3,C=|3");
        check_chunked("0\r\nA: 1\r\nA: 2\r\n\r\n", "|A=1,A=2|0");
        for dropped in [
            "Content-Length: 5",
            "transfer-encoding: chunked",
            "HOST: a",
            "Authorization: a",
            "Proxy-Authorization: a",
            "Cookie: a",
            "Set-Cookie: a",
            "Connection: a",
            "Trailer: a",
            "X-Forwarded-For: a",
            "Forwarded: a",
            "If-Match: a",
            "Content-Type: a",
        ] {
            check_chunked(format!("0\r\nA: 1\r\n{dropped}\r\nB: 2\r\n\r\n"), "|A=1,B=2|0");
        }
        for bad in [
            "A\r\n",
            "A : 1\r\n",
            " A: 1\r\n",
            ": 1\r\n",
            "A: 1\n",
            "A: 1\r",
            "A: 1\r\n b\r\n",
            "A: \0\r\n",
            "A\u{e9}: 1\r\n",
            "A: \x7f\r\n",
            "\n",
            "\r",
        ] {
            let expected = if bad == "\r" { "||0" } else { "!chunk" };
            let rest = if bad == "\r" { "\n" } else { "\r\n" };
            check_chunked(format!("0\r\n{bad}{rest}"), expected);
        }
    }

    #[test]
    fn extensions_and_trailers_are_bounded() {
        let bounds = (EXTENSION_BYTES_MAX, TRAILER_BYTES_MAX, TRAILER_LINES_MAX);
        assert_eq!(bounds, (16384, 8192, 32));
        let extended = |count: usize| format!("1;{}\r\na\r\n", "x".repeat(count - 1));
        check_chunked(extended(EXTENSION_BYTES_MAX) + "0\r\n\r\n", "a||0");
        check_chunked(extended(EXTENSION_BYTES_MAX + 1) + "0\r\n\r\n", "!too large");
        let half = extended(EXTENSION_BYTES_MAX / 2);
        check_chunked(format!("{half}{half}0\r\n\r\n"), "aa||0");
        check_chunked(format!("{half}{half}0;\r\n\r\n"), "aa!too large");
        let lines = |count: usize| format!("0\r\n{}\r\n", "host: a\r\n".repeat(count));
        check_chunked(lines(TRAILER_LINES_MAX), "||0");
        check_chunked(lines(TRAILER_LINES_MAX + 1), "!too large");
        let long = |count: usize| format!("0\r\nhost:{}\r\n\r\n", "x".repeat(count - 5));
        check_chunked(long(TRAILER_BYTES_MAX), "||0");
        check_chunked(long(TRAILER_BYTES_MAX + 1), "!too large");
    }

    #[test]
    fn a_restarted_decoder_is_a_new_one() {
        let mut decoder = BodyDecoder::new(BodyKind::Chunked);
        decoder.step(b"0\r\nA: 1\r\n\r\n").unwrap();
        assert!(decoder.is_done() && decoder.trailers().contains(b"a"));
        decoder.restart(BodyKind::Chunked);
        assert!(!decoder.is_done() && decoder.trailers().is_empty());
        assert_eq!(decoder.step(b"5\r\nhe").unwrap().content, (3, 5));
        decoder.restart(BodyKind::Length(7));
        assert_eq!(decoder.bare(), 7);
        decoder.restart(BodyKind::None);
        assert!(decoder.is_done());
    }

    #[test]
    fn chunk_sizes_are_written_without_leading_zeros() {
        for len in [1, 9, 10, 15, 16, 255, 256, 0xabcdef, u64::MAX] {
            let mut out = Vec::new();
            write_chunk_size(&mut out, len);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{len:x}\r\n"));
        }
    }

    #[test]
    fn one_chunk_in_one_piece_is_one_step() {
        let step = BodyDecoder::new(BodyKind::Chunked).step(b"5\r\nhello\r\n0\r\n\r\nGET").unwrap();
        assert_eq!((step.consumed, step.content, step.done), (15, (3, 8), true));
    }

    proptest! {
        #[test]
        fn what_was_encoded_decodes_the_same(
            chunks in vec(vec(any::<u8>(), 0..300), 0..6),
            lines in vec(("[A-Za-z]{1,8}", "[!-~]{0,8}"), 0..4),
            size in 1usize..40,
        ) {
            let mut trailers = Trailers::default();
            for (name, value) in &lines {
                trailers.append(format!("X-{name}").as_bytes(), value.as_bytes());
            }
            let mut text = Vec::new();
            for chunk in &chunks {
                write_chunk(&mut text, chunk);
            }
            write_last_chunk(&mut text, &trailers);
            let decoded = decode(BodyKind::Chunked, text.chunks(size));
            prop_assert_eq!(decoded.outcome, Ok(()));
            prop_assert_eq!(decoded.content, chunks.concat());
            let expected: Vec<_> = trailers.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
            prop_assert_eq!(decoded.trailers, expected);
        }

        #[test]
        fn any_split_gives_the_same(
            chunks in "([0-9a-c]{1,2}(;[a-z]{0,3})?\r\n[a-z\r\n]{0,12}\r?\n?){0,3}",
            last in "(0\r\n(a:b\r\n)?\r\n)?",
            sizes in vec(1usize..8, 1..40),
        ) {
            let text = chunks + &last;
            let whole = decode(BodyKind::Chunked, [text.as_bytes()]);
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, tail) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            prop_assert_eq!(decode(BodyKind::Chunked, pieces), whole);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..100)) {
            decode(BodyKind::Chunked, [bytes.as_slice()]);
        }
    }
}
