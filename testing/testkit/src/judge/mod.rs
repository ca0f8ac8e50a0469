//! A reader of requests to judge others by: the grammar of RFC 9112 taken literally.
//!
//! It is slow and simple on purpose and shares nothing with weir-wire: the whole connection goes
//! in, the messages on it come out, or the place where a strict reader stops. What two readers
//! could take differently is refused. Where it is more tolerant than the grammar, it says so.

mod body;
mod grammar;
mod head;
mod target;

pub use target::{canonical, split};

/// How a request's body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// There is none.
    Nothing,
    /// Content-Length says so many bytes.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
}

/// A request as a strict reader understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Offset of its first byte, empty lines before the request line left out.
    pub start: usize,
    /// Offset behind its last byte; for one that is not complete, where reading stopped.
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
    /// How the body is delimited.
    pub delimiter: Delimiter,
    /// The content, decoded.
    pub body: Vec<u8>,
    /// Trailer lines in order.
    pub trailers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Nothing may follow on the connection.
    pub last: bool,
}

/// Where the reading of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Behind a complete message, or at the start of an empty connection.
    Clean,
    /// Inside a message: more bytes could complete it.
    Inside,
    /// At something no strict reader takes.
    Refused(&'static str),
    /// Behind a message after which bytes are not HTTP (CONNECT) or not read (`close`).
    Last,
}

/// The requests on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The complete ones, in order.
    pub messages: Vec<Message>,
    /// One whose head is complete and whose body is not, or is refused.
    pub open: Option<Message>,
    /// Where reading ended.
    pub end: End,
}

/// Why a part of a message could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Inside,
    Refused(&'static str),
}

impl Message {
    /// The values of every line called `name` (any case), in order.
    pub fn all(&self, name: &str) -> Vec<&[u8]> {
        values(&self.fields, name)
    }
}

fn values<'f>(fields: &'f [(Vec<u8>, Vec<u8>)], name: &str) -> Vec<&'f [u8]> {
    let named = fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes()));
    named.map(|(_, value)| value.as_slice()).collect()
}

/// Reads the requests on a connection from its first byte.
pub fn read_requests(bytes: &[u8]) -> Reading {
    let mut reading = Reading { messages: Vec::new(), open: None, end: End::Clean };
    let mut at = 0;
    while at < bytes.len() {
        let mut message = match head::read(bytes, at) {
            Ok(message) => message,
            Err(stop) => {
                reading.end = stop.into();
                return reading;
            }
        };
        if let Err(stop) = body::read(bytes, &mut message) {
            reading.open = Some(message);
            reading.end = stop.into();
            return reading;
        }
        at = message.end;
        let last = message.last;
        reading.messages.push(message);
        if last {
            reading.end = End::Last;
            return reading;
        }
    }
    reading
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Inside => Self::Inside,
            Stop::Refused(why) => Self::Refused(why),
        }
    }
}

#[cfg(test)]
mod tests;
