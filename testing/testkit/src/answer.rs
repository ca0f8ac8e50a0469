//! The reaction of an origin to a request, step by step.

use std::fmt;
use std::time::Duration;

use crate::gate::Gate;
use crate::received::Received;

/// The steps of an origin to answer one request. Unless [`Answer::early`] comes first, the
/// request's body is read before the first step. The connection stays open after the last step,
/// unless the request asked to close it.
#[derive(Debug, Default)]
pub struct Answer {
    pub(crate) steps: Vec<Step>,
    pub(crate) early: bool,
}

pub(crate) enum Step {
    /// Writes these bytes, in pieces of at most so many bytes.
    Write { bytes: Vec<u8>, piece: usize },
    /// Writes these bytes so many times.
    Repeat { bytes: Vec<u8>, times: u64 },
    /// Writes bytes computed from the request.
    Make(Make),
    /// Reads the request's body to its end, if that has not been done.
    ReadBody,
    /// Waits at a gate.
    Pause(Gate),
    /// Lets time pass without a look at the connection.
    Rest(Duration),
    /// Sends FIN.
    Close,
    /// Sends RST.
    Reset,
}

pub(crate) type Make = Box<dyn FnOnce(&Received) -> Vec<u8> + Send>;

impl Answer {
    /// No steps: the request is read and never answered.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// `200 OK` with the body `ok`.
    pub fn ok() -> Self {
        Self::raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }

    /// A response with this status, fields (`name: value`) and body, with its Content-Length.
    pub fn status(status: u16, fields: &[&str], body: impl AsRef<[u8]>) -> Self {
        Self::raw(response(status, fields, body.as_ref()))
    }

    /// `200 OK` with the request's body as its body.
    pub fn echo() -> Self {
        Self::made(|request| response(200, &[], &request.body))
    }

    /// These bytes as they are.
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self::nothing().write(bytes)
    }

    /// Bytes made of the request as received so far (with its body, unless early).
    pub fn made(make: impl FnOnce(&Received) -> Vec<u8> + Send + 'static) -> Self {
        Self::nothing().step(Step::Make(Box::new(make)))
    }

    /// Starts with the first step as soon as the request's head is complete, and reads the body
    /// after the last one (or at [`Answer::read_body`]).
    pub fn early(mut self) -> Self {
        self.early = true;
        self
    }

    /// Then writes these bytes.
    pub fn write(self, bytes: impl AsRef<[u8]>) -> Self {
        self.write_split(bytes, usize::MAX)
    }

    /// Then writes these bytes in pieces of `piece` bytes, one system call each.
    pub fn write_split(self, bytes: impl AsRef<[u8]>, piece: usize) -> Self {
        self.step(Step::Write { bytes: bytes.as_ref().to_vec(), piece })
    }

    /// Then writes these bytes `times` times, or until the peer is gone.
    pub fn repeat(self, bytes: impl AsRef<[u8]>, times: u64) -> Self {
        self.step(Step::Repeat { bytes: bytes.as_ref().to_vec(), times })
    }

    /// Then the steps of `other`.
    pub fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self
    }

    /// Then waits until `gate` is open. If the peer goes away meanwhile, the answer ends there and
    /// the request is recorded as [`Received::abandoned`].
    pub fn pause(self, gate: &Gate) -> Self {
        self.step(Step::Pause(gate.clone()))
    }

    /// Then lets so much time pass without reading the connection.
    pub fn rest(self, time: Duration) -> Self {
        self.step(Step::Rest(time))
    }

    /// Then reads the request's body to its end.
    pub fn read_body(self) -> Self {
        self.step(Step::ReadBody)
    }

    /// Then closes the connection.
    pub fn close(self) -> Self {
        self.step(Step::Close)
    }

    /// Then resets the connection.
    pub fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

fn response(status: u16, fields: &[&str], body: &[u8]) -> Vec<u8> {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Status\r\n{fields}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { bytes, piece } => {
                write!(f, "Write({:?}, {piece})", String::from_utf8_lossy(bytes))
            }
            Self::Repeat { bytes, times } => write!(f, "Repeat({} bytes, {times})", bytes.len()),
            Self::Make(_) => write!(f, "Make"),
            Self::ReadBody => write!(f, "ReadBody"),
            Self::Pause(_) => write!(f, "Pause"),
            Self::Rest(time) => write!(f, "Rest({time:?})"),
            Self::Close => write!(f, "Close"),
            Self::Reset => write!(f, "Reset"),
        }
    }
}
