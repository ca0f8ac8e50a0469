//! Framing of a message and persistence of its connection (RFC 9112 sections 6.3, 7.8, 9.3).
//!
//! Stricter than the RFC where two readers could disagree: Content-Length and Transfer-Encoding
//! together, repeated lengths even if equal, and any coding but one `chunked` are refused.

use super::authority::is_authority;
use super::body::BodyKind;
use super::error::HeadError;
use crate::fields::{Fields, NameSet};
use crate::message::Version;
use crate::syntax::{is_same_name, is_token, list_members, trim_blanks};

/// Persistence of the connection, by the Connection field and the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// May carry another message.
    KeepAlive,
    /// Closes after this message.
    Close,
}

/// Framing of a request, and the requests of its hop-by-hop fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFraming {
    /// Body of the request (never close-delimited).
    pub body: BodyKind,
    /// After this request.
    pub connection: Connection,
    /// `Expect: 100-continue` from an HTTP/1.1 client that has a body to send.
    pub expect_continue: bool,
    /// `Connection: upgrade` with an Upgrade field, from an HTTP/1.1 client.
    pub upgrade: bool,
}

/// Framing of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFraming {
    /// Body of the response, given the request's method: the bytes that follow the head on the
    /// wire. The Content-Length of an answer to HEAD stays in its fields, but no body follows.
    pub body: BodyKind,
    /// After this response.
    pub connection: Connection,
    /// A 1xx other than 101: the final response is still to come on this connection.
    pub interim: bool,
    /// 101, or 2xx to CONNECT: the following bytes are no longer HTTP.
    pub tunnel: bool,
}

/// The fields that bear on framing.
const LOOKED_FOR: NameSet = NameSet::of(b"host")
    .with(NameSet::of(b"expect"))
    .with(NameSet::of(b"upgrade"))
    .with(NameSet::of(b"connection"))
    .with(NameSet::of(b"content-length"))
    .with(NameSet::of(b"transfer-encoding"));

/// The fields that determine framing.
#[derive(Debug, Default)]
pub(super) struct FramingFields<'a> {
    hosts: usize,
    host: &'a [u8],
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    upgrade_option: bool,
    upgrade_field: bool,
    expect_continue: bool,
}

impl<'a> FramingFields<'a> {
    /// Reads all fields once.
    ///
    /// # Errors
    /// Lengths and codings that are not valid, or not allowed together.
    pub(super) fn read(version: Version, fields: &'a Fields) -> Result<Self, HeadError> {
        let mut found = Self::default();
        for (name, value) in fields.among(LOOKED_FOR) {
            let is = |expected: &[u8]| is_same_name(name, expected);
            match name.len() {
                4 if is(b"host") => {
                    found.hosts += 1;
                    found.host = value;
                }
                6 if is(b"expect") => {
                    found.expect_continue |= value.eq_ignore_ascii_case(b"100-continue");
                }
                7 if is(b"upgrade") => found.upgrade_field = true,
                10 if is(b"connection") => found.read_connection(value),
                14 if is(b"content-length") => found.read_length(value)?,
                17 if is(b"transfer-encoding") => found.read_coding(version, value)?,
                _ => {}
            }
        }
        if found.chunked && found.length.is_some() {
            return Err(HeadError::Framing("Content-Length beside Transfer-Encoding"));
        }
        Ok(found)
    }

    fn read_connection(&mut self, value: &[u8]) {
        // The most frequent value.
        if is_same_name(value, b"keep-alive") {
            self.keep_alive = true;
            return;
        }
        for option in list_members(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            self.upgrade_option |= option.eq_ignore_ascii_case(b"upgrade");
        }
    }

    fn read_length(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.length.is_some() {
            return Err(HeadError::Framing("repeated Content-Length"));
        }
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        let append = |sum: u64, byte| sum.checked_mul(10)?.checked_add(digit(byte)?);
        let length = value.iter().try_fold(0, append).filter(|_| !value.is_empty());
        self.length = Some(length.ok_or(HeadError::Framing("Content-Length is not a number"))?);
        Ok(())
    }

    fn read_coding(&mut self, version: Version, value: &[u8]) -> Result<(), HeadError> {
        if version == Version::Http10 {
            return Err(HeadError::Framing("Transfer-Encoding in HTTP/1.0"));
        }
        if self.chunked {
            return Err(HeadError::Framing("repeated Transfer-Encoding"));
        }
        if value.eq_ignore_ascii_case(b"chunked") {
            self.chunked = true;
            return Ok(());
        }
        let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
        let well_formed = value.split(|&byte| byte == b',').all(is_coding);
        let chunked_once = list_members(value).filter(|coding| is_chunked(coding)).count() == 1;
        if well_formed && chunked_once && list_members(value).last().is_some_and(is_chunked) {
            return Err(HeadError::UnknownCoding);
        }
        Err(HeadError::Framing("Transfer-Encoding is not chunked"))
    }

    /// Checks the Host field of a request (RFC 9112 section 3.2).
    pub(super) fn check_host(&self, version: Version) -> Result<(), HeadError> {
        match self.hosts {
            0 if version == Version::Http11 => Err(HeadError::Target("no Host")),
            0 => Ok(()),
            // Clients send an empty Host for a target without an authority.
            1 if self.host.is_empty() || is_authority(self.host) => Ok(()),
            1 => Err(HeadError::Target("Host not valid")),
            _ => Err(HeadError::Target("repeated Host")),
        }
    }

    /// The framing of a request with these fields.
    pub(super) fn of_request(&self, version: Version) -> RequestFraming {
        let body = match (self.chunked, self.length) {
            (true, _) => BodyKind::Chunked,
            (false, Some(length)) => BodyKind::Length(length),
            (false, None) => BodyKind::None,
        };
        let modern = version == Version::Http11;
        let awaited = !matches!(body, BodyKind::None | BodyKind::Length(0));
        RequestFraming {
            body,
            connection: self.connection(version),
            expect_continue: modern && self.expect_continue && awaited,
            upgrade: modern && self.upgrade_option && self.upgrade_field,
        }
    }

    /// The framing of a response with these fields (RFC 9112 section 6.3).
    pub(super) fn of_response(
        &self,
        version: Version,
        status: u16,
        method: &[u8],
    ) -> ResponseFraming {
        let tunnel = status == 101 || (method == b"CONNECT" && is_success(status));
        let bodiless = forbids_length(status, method) || status == 304 || method == b"HEAD";
        let body = match (self.chunked, self.length) {
            _ if bodiless => BodyKind::None,
            (true, _) => BodyKind::Chunked,
            (false, Some(length)) => BodyKind::Length(length),
            (false, None) => BodyKind::UntilClose,
        };
        // A body announced where none may be: whatever follows is not to be taken for an answer.
        let surplus = forbids_length(status, method) && (self.chunked || self.length > Some(0));
        let connection = match body {
            BodyKind::UntilClose => Connection::Close,
            _ if surplus => Connection::Close,
            _ => self.connection(version),
        };
        let interim = (100..200).contains(&status) && !tunnel;
        ResponseFraming { body, connection, interim, tunnel }
    }

    fn connection(&self, version: Version) -> Connection {
        let persistent = version == Version::Http11 || self.keep_alive;
        if persistent && !self.close { Connection::KeepAlive } else { Connection::Close }
    }
}

/// Whether a response must not carry Content-Length or Transfer-Encoding (RFC 9110 section 8.6).
pub(super) fn forbids_length(status: u16, method: &[u8]) -> bool {
    status < 200 || status == 204 || (method == b"CONNECT" && is_success(status))
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// A coding's name, with parameters or without.
fn is_coding(member: &[u8]) -> bool {
    let member = trim_blanks(member);
    let name = member.split(|&byte| byte == b';').next().unwrap_or_default();
    is_token(trim_blanks(name))
}
