//! A client connection as a state machine over bytes: its phase, and the part of the answer that is
//! expected next.
//!
//! Knows HTTP/1 framing through `weir-wire`; knows neither epoll nor when requests are due.

use crate::clock::Nanos;
use crate::record::{Failure, Instants};
use std::net::TcpStream;
use weir_wire::http1::{
    BodyDecoder, BodyKind, Connection as After, HeadLimits, Parsed, ResponseFraming,
};
use weir_wire::{Fields, ResponseHead};

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing; may have a socket that is kept.
    Idle,
    /// Waits to be connected.
    Connecting,
    /// Has part of a request left to write.
    Sending,
    /// Waits for an answer.
    Receiving,
}

/// The next part of an answer.
#[derive(Debug)]
enum Part {
    Head,
    Length(u64),
    Chunked(BodyDecoder),
    UntilClose,
}

/// The result of feeding in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// The answer is incomplete.
    More,
    /// The answer is complete; whether the connection may be used again.
    Complete {
        /// The connection stays open: neither side asked to close it.
        reusable: bool,
    },
}

/// A connection with the request it carries.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Option<TcpStream>,
    pub(super) phase: Phase,
    pub(super) at: Instants,
    /// Index of the request in the plan.
    pub(super) request: usize,
    /// Bytes of the message written.
    pub(super) written: usize,
    /// The message, if it had to be rendered.
    pub(super) message: Vec<u8>,
    /// Body kept for checks.
    pub(super) kept: Vec<u8>,
    /// Fields kept for checks.
    pub(super) fields: Option<Box<Fields>>,
    /// Values of the session's variables.
    pub(super) slots: Vec<String>,
    /// Loops left to a user.
    pub(super) loops_left: u64,
    /// The step to go on with when the pause is over.
    pub(super) resume: Option<usize>,
    pub(super) status: u16,
    pub(super) head_bytes: u64,
    pub(super) body_bytes: u64,
    part: Part,
    reusable: bool,
    carry: Vec<u8>,
}

/// The rules for reading the bytes of an answer.
pub(super) struct Reading<'a> {
    /// Method of the request.
    pub(super) method: &'a [u8],
    /// Keep the body.
    pub(super) keep: bool,
    /// Shared by the connections of a worker.
    pub(super) heads: &'a mut Heads,
}

/// A parser of heads with a cache of the last one: an answer that begins with the same bytes has
/// the same head. This spares most answers of a run the parser.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// The last complete head.
    pub(super) last: ResponseHead,
    bytes: Vec<u8>,
    /// Of the request it answered.
    method: Vec<u8>,
    framing: Option<ResponseFraming>,
}

impl Heads {
    /// Reads the head at the start of `bytes` into `last`; its length and framing, or `None` while
    /// it is not complete.
    fn read(
        &mut self,
        bytes: &[u8],
        method: &[u8],
    ) -> Result<Option<(usize, ResponseFraming)>, Failure> {
        if let Some(known) = self.known(bytes, method) {
            return Ok(Some(known));
        }
        self.framing = None;
        let limits = HeadLimits::default();
        let parsed = weir_wire::http1::parse_response(bytes, method, &mut self.last, &limits)
            .map_err(|_| Failure::Malformed)?;
        let Parsed::Complete { consumed, framing } = parsed else { return Ok(None) };
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes.get(..consumed).unwrap_or_default());
        self.method.clear();
        self.method.extend_from_slice(method);
        self.framing = Some(framing);
        Ok(Some((consumed, framing)))
    }
}

impl Heads {
    /// The length and framing of the last head, if `bytes` begin with it again.
    fn known(&self, bytes: &[u8], method: &[u8]) -> Option<(usize, ResponseFraming)> {
        let framing = self.framing?;
        let same = bytes.starts_with(&self.bytes) && method == self.method;
        same.then_some((self.bytes.len(), framing))
    }
}

impl Connection {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            socket: None,
            phase: Phase::Idle,
            at: Instants::default(),
            request: 0,
            written: 0,
            message: Vec::new(),
            kept: Vec::new(),
            fields: None,
            slots: vec![String::new(); slots],
            loops_left: 0,
            resume: None,
            status: 0,
            head_bytes: 0,
            body_bytes: 0,
            part: Part::Head,
            reusable: true,
            carry: Vec::new(),
        }
    }

    /// Makes ready for a new request.
    pub(super) fn reset(&mut self, request: usize, intended: Nanos, now: Nanos) {
        let free = self.at.free;
        self.at = Instants { intended, begun: now, free, ..Instants::default() };
        self.request = request;
        self.written = 0;
        self.status = 0;
        self.head_bytes = 0;
        self.body_bytes = 0;
        self.part = Part::Head;
        self.reusable = true;
        self.kept.clear();
        self.carry.clear();
    }

    /// The number of body bytes still to come, if the length is known and the body is not kept: the
    /// kernel may drop them without a copy.
    pub(super) fn droppable(&self) -> u64 {
        if let Part::Length(left) = self.part { left } else { 0 }
    }

    /// Counts `bytes` of the body that were dropped unread.
    pub(super) fn dropped(&mut self, bytes: u64) -> Fed {
        self.body_bytes += bytes;
        if let Part::Length(left) = &mut self.part {
            *left = left.saturating_sub(bytes);
            if *left > 0 {
                return Fed::More;
            }
        }
        Fed::Complete { reusable: self.reusable }
    }

    /// Processes bytes of the answer as they arrive.
    pub(super) fn feed(&mut self, bytes: &[u8], read: &mut Reading<'_>) -> Result<Fed, Failure> {
        if self.carry.is_empty() {
            if let Some(complete) = self.known(bytes, read) {
                return Ok(complete);
            }
            let used = self.advance(bytes, read)?;
            return Ok(self.settle(bytes, used));
        }
        let mut joined = std::mem::take(&mut self.carry);
        joined.extend_from_slice(bytes);
        let used = self.advance(&joined, read)?;
        Ok(self.settle(&joined, used))
    }

    /// An answer in one piece with a known head, the most frequent case; the result is that of
    /// [`Connection::advance`].
    fn known(&mut self, bytes: &[u8], read: &Reading<'_>) -> Option<Fed> {
        if read.keep || !matches!(self.part, Part::Head) {
            return None;
        }
        let (head, framing) = read.heads.known(bytes, read.method)?;
        let body = (bytes.len() - head) as u64;
        let whole = match framing.body {
            BodyKind::None => body == 0,
            BodyKind::Length(length) => body == length,
            BodyKind::Chunked | BodyKind::UntilClose => false,
        };
        let status = read.heads.last.status;
        if !whole || (status < 200 && status != 101) {
            return None;
        }
        self.status = status;
        self.head_bytes += head as u64;
        self.body_bytes += body;
        Some(Fed::Complete { reusable: framing.connection == After::KeepAlive })
    }

    /// The peer closed the connection.
    pub(super) fn closed(&self) -> Result<Fed, Failure> {
        match self.part {
            Part::UntilClose => Ok(Fed::Complete { reusable: false }),
            _ => Err(Failure::Closed),
        }
    }

    fn settle(&mut self, bytes: &[u8], (used, complete): (usize, bool)) -> Fed {
        if complete {
            // Bytes behind a complete answer belong to no request: do not trust the connection.
            let reusable = self.reusable && used == bytes.len();
            return Fed::Complete { reusable };
        }
        self.carry.extend_from_slice(bytes.get(used..).unwrap_or_default());
        Fed::More
    }

    /// Consumes bytes of `bytes` as far as possible; returns their number, and whether the answer
    /// is complete.
    fn advance(&mut self, bytes: &[u8], read: &mut Reading<'_>) -> Result<(usize, bool), Failure> {
        let mut used = 0;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            match &mut self.part {
                Part::Head => match self.head(rest, read)? {
                    None => return Ok((used, false)),
                    Some((consumed, complete)) => {
                        used += consumed;
                        if complete {
                            return Ok((used, true));
                        }
                    }
                },
                Part::Length(left) => {
                    let take = (*left).min(rest.len() as u64);
                    *left -= take;
                    let complete = *left == 0;
                    self.content(rest.get(..take as usize).unwrap_or_default(), read.keep);
                    return Ok((used + take as usize, complete));
                }
                Part::UntilClose => {
                    self.content(rest, read.keep);
                    return Ok((bytes.len(), false));
                }
                Part::Chunked(decoder) => {
                    let step = decoder.step(rest).map_err(|_| Failure::Malformed)?;
                    let (start, end) = step.content;
                    used += step.consumed;
                    self.content(rest.get(start..end).unwrap_or_default(), read.keep);
                    if step.done || step.consumed == 0 {
                        return Ok((used, step.done));
                    }
                }
            }
        }
    }

    /// Parses a head; `None` if it is not complete yet, else its length and whether no body
    /// follows.
    fn head(
        &mut self,
        bytes: &[u8],
        read: &mut Reading<'_>,
    ) -> Result<Option<(usize, bool)>, Failure> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let Some((consumed, framing)) = read.heads.read(bytes, read.method)? else {
            return Ok(None);
        };
        let head = &read.heads.last;
        self.head_bytes += consumed as u64;
        if head.status < 200 && head.status != 101 {
            // An interim answer: the final one follows.
            return Ok(Some((consumed, false)));
        }
        self.status = head.status;
        if read.keep {
            self.fields = Some(Box::new(head.fields.clone()));
        }
        self.reusable = framing.connection == After::KeepAlive;
        self.part = match framing.body {
            BodyKind::None | BodyKind::Length(0) => return Ok(Some((consumed, true))),
            BodyKind::Length(length) => Part::Length(length),
            BodyKind::Chunked => Part::Chunked(BodyDecoder::new(BodyKind::Chunked)),
            BodyKind::UntilClose => Part::UntilClose,
        };
        Ok(Some((consumed, false)))
    }

    fn content(&mut self, bytes: &[u8], keep: bool) {
        self.body_bytes += bytes.len() as u64;
        if keep {
            self.kept.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, Fed, Heads, Reading};
    use crate::record::Failure;

    /// Feeds `answer` whole and byte by byte: both must end alike.
    fn check(answer: &str, expected: Result<(Fed, u16, &str), Failure>) {
        again(answer, expected.map(|(fed, status, _)| (fed, status)));
        for size in [answer.len().max(1), 1, 7] {
            let mut connection = Connection::new(0);
            let mut heads = Heads::default();
            let mut read = Reading { method: b"GET", keep: true, heads: &mut heads };
            let mut got = Ok(Fed::More);
            for piece in answer.as_bytes().chunks(size) {
                got = connection.feed(piece, &mut read);
                if !matches!(got, Ok(Fed::More)) {
                    break;
                }
            }
            if got == Ok(Fed::More) {
                got = connection.closed();
            }
            let body = String::from_utf8_lossy(&connection.kept).into_owned();
            let got = got.map(|fed| (fed, connection.status, body.as_str()));
            assert_eq!(got, expected, "{answer:?} in pieces of {size}");
        }
    }

    /// The second of two identical answers gives the same result as the first, whose head is
    /// parsed.
    fn again(answer: &str, expected: Result<(Fed, u16), Failure>) {
        let mut heads = Heads::default();
        let mut bytes = Vec::new();
        for _ in 0..2 {
            let mut connection = Connection::new(0);
            let mut read = Reading { method: b"GET", keep: false, heads: &mut heads };
            let mut got = connection.feed(answer.as_bytes(), &mut read);
            if got == Ok(Fed::More) {
                got = connection.closed();
            }
            assert_eq!(got.map(|fed| (fed, connection.status)), expected, "{answer:?}");
            bytes.push((connection.head_bytes, connection.body_bytes));
        }
        assert_eq!(bytes[0], bytes[1], "{answer:?}");
    }

    #[test]
    fn answers_end_where_their_framing_says() {
        let kept = Fed::Complete { reusable: true };
        let close = Fed::Complete { reusable: false };
        check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", Ok((kept, 200, "abc")));
        check("HTTP/1.1 204 No Content\r\n\r\n", Ok((kept, 204, "")));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        check(chunked, Ok((kept, 200, "ab")));
        check("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", Ok((close, 200, "x")));
        check("HTTP/1.0 200 OK\r\n\r\nuntil close", Ok((close, 200, "until close")));
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
        check(interim, Ok((kept, 404, "")));
        check("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Err(Failure::Closed));
        check("SSH-2.0-OpenSSH\r\n\r\n", Err(Failure::Malformed));
    }

    /// Knowledge about the head of one answer is not applied to a different one.
    #[test]
    fn the_last_head_serves_only_its_like() {
        let mut heads = Heads::default();
        let mut check = |method: &[u8], answer: &str, expected: (u16, &str)| {
            let mut connection = Connection::new(0);
            let mut read = Reading { method, keep: true, heads: &mut heads };
            let fed = connection.feed(answer.as_bytes(), &mut read);
            assert_eq!(fed, Ok(Fed::Complete { reusable: true }), "{answer:?}");
            let body = String::from_utf8_lossy(&connection.kept).into_owned();
            assert_eq!((connection.status, body.as_str()), expected, "{answer:?}");
        };
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
        check(b"GET", &format!("{head}a"), (200, "a"));
        check(b"GET", &format!("{head}b"), (200, "b"));
        check(b"HEAD", head, (200, ""));
        check(b"GET", &format!("{head}c"), (200, "c"));
        check(b"GET", "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", (404, "no"));
        check(b"GET", &format!("{head}d"), (200, "d"));
    }
}
