//! A request as a strict reader understands it, and the errors of malformed parts.

/// The delimiter of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// There is none.
    Nothing,
    /// Content-Length with this value.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
}

/// A request as a strict reader understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Offset of its first byte, empty lines before the request line left out.
    pub start: usize,
    /// Offset after its last byte; for an incomplete message, where reading stopped.
    pub end: usize,
    /// Empty lines in front of it.
    pub empty_lines: usize,
    /// Method, case kept.
    pub method: Vec<u8>,
    /// Request target as written.
    pub target: Vec<u8>,
    /// The minor version: 1 for HTTP/1.1.
    pub minor: u8,
    /// Field lines in order, values without blanks around them.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// The delimiter of the body.
    pub delimiter: Delimiter,
    /// The content, decoded.
    pub body: Vec<u8>,
    /// Trailer lines in order.
    pub trailers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Nothing may follow on the connection.
    pub last: bool,
}

/// The reason why a part of a message could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Inside,
    Refused(&'static str),
}

impl Message {
    /// The values of every line called `name` (any case), in order.
    pub fn all(&self, name: &str) -> Vec<&[u8]> {
        values(&self.fields, name)
    }
}

pub(super) fn values<'f>(fields: &'f [(Vec<u8>, Vec<u8>)], name: &str) -> Vec<&'f [u8]> {
    let named = fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes()));
    named.map(|(_, value)| value.as_slice()).collect()
}
