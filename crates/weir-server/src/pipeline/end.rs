//! One side of a connection that carries messages.

use std::task::{Context, Poll};

use crate::http::buffers::{Carry, ReadBuffer};
use crate::http::pace::Pace;
use crate::net::{Socket, poll_read, poll_write};

/// Bytes that may wait to be sent before nothing more is taken for them.
const BACKLOG_BYTES_MAX: usize = 64 * 1024;
/// Memory that an end keeps though it has nothing to send.
const KEPT_BYTES_MAX: usize = 16 * 1024;

/// A connection with its unread input and unsent output.
#[derive(Debug)]
pub(super) struct End {
    stream: Socket,
    /// Bandwidth limit of the received bytes, if any.
    pace: Option<Box<Pace>>,
    /// Bytes received but not yet parsed.
    pub(super) carry: Carry,
    /// To be sent, from `sent` on.
    out: Vec<u8>,
    sent: usize,
    /// The peer sends nothing more.
    pub(super) is_over: bool,
    /// The end of the stream is to be sent once the output is empty.
    ending: Ending,
    /// The connection broke.
    pub(super) failed: bool,
    /// Bytes sent.
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    No,
    Wanted,
    Sent,
}

impl End {
    /// A side whose input is paced by `pace`.
    pub(super) fn new(stream: Socket, carry: Carry, pace: Option<Box<Pace>>) -> Self {
        Self {
            stream,
            pace,
            carry,
            out: Vec::new(),
            sent: 0,
            is_over: false,
            ending: Ending::No,
            failed: false,
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// Queues `bytes` for sending.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Queues `bytes` for sending and leaves none.
    pub(super) fn append(&mut self, bytes: &mut Vec<u8>) {
        match self.out.is_empty() {
            true => std::mem::swap(&mut self.out, bytes),
            false => self.out.append(bytes),
        }
    }

    /// Bytes that wait to be sent.
    pub(super) fn unsent_bytes(&self) -> usize {
        self.out.len() - self.sent
    }

    /// What is written here is sent by and by.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Whether it takes more output before the buffered output is sent.
    pub(super) fn has_room(&self) -> bool {
        self.unsent_bytes() < BACKLOG_BYTES_MAX
    }

    /// Sends the end of the stream after all buffered output.
    pub(super) fn end(&mut self) {
        if self.ending == Ending::No {
            self.ending = Ending::Wanted;
        }
    }

    /// Whether all output has been sent, including the end of the stream if requested.
    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty() && self.ending != Ending::Wanted
    }

    /// Reads once; returns whether bytes or the end arrived.
    pub(super) fn fill(&mut self, cx: &mut Context<'_>, scratch: &mut ReadBuffer) -> bool {
        if self.is_over || self.failed {
            return false;
        }
        let max = match &mut self.pace {
            None => usize::MAX,
            Some(pace) => match pace.poll(cx) {
                Poll::Ready(max) => max,
                Poll::Pending => return false,
            },
        };
        let polled = poll_read(&mut self.stream, scratch.buffer_of(max));
        let Poll::Ready(read) = polled else { return false };
        match read {
            Ok(0) => self.is_over = true,
            Ok(count) => {
                self.carry.push(scratch.read(count));
                self.received_bytes += count as u64;
                if let Some(pace) = &mut self.pace {
                    pace.moved(count);
                }
            }
            Err(_) => self.failed = true,
        }
        true
    }

    /// Sends as much output as possible; returns whether any was sent.
    pub(super) fn flush(&mut self) -> bool {
        let before = self.sent_bytes;
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match poll_write(&mut self.stream, rest) {
                Poll::Ready(Ok(count)) => {
                    self.sent += count;
                    self.sent_bytes += count as u64;
                }
                Poll::Ready(Err(_)) => {
                    self.failed = true;
                    return true;
                }
                Poll::Pending => return self.sent_bytes > before,
            }
        }
        self.out.clear();
        self.out.shrink_to(KEPT_BYTES_MAX);
        self.sent = 0;
        if self.ending == Ending::Wanted {
            self.ending = Ending::Sent;
            self.failed |= !self.stream.end();
            return true;
        }
        self.sent_bytes > before
    }
}
