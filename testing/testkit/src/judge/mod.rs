//! The reference reader of requests: the grammar of RFC 9112 taken literally.
//!
//! It is slow and simple on purpose and shares nothing with weir-wire: the whole connection goes
//! in, the messages on it come out, or the place where a strict reader stops. What two readers
//! could take differently is refused. Where it is more tolerant than the grammar, it says so.

mod body;
mod grammar;
mod head;
mod message;
mod target;

use message::Stop;
pub use message::{Delimiter, Message};
pub use target::{canonical, split};

/// The end of reading a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Behind a complete message, or at the start of an empty connection.
    Clean,
    /// Inside a message: more bytes could complete it.
    Inside,
    /// At input that no strict reader accepts.
    Refused(&'static str),
    /// Behind a message after which bytes are not HTTP (CONNECT) or not read (`close`).
    Last,
}

/// The requests on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The complete ones, in order.
    pub messages: Vec<Message>,
    /// A message with a complete head whose body is incomplete or refused.
    pub open: Option<Message>,
    /// The end of reading.
    pub end: End,
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
