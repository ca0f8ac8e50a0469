//! Request and response heads, as received and as edited by filters.

use crate::fields::{Fields, Span};

/// HTTP version of a message. Order is age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1 (and any later 1.x, which is answered as 1.1)
    #[default]
    Http11,
}

/// A request head (RFC 9112 section 2.1). Reuse one value for many requests: nothing is freed.
///
/// The target is kept apart as scheme and authority (from an absolute-form target), raw path and raw
/// query, none of them decoded.
#[derive(Clone, Debug, Default)]
pub struct RequestHead {
    /// HTTP version the client speaks.
    pub version: Version,
    /// Header fields in the order received.
    pub fields: Fields,
    method: Span,
    path: Span,
    query: Option<Span>,
    authority: Option<Span>,
    received_path: Span,
    received_query: Option<Span>,
}

impl RequestHead {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        *self = Self { fields, ..Self::default() };
    }

    /// Method as sent, case kept.
    pub fn method(&self) -> &[u8] {
        self.fields.slice(self.method)
    }

    /// Raw path; starts with `/`, or is `*` (OPTIONS), or empty (CONNECT).
    pub fn path(&self) -> &[u8] {
        self.fields.slice(self.path)
    }

    /// Raw query without `?`; `Some(b"")` for a bare `?`.
    pub fn query(&self) -> Option<&[u8]> {
        self.query.map(|span| self.fields.slice(span))
    }

    /// Host and port of an absolute-form or authority-form target.
    pub fn authority(&self) -> Option<&[u8]> {
        self.authority.map(|span| self.fields.slice(span))
    }

    /// The path as it was before any filter changed it.
    pub fn received_path(&self) -> &[u8] {
        self.fields.slice(self.received_path)
    }

    /// The query as it was before any filter changed it.
    pub fn received_query(&self) -> Option<&[u8]> {
        self.received_query.map(|span| self.fields.slice(span))
    }

    /// What the request asks for by name: the target's authority if it has one (RFC 9112 3.2.2),
    /// else the Host field, else nothing.
    pub fn host(&self) -> &[u8] {
        self.authority().or_else(|| self.fields.get(b"host")).unwrap_or_default()
    }

    /// Sets the method.
    pub fn set_method(&mut self, method: &[u8]) {
        self.method = self.fields.intern(method);
    }

    /// Sets path, query and authority as received: the edited target starts out equal to them.
    pub fn receive_target(&mut self, path: &[u8], query: Option<&[u8]>, authority: Option<&[u8]>) {
        self.path = self.fields.intern(path);
        self.query = query.map(|q| self.fields.intern(q));
        self.authority = authority.map(|a| self.fields.intern(a));
        self.received_path = self.path;
        self.received_query = self.query;
    }

    /// Replaces the raw path.
    pub fn set_path(&mut self, path: &[u8]) {
        self.path = self.fields.intern(path);
    }

    /// Replaces the raw query (`None` removes the `?` too).
    pub fn set_query(&mut self, query: Option<&[u8]>) {
        self.query = query.map(|q| self.fields.intern(q));
    }

    /// Fills this head from spans that a parser found in text already interned.
    pub(crate) fn adopt(
        &mut self,
        method: Span,
        path: Span,
        query: Option<Span>,
        auth: Option<Span>,
    ) {
        self.method = method;
        self.path = path;
        self.query = query;
        self.authority = auth;
        self.received_path = path;
        self.received_query = query;
    }

    /// Writes the request line in origin-form, then the fields, then the empty line.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method());
        out.push(b' ');
        out.extend_from_slice(self.path());
        if let Some(query) = self.query() {
            out.push(b'?');
            out.extend_from_slice(query);
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
        self.fields.write_to(out);
        out.extend_from_slice(b"\r\n");
    }
}

/// A response head (RFC 9112 section 4). Reuse one value for many responses.
#[derive(Clone, Debug, Default)]
pub struct ResponseHead {
    /// HTTP version the upstream speaks.
    pub version: Version,
    /// Status code, 100 to 999.
    pub status: u16,
    /// Header fields in the order received.
    pub fields: Fields,
    reason: Span,
}

impl ResponseHead {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.status = 0;
        self.reason = Span::default();
        self.version = Version::Http11;
    }

    /// Reason phrase as received; may be empty.
    pub fn reason(&self) -> &[u8] {
        self.fields.slice(self.reason)
    }

    /// Sets status and reason phrase.
    pub fn set_status(&mut self, status: u16, reason: &[u8]) {
        self.status = status;
        self.reason = self.fields.intern(reason);
    }

    /// Writes the status line as HTTP/1.1, then the fields, then the empty line.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 ");
        let digits = [self.status / 100 % 10, self.status / 10 % 10, self.status % 10];
        out.extend(digits.map(|d| b'0' + d as u8));
        out.push(b' ');
        out.extend_from_slice(self.reason());
        out.extend_from_slice(b"\r\n");
        self.fields.write_to(out);
        out.extend_from_slice(b"\r\n");
    }
}
