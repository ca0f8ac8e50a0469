//! Request and response heads, as received and as edited by filters.

use crate::fields::{Fields, Span};
use crate::syntax::{is_field_value, is_path, is_plain_path, is_target, is_token, put};

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
/// The target is kept apart as authority (from an absolute-form target), raw path and raw query,
/// none of them decoded.
#[derive(Clone, Debug, Default)]
pub struct RequestHead {
    /// HTTP version the client speaks.
    pub version: Version,
    /// Header fields in the order received.
    pub fields: Fields,
    method: Span,
    path: Span,
    path_is_plain: bool,
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

    /// Bytes of its text, and of what was edited out of it.
    pub fn text_len(&self) -> usize {
        self.fields.text.len()
    }

    /// Method as sent, case kept.
    pub fn method(&self) -> &[u8] {
        self.fields.slice(self.method)
    }

    /// Raw path; starts with `/`, or is `*` (OPTIONS), or empty (CONNECT).
    pub fn path(&self) -> &[u8] {
        self.fields.slice(self.path)
    }

    /// Whether the path is known to be one that every server reads in the same way
    /// ([`is_plain_path`]). `true` is certain; `false` includes paths that were not checked, such
    /// as those from [`RequestHead::set_path`].
    pub fn path_is_plain(&self) -> bool {
        self.path_is_plain
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

    /// The requested host: the target's authority if it has one (RFC 9112 section 3.2.2), else the
    /// Host field, else empty.
    pub fn host(&self) -> &[u8] {
        self.authority().or_else(|| self.fields.get(b"host")).unwrap_or_default()
    }

    /// Sets the method. One that is not a token makes the head unsound ([`Fields::is_sound`]).
    pub fn set_method(&mut self, method: &[u8]) {
        self.fields.require(is_token(method));
        self.method = self.fields.intern(method);
    }

    /// Sets path, query and authority as received: the edited target starts out equal to them.
    pub fn receive_target(&mut self, path: &[u8], query: Option<&[u8]>, authority: Option<&[u8]>) {
        self.set_path(path);
        self.set_query(query);
        self.authority = authority.map(|a| self.fields.intern(a));
        self.received_path = self.path;
        self.received_query = self.query;
    }

    /// Replaces the raw path. A byte that a path cannot have (a blank, `?`, `#`, a control, 8-bit)
    /// makes the head unsound ([`Fields::is_sound`]): encode it first.
    pub fn set_path(&mut self, path: &[u8]) {
        self.fields.require(is_path(path));
        self.path = self.fields.intern(path);
        self.path_is_plain = false;
    }

    /// Puts `prefix` in front of the path if that is known to be plain; returns whether it did. The
    /// prefix must be plain too and have no slash at its end: the caller must have checked that.
    pub fn prefix_plain_path(&mut self, prefix: &[u8]) -> bool {
        debug_assert!(is_plain_path(prefix) && !prefix.ends_with(b"/"));
        if self.path_is_plain {
            self.path = self.fields.intern_before(prefix, self.path);
        }
        self.path_is_plain
    }

    /// Sets the path if it is plain ([`is_plain_path`]); otherwise changes nothing and returns
    /// `false`.
    pub fn set_plain_path(&mut self, path: &[u8]) -> bool {
        let plain = is_plain_path(path);
        if plain {
            self.path = self.fields.intern(path);
            self.path_is_plain = true;
        }
        plain
    }

    /// Replaces the raw query (`None` removes the `?` too). Bytes as for [`RequestHead::set_path`],
    /// but `?` may stand in it.
    pub fn set_query(&mut self, query: Option<&[u8]>) {
        self.fields.require(query.is_none_or(is_target));
        self.query = query.map(|q| self.fields.intern(q));
    }

    /// Fills this head with the spans that a parser found in interned text; `plain` tells whether
    /// the path is known to be plain.
    pub(crate) fn adopt(
        &mut self,
        method: Span,
        (path, plain): (Span, bool),
        query: Option<Span>,
        auth: Option<Span>,
    ) {
        self.method = method;
        self.path = path;
        self.path_is_plain = plain;
        self.query = query;
        self.authority = auth;
        self.received_path = path;
        self.received_query = query;
    }

    /// Writes the request line as HTTP/1.1 in origin-form (authority-form for CONNECT), then the
    /// fields, then the empty line. An empty path is written as `/`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        put(out, self.method());
        out.push(b' ');
        match (self.path(), self.authority()) {
            (b"", Some(authority)) if self.method() == b"CONNECT" => {
                put(out, authority);
            }
            (b"", _) => out.push(b'/'),
            (path, _) => put(out, path),
        }
        if let Some(query) = self.query() {
            out.push(b'?');
            put(out, query);
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
        self.fields.write_to(out);
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
        self.fields.require(is_field_value(reason));
        self.reason = self.fields.intern(reason);
    }

    /// Fills this head with the spans that a parser found in interned text.
    pub(crate) fn adopt(&mut self, status: u16, reason: Span) {
        self.status = status;
        self.reason = reason;
    }

    /// Writes the status line as HTTP/1.1, then the fields, then the empty line.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 ");
        let digits = [self.status / 100 % 10, self.status / 10 % 10, self.status % 10];
        let [hundreds, tens, ones] = digits.map(|d| b'0' + d as u8);
        out.extend_from_slice(&[hundreds, tens, ones, b' ']);
        match self.fields.ended(self.reason) {
            Some(line) => self.fields.write_behind(line, out),
            None => {
                put(out, self.reason());
                out.extend_from_slice(b"\r\n");
                self.fields.write_to(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RequestHead, ResponseHead, Version};
    use crate::fields::Fields;

    fn check(edit: impl FnOnce(&mut RequestHead), expected: &str, sound: bool) {
        let mut head = RequestHead::default();
        head.set_method(b"GET");
        head.receive_target(b"/a", Some(b"b"), None);
        head.fields.append(b"Host", b"c");
        edit(&mut head);
        let mut out = Vec::new();
        head.write_to(&mut out);
        assert_eq!(String::from_utf8_lossy(&out).replace("\r\n", "|"), expected);
        assert_eq!(head.fields.is_sound(), sound);
        assert_eq!((head.received_path(), head.received_query()), (&b"/a"[..], Some(&b"b"[..])));
    }

    #[test]
    fn request_heads_are_written_in_origin_form() {
        check(|_| {}, "GET /a?b HTTP/1.1|Host: c||", true);
        check(|h| h.set_path(b"/x%20y"), "GET /x%20y?b HTTP/1.1|Host: c||", true);
        check(|h| h.set_query(Some(b"")), "GET /a? HTTP/1.1|Host: c||", true);
        check(|h| h.set_query(None), "GET /a HTTP/1.1|Host: c||", true);
        check(|h| h.set_query(Some(b"c?d")), "GET /a?c?d HTTP/1.1|Host: c||", true);
        check(|h| h.set_path(b""), "GET /?b HTTP/1.1|Host: c||", true);
        check(|h| h.set_method(b"PUT"), "PUT /a?b HTTP/1.1|Host: c||", true);
        let mut head = RequestHead::default();
        for (method, line) in
            [("CONNECT", "CONNECT c:1 HTTP/1.1\r\n"), ("GET", "GET / HTTP/1.1\r\n")]
        {
            head.set_method(method.as_bytes());
            head.receive_target(b"", None, Some(b"c:1"));
            let mut out = Vec::new();
            head.write_to(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("{line}\r\n"));
        }
    }

    #[test]
    fn edits_that_would_break_the_head_make_it_unsound() {
        check(|h| h.set_path(b"/ "), "GET / ?b HTTP/1.1|Host: c||", false);
        check(|h| h.set_path(b"/?"), "GET /??b HTTP/1.1|Host: c||", false);
        check(|h| h.set_path(b"/\r\n"), "GET /|?b HTTP/1.1|Host: c||", false);
        check(|h| h.set_query(Some(b"#")), "GET /a?# HTTP/1.1|Host: c||", false);
        check(|h| h.set_method(b"A B"), "A B /a?b HTTP/1.1|Host: c||", false);
        check(
            |h| h.fields.append(b"A", b"\r\nB: 1"),
            "GET /a?b HTTP/1.1|Host: c|A: |B: 1||",
            false,
        );
        check(|h| h.fields.set(b"Host", b"\0"), "GET /a?b HTTP/1.1|Host: \0||", false);
        let mut others = Fields::default();
        others.append(b"A", b"\r");
        check(|h| h.fields.prepend_all(&others), "GET /a?b HTTP/1.1|A: \r|Host: c||", false);
        check(|h| h.fields.append(b"A:", b""), "GET /a?b HTTP/1.1|Host: c|A:: ||", false);
        let newline = |_: &[u8], _: &[u8]| Some(b"\n".to_vec());
        check(|h| h.fields.rewrite(newline), "GET /a?b HTTP/1.1|Host: \n||", false);
        let mut head = RequestHead::default();
        head.set_path(b"\n");
        head.clear();
        assert!(head.fields.is_sound());
    }

    #[test]
    fn plain_paths_stay_plain() {
        let plain = |h: &mut RequestHead, path| assert!(h.set_plain_path(path));
        let prefixed = |h: &mut RequestHead| h.prefix_plain_path(b"/p/q");
        check(|h| plain(h, b"/x"), "GET /x?b HTTP/1.1|Host: c||", true);
        check(|h| assert!(!h.set_plain_path(b"/.")), "GET /a?b HTTP/1.1|Host: c||", true);
        // A path that was set is not checked.
        check(|h| assert!(!prefixed(h)), "GET /a?b HTTP/1.1|Host: c||", true);
        let both = |h: &mut RequestHead| {
            plain(h, b"/x/");
            assert!(prefixed(h) && prefixed(h) && h.path_is_plain());
        };
        check(both, "GET /p/q/p/q/x/?b HTTP/1.1|Host: c||", true);
    }

    #[test]
    fn response_heads_are_written_as_http_11() {
        let mut head = ResponseHead::default();
        head.set_status(418, b"I'm a teapot");
        head.fields.append(b"A", b"1");
        let mut out = Vec::new();
        head.write_to(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), "HTTP/1.1 418 I'm a teapot\r\nA: 1\r\n\r\n");
        assert!(head.fields.is_sound());
        head.version = Version::Http10;
        head.clear();
        assert_eq!((head.status, head.reason(), head.version), (0, &b""[..], Version::Http11));
        assert!(head.fields.is_empty());
        head.set_status(200, b"\r\n");
        assert!(!head.fields.is_sound());
    }
}
