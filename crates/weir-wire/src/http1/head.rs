//! Request and response heads from bytes, strict as RFC 9112 allows.
//!
//! Tokens come from `httparse`; its leniencies (line ends without CR, any number of empty lines,
//! any byte in a target) are refused here. Every framing decision (Content-Length,
//! Transfer-Encoding, Host, Connection, Upgrade, Expect) is made once, by `framing`, so no later
//! stage reads those fields again.

use std::mem::MaybeUninit;

use httparse::Status;

use super::error::HeadError;
use super::framing::{FramingFields, RequestFraming, ResponseFraming, forbids_length};
use super::target::{Target, TargetPath, read_target};
use crate::fields::{Fields, Span};
use crate::message::{RequestHead, ResponseHead, Version};
use crate::syntax::is_token_byte;

/// A request line (RFC 9112 section 3); spans are in the head.
struct RequestLine {
    method: Span,
    target: Span,
    version: Version,
}

/// A status line (RFC 9112 section 4).
struct StatusLine {
    version: Version,
    status: u16,
    reason: Span,
}

/// Bounds on a head.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Longest request target in bytes; above is [`HeadError::TargetTooLong`] (414).
    pub target_bytes_max: usize,
    /// Most field lines, [`FIELDS_CAP`] at most; above is [`HeadError::TooManyFields`] (431).
    pub fields_max: usize,
    /// Most bytes of the whole head; above is [`HeadError::HeadTooLarge`] (431).
    pub head_bytes_max: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { target_bytes_max: 8 * 1024, fields_max: 128, head_bytes_max: 32 * 1024 }
    }
}

/// More field lines than this are never accepted, whatever [`HeadLimits::fields_max`] says.
pub const FIELDS_CAP: usize = 256;

/// Longest method in bytes.
pub const METHOD_BYTES_MAX: usize = 32;

/// Most empty lines skipped before a request line (RFC 9112 section 2.2 asks for one).
pub const EMPTY_LINES_MAX: usize = 4;

/// Whether a complete head was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// More bytes are needed; nothing was consumed.
    Partial,
    /// The head took the first `consumed` bytes.
    Complete {
        /// Bytes of the head, with the empty line (and leading empty lines skipped).
        consumed: usize,
        /// Framing of the message.
        framing: T,
    },
}

/// Parses a request head at the start of `input` into `head` (cleared first).
///
/// An absolute-form target overrides the Host field, which is set to the target's authority, so
/// that no later stage can act on the original one (RFC 9112 section 3.2.2).
///
/// # Errors
/// See [`HeadError`]; the connection cannot be used after any of them.
pub fn parse_request(
    input: &[u8],
    head: &mut RequestHead,
    limits: &HeadLimits,
) -> Result<Parsed<RequestFraming>, HeadError> {
    let window = input.get(..limits.head_bytes_max).unwrap_or(input);
    head.clear();
    let Some(skipped) = skip_empty_lines(window)? else { return partial(window, limits) };
    let text = window.get(skipped..).unwrap_or_default();
    match read_request(text, head, limits)? {
        None => partial(window, limits),
        Some((len, framing)) => Ok(Parsed::Complete { consumed: skipped + len, framing }),
    }
}

/// Parses a response head at the start of `input` into `head` (cleared first); `method` is that of
/// the request, since HEAD and CONNECT change the meaning of the bytes behind it.
///
/// Content-Length and Transfer-Encoding are removed where a response must not have them (1xx, 204,
/// 2xx to CONNECT).
///
/// # Errors
/// See [`HeadError`]; for a response every one of them means the upstream is at fault (502).
pub fn parse_response(
    input: &[u8],
    method: &[u8],
    head: &mut ResponseHead,
    limits: &HeadLimits,
) -> Result<Parsed<ResponseFraming>, HeadError> {
    let window = input.get(..limits.head_bytes_max).unwrap_or(input);
    head.clear();
    if matches!(window, [b'\r' | b'\n', ..]) {
        return Err(HeadError::Syntax("empty line before the status line"));
    }
    match read_response(window, method, head, limits)? {
        None => partial(window, limits),
        Some((consumed, framing)) => Ok(Parsed::Complete { consumed, framing }),
    }
}

/// An unfinished head is fine until it fills its bound.
fn partial<T>(window: &[u8], limits: &HeadLimits) -> Result<Parsed<T>, HeadError> {
    if window.len() < limits.head_bytes_max {
        return Ok(Parsed::Partial);
    }
    Err(HeadError::HeadTooLarge)
}

/// Bytes of the empty lines `input` starts with, or `None` while it has nothing else.
fn skip_empty_lines(input: &[u8]) -> Result<Option<usize>, HeadError> {
    let mut rest = input;
    for _ in 0..=EMPTY_LINES_MAX {
        rest = match rest {
            [b'\r', b'\n', tail @ ..] => tail,
            [] | [b'\r'] => return Ok(None),
            [b'\r' | b'\n', ..] => break,
            _ => return Ok(Some(input.len() - rest.len())),
        };
    }
    Err(HeadError::Syntax("empty lines before the request line"))
}

fn fields_max(limits: &HeadLimits) -> usize {
    limits.fields_max.min(FIELDS_CAP)
}

type Slots<'b> = [MaybeUninit<httparse::Header<'b>>; FIELDS_CAP];

fn read_request(
    text: &[u8],
    head: &mut RequestHead,
    limits: &HeadLimits,
) -> Result<Option<(usize, RequestFraming)>, HeadError> {
    let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; FIELDS_CAP];
    let slots = slots.get_mut(..fields_max(limits)).unwrap_or_default();
    let mut parsed = httparse::Request::new(&mut []);
    match parsed.parse_with_uninit_headers(text, slots) {
        Ok(Status::Complete(len)) => {
            let text = text.get(..len).unwrap_or_default();
            let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
                return Err(HeadError::Syntax("request line"));
            };
            let line = RequestLine {
                method: span_in(text, method.as_bytes()),
                target: span_in(text, target.as_bytes()),
                version: version(parsed.version),
            };
            check_lengths(&line, limits)?;
            check_line_ends(text, parsed.headers)?;
            push_fields(text, parsed.headers, &mut head.fields);
            accept_request(&line, head).map(|framing| Some((len, framing)))
        }
        Ok(Status::Partial) => check_request_line(text, limits).map(|()| None),
        Err(httparse::Error::Version) => {
            check_request_line(text, limits)?;
            let mut words = text.splitn(3, |&byte| byte == b' ');
            let version = words.nth(2).unwrap_or_default();
            let text = as_http11(text, text.len() - version.len())?;
            read_request(&text, head, limits)
        }
        Err(httparse::Error::Token) if parsed.method.is_some() => {
            check_request_line(text, limits)?;
            Err(target_error(text))
        }
        Err(error) => {
            check_request_line(text, limits)?;
            Err(head_error(error))
        }
    }
}

/// Copies a head and its field lines into `fields`.
fn push_fields(text: &[u8], headers: &[httparse::Header<'_>], fields: &mut Fields) {
    fields.intern(text);
    for header in headers {
        fields.push_spans(span_in(text, header.name.as_bytes()), span_in(text, header.value));
    }
}

/// The version, from the minor number that `httparse` returns.
fn version(minor: Option<u8>) -> Version {
    if minor == Some(0) { Version::Http10 } else { Version::Http11 }
}

fn check_lengths(line: &RequestLine, limits: &HeadLimits) -> Result<(), HeadError> {
    if line.method.len as usize > METHOD_BYTES_MAX {
        return Err(HeadError::MethodTooLong);
    }
    if line.target.len as usize > limits.target_bytes_max {
        return Err(HeadError::TargetTooLong);
    }
    Ok(())
}

/// Completes a head whose field lines are already in `head`.
fn accept_request(line: &RequestLine, head: &mut RequestHead) -> Result<RequestFraming, HeadError> {
    head.version = line.version;
    let parts = read_target(head.fields.slice(line.method), head.fields.slice(line.target))?;
    let fields = FramingFields::read(head.version, &head.fields)?;
    fields.check_host(head.version)?;
    let framing = fields.of_request(head.version);
    adopt_target(head, line.method, line.target, &parts);
    Ok(framing)
}

fn adopt_target(head: &mut RequestHead, method: Span, target: Span, parts: &Target) {
    let part = |range: &std::ops::Range<usize>| Span {
        start: target.start + range.start as u32,
        len: range.len() as u32,
    };
    let path = match &parts.path {
        TargetPath::Written(range) => part(range),
        TargetPath::Slash => head.fields.intern(b"/"),
        TargetPath::Asterisk => head.fields.intern(b"*"),
    };
    let authority = parts.authority.as_ref().map(part);
    head.adopt(method, (path, parts.plain), parts.query.as_ref().map(part), authority);
    if let Some(authority) = authority {
        let host = head.fields.slice(authority).to_vec();
        head.fields.set(b"Host", &host);
    }
}

fn read_response(
    text: &[u8],
    method: &[u8],
    head: &mut ResponseHead,
    limits: &HeadLimits,
) -> Result<Option<(usize, ResponseFraming)>, HeadError> {
    let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; FIELDS_CAP];
    let slots = slots.get_mut(..fields_max(limits)).unwrap_or_default();
    let mut parsed = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    // RFC 9112 section 5.1: a proxy removes such blanks, and the name's span does not have them.
    config.allow_spaces_after_header_name_in_responses(true);
    match config.parse_response_with_uninit_headers(&mut parsed, text, slots) {
        Ok(Status::Complete(len)) => {
            let text = text.get(..len).unwrap_or_default();
            check_line_ends(text, parsed.headers)?;
            push_fields(text, parsed.headers, &mut head.fields);
            let line = StatusLine {
                version: version(parsed.version),
                status: parsed.code.unwrap_or_default(),
                reason: reason_in(text),
            };
            accept_response(&line, method, head).map(|framing| Some((len, framing)))
        }
        Ok(Status::Partial) => Ok(None),
        Err(httparse::Error::Version) => read_response(&as_http11(text, 0)?, method, head, limits),
        Err(error) => Err(head_error(error)),
    }
}

/// Completes a head whose field lines are already in `head`.
fn accept_response(
    line: &StatusLine,
    method: &[u8],
    head: &mut ResponseHead,
) -> Result<ResponseFraming, HeadError> {
    let status = line.status;
    if status < 100 {
        return Err(HeadError::Syntax("status"));
    }
    head.version = line.version;
    head.adopt(status, line.reason);
    let fields = FramingFields::read(head.version, &head.fields)?;
    let framing = fields.of_response(head.version, status, method);
    if forbids_length(status, method) {
        head.fields.remove(b"content-length");
        head.fields.remove(b"transfer-encoding");
    }
    Ok(framing)
}

/// The reason phrase, where `httparse` gives up because it is not ASCII: the bytes between
/// `HTTP/1.x SSS ` and the line's end.
fn reason_in(text: &[u8]) -> Span {
    const START: usize = "HTTP/1.1 200 ".len();
    let end = memchr::memchr(b'\r', text).unwrap_or(START);
    Span { start: START as u32, len: end.saturating_sub(START) as u32 }
}

/// The span of `part`, a piece of `text`, within it.
fn span_in(text: &[u8], part: &[u8]) -> Span {
    if part.is_empty() {
        return Span::default();
    }
    let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    Span { start: start as u32, len: part.len() as u32 }
}

/// Rejects lines that end in LF alone. Each line of a head accepted by `httparse` ends in its only
/// LF, just before the next name; so checking the bytes before each name finds all of them.
fn check_line_ends(text: &[u8], headers: &[httparse::Header<'_>]) -> Result<(), HeadError> {
    let ends_in_crlf = |end: usize| text.get(end.wrapping_sub(2)) == Some(&b'\r');
    let starts = headers.iter().map(|header| span_in(text, header.name.as_bytes()).start as usize);
    if starts.into_iter().all(ends_in_crlf) && text.ends_with(b"\r\n\r\n") {
        return Ok(());
    }
    Err(HeadError::Syntax("line without CR before LF"))
}

/// Bounds of a request line that may be unfinished or faulty further on.
fn check_request_line(text: &[u8], limits: &HeadLimits) -> Result<(), HeadError> {
    let within = text.iter().take(METHOD_BYTES_MAX + 1);
    let method = within.take_while(|byte| is_token_byte(**byte)).count();
    if method > METHOD_BYTES_MAX {
        return Err(HeadError::MethodTooLong);
    }
    let rest = text.get(method..).filter(|_| method > 0).unwrap_or_default();
    let Some((b' ', target)) = rest.split_first() else { return Ok(()) };
    let within = target.iter().take(limits.target_bytes_max + 1);
    if within.take_while(|byte| is_target_like(**byte)).count() > limits.target_bytes_max {
        return Err(HeadError::TargetTooLong);
    }
    Ok(())
}

/// Bytes that `httparse` accepts in a target; fewer of them are valid.
fn is_target_like(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

/// Why a request line whose method is fine has no target.
fn target_error(text: &[u8]) -> HeadError {
    let target = text.splitn(2, |&byte| byte == b' ').nth(1).unwrap_or_default();
    match target.iter().position(|byte| !is_target_like(*byte)) {
        Some(0) => HeadError::Syntax("no request target"),
        Some(at) if matches!(target.get(at), Some(b'\r' | b'\n')) => {
            HeadError::Syntax("no HTTP version")
        }
        _ => HeadError::Target("byte not allowed in a target"),
    }
}

/// A version that `httparse` refused, at `at` in `text`: a copy of `text` as HTTP/1.1 if it is a
/// later 1.x.
fn as_http11(text: &[u8], at: usize) -> Result<Vec<u8>, HeadError> {
    let version = text.get(at..).unwrap_or_default();
    let name = version.get(..5).unwrap_or(version);
    if !b"HTTP/".starts_with(name) {
        return Err(HeadError::Syntax("no HTTP version"));
    }
    match version.get(5..).unwrap_or_default() {
        [b'1', b'.', b'2'..=b'9', ..] => {
            let mut copy = text.to_vec();
            if let Some(minor) = copy.get_mut(at + 7) {
                *minor = b'1';
            }
            Ok(copy)
        }
        [b'0' | b'2'..=b'9', ..] => Err(HeadError::Version),
        _ => Err(HeadError::Syntax("no HTTP version")),
    }
}

fn head_error(error: httparse::Error) -> HeadError {
    match error {
        httparse::Error::HeaderName => HeadError::Syntax("field name"),
        httparse::Error::HeaderValue => HeadError::Syntax("field value"),
        httparse::Error::NewLine => HeadError::Syntax("line end"),
        httparse::Error::Status => HeadError::Syntax("status line"),
        httparse::Error::Token => HeadError::Syntax("method"),
        httparse::Error::TooManyHeaders => HeadError::TooManyFields,
        httparse::Error::Version => HeadError::Version,
    }
}
