//! Tables of heads and expected results, by rule; and properties of any bytes.

mod properties;
mod request;
mod response;
mod target;

use std::fmt::Write;

use super::{
    BodyKind, Connection, HeadError, HeadLimits, Parsed, RequestFraming, ResponseFraming,
    parse_request,
};
use crate::message::RequestHead;

/// Result of parsing a request head, on one line: `method path ?query @authority flags`, or the
/// error's variant, or `partial`.
fn request(input: &[u8]) -> String {
    request_within(input, &HeadLimits::default())
}

fn request_within(input: &[u8], limits: &HeadLimits) -> String {
    let mut head = RequestHead::default();
    match parse_request(input, &mut head, limits) {
        Ok(Parsed::Partial) => "partial".to_owned(),
        Ok(Parsed::Complete { consumed, framing }) => {
            let left = input.len() - consumed;
            format!("{} {framing}{}", shown(&head), if left > 0 { " +rest" } else { "" })
        }
        Err(error) => kind(error).to_owned(),
    }
}

fn shown(head: &RequestHead) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut out = format!("{} {}", text(head.method()), text(head.path()));
    if let Some(query) = head.query() {
        write!(out, " ?{}", text(query)).unwrap();
    }
    if let Some(authority) = head.authority() {
        write!(out, " @{}", text(authority)).unwrap();
    }
    out
}

/// Checks a whole request, and that every prefix of it gives `partial`.
fn check(input: impl AsRef<[u8]>, expected: &str) {
    let input = input.as_ref();
    let shown = String::from_utf8_lossy(input);
    assert_eq!(request(input), expected, "{shown:?}");
    for end in 0..input.len() {
        let early = request(&input[..end]);
        let same = early == expected || format!("{early} +rest") == expected;
        assert!(early == "partial" || same, "{shown:?} up to {end}: {early}");
    }
}

struct Shown<T>(T);

impl std::fmt::Display for RequestFraming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", Shown(self.body), Shown(self.connection))?;
        write!(f, "{}", if self.expect_continue { " continue" } else { "" })?;
        write!(f, "{}", if self.upgrade { " upgrade" } else { "" })
    }
}

impl std::fmt::Display for ResponseFraming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", Shown(self.body), Shown(self.connection))?;
        write!(f, "{}", if self.interim { " interim" } else { "" })?;
        write!(f, "{}", if self.tunnel { " tunnel" } else { "" })
    }
}

impl std::fmt::Display for Shown<BodyKind> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            BodyKind::None => write!(f, "none"),
            BodyKind::Length(length) => write!(f, "{length}"),
            BodyKind::Chunked => write!(f, "chunked"),
            BodyKind::UntilClose => write!(f, "until-close"),
        }
    }
}

impl std::fmt::Display for Shown<Connection> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Connection::KeepAlive => Ok(()),
            Connection::Close => write!(f, " close"),
        }
    }
}

fn kind(error: HeadError) -> &'static str {
    match error {
        HeadError::Syntax(_) => "syntax",
        HeadError::Framing(_) => "framing",
        HeadError::Target(_) => "target",
        HeadError::UnknownCoding => "coding",
        HeadError::MethodTooLong => "method too long",
        HeadError::Version => "version",
        HeadError::TargetTooLong => "target too long",
        HeadError::TooManyFields => "too many fields",
        HeadError::HeadTooLarge => "head too large",
    }
}
