//! One direction of body traffic: decoded on one side, framed anew on the other, never collected.

use std::io;
use std::task::{Context, Poll};

use weir_wire::http1::{BodyDecoder, BodyError, BodyKind, write_chunk, write_last_chunk};

use super::body::Carry;
use crate::error::{ErrorKind, ProxyError, body_error_text};
use crate::net::{Socket, poll_read, poll_write};

/// Reads in a row at most before other connections have their turn.
const READS_MAX: usize = 16;

/// How a body is framed towards the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Content as it is: a length was announced, or the end of the connection ends it.
    Identity,
    /// Chunked coding.
    Chunked,
    /// Content is dropped (the receiver must not get a body).
    Discard,
}

/// Why a relay ended before its end.
#[derive(Debug)]
pub(crate) enum RelayError {
    /// The sender's coding is broken.
    Body(BodyError),
    /// The sender's connection failed.
    Source,
    /// The sender's connection ended inside the body.
    Truncated,
    /// The receiver's connection failed.
    Sink,
    /// More content than allowed.
    TooLarge,
}

impl RelayError {
    /// What it means in a request's body, which may hold `content_max` bytes.
    pub(crate) fn of_upload(&self, content_max: Option<u64>) -> ProxyError {
        match self {
            Self::Body(body) => ProxyError::with(ErrorKind::BadBody, body_error_text(*body)),
            Self::TooLarge => {
                ProxyError::new(ErrorKind::BodyTooLarge(content_max.unwrap_or_default()))
            }
            Self::Source | Self::Truncated => ProxyError::new(ErrorKind::ClientGone),
            Self::Sink => ProxyError::new(ErrorKind::UpstreamClosed),
        }
    }

    /// What it means in a response's body.
    pub(crate) fn of_download(&self) -> ProxyError {
        match self {
            Self::Sink => ProxyError::new(ErrorKind::ClientGone),
            Self::Body(body) => {
                ProxyError::with(ErrorKind::ResponseTruncated, body_error_text(*body))
            }
            Self::Source | Self::Truncated | Self::TooLarge => {
                ProxyError::new(ErrorKind::ResponseTruncated)
            }
        }
    }
}

/// Which end a relay is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    Source,
    Sink,
}

/// One direction of one body.
#[derive(Debug)]
pub(crate) struct Relay {
    decoder: BodyDecoder,
    framing: Framing,
    pending: Vec<u8>,
    sent: usize,
    decoded: bool,
    /// Names of trailers that are for this hop only.
    withheld: Vec<Vec<u8>>,
    /// Content bytes allowed at most.
    pub(crate) content_max: Option<u64>,
    /// Content bytes taken from the sender so far.
    pub(crate) content: u64,
    /// Bytes given to the receiver so far, framing included.
    pub(crate) moved: u64,
    /// Which end the last poll waited for.
    pub(crate) waiting: Waiting,
}

impl Relay {
    pub(crate) fn new(kind: BodyKind, framing: Framing) -> Self {
        Self {
            decoder: BodyDecoder::new(kind),
            framing,
            pending: Vec::new(),
            sent: 0,
            decoded: is_empty(kind),
            withheld: Vec::new(),
            content_max: None,
            content: 0,
            moved: 0,
            waiting: Waiting::Source,
        }
    }

    /// Makes this the relay of another body, keeping the memory.
    pub(crate) fn restart(&mut self, kind: BodyKind, framing: Framing) {
        self.decoder.restart(kind);
        self.framing = framing;
        self.pending.clear();
        self.sent = 0;
        self.decoded = is_empty(kind);
        self.withheld = Vec::new();
        self.content_max = None;
        self.content = 0;
        self.moved = 0;
        self.waiting = Waiting::Source;
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.pending.capacity()
    }

    /// Everything was taken from the sender and given to the receiver.
    pub(crate) fn is_done(&self) -> bool {
        self.decoded && self.sent == self.pending.len()
    }

    /// Everything was taken from the sender.
    pub(crate) fn is_decoded(&self) -> bool {
        self.decoded
    }

    /// Where a head in front of the body is written; the relay sends it first.
    pub(crate) fn lead(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Does not pass on trailers with these names.
    pub(crate) fn withhold(&mut self, names: Vec<Vec<u8>>) {
        self.withheld = names;
    }

    /// What has been framed for the receiver and not been written yet.
    pub(crate) fn unwritten(&self) -> &[u8] {
        self.pending.get(self.sent..).unwrap_or_default()
    }

    /// Nothing has been written to the receiver.
    pub(crate) fn is_untouched(&self) -> bool {
        self.moved == 0
    }

    /// Decodes what `carry` holds, up to `bytes_max` bytes: the part of a body that travels in one
    /// write with its head.
    pub(crate) fn fill(&mut self, carry: &mut Carry, bytes_max: usize) -> Result<(), RelayError> {
        let mut pending = std::mem::take(&mut self.pending);
        let mut result = Ok(());
        while !self.decoded && !carry.is_empty() && pending.len() < bytes_max {
            match self.decode(carry.as_slice(), &mut pending) {
                Ok(0) => break,
                Ok(used) => carry.consume(used),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.pending = pending;
        result
    }

    /// Moves what can be moved now. `Ready(Ok(()))` when the body is complete at the receiver.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Socket,
        carry: &mut Carry,
        sink: &mut Socket,
        scratch: &mut [u8],
    ) -> Poll<Result<(), RelayError>> {
        let mut reads = 0;
        loop {
            if let Err(error) = std::task::ready!(self.poll_flush(cx, sink)) {
                return Poll::Ready(Err(error));
            }
            if self.decoded {
                return Poll::Ready(Ok(()));
            }
            if !carry.is_empty() {
                let mut pending = std::mem::take(&mut self.pending);
                let used = self.decode(carry.as_slice(), &mut pending);
                self.pending = pending;
                match used {
                    Ok(used) => carry.consume(used),
                    Err(error) => return Poll::Ready(Err(error)),
                }
                continue;
            }
            if reads == READS_MAX {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            reads += 1;
            match poll_read(source, cx, scratch) {
                Poll::Pending => {
                    self.waiting = Waiting::Source;
                    return Poll::Pending;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.read_failed(&error))),
                Poll::Ready(Ok(0)) => {
                    if self.decoder.finish().is_err() {
                        return Poll::Ready(Err(RelayError::Truncated));
                    }
                    self.decoded = true;
                    self.finish_framing();
                }
                Poll::Ready(Ok(count)) => {
                    let bytes = scratch.get(..count).unwrap_or_default();
                    if let Err(error) = self.take(cx, bytes, carry, sink) {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
    }

    /// Decodes bytes just read; content is written at once where that is possible and copied only
    /// when the receiver does not take it. What follows the body goes to `carry`.
    fn take(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        carry: &mut Carry,
        sink: &mut Socket,
    ) -> Result<(), RelayError> {
        let mut at = 0;
        while at < bytes.len() && !self.decoded {
            let rest = bytes.get(at..).unwrap_or_default();
            if self.framing != Framing::Identity {
                let mut pending = std::mem::take(&mut self.pending);
                let used = self.decode(rest, &mut pending);
                self.pending = pending;
                at += used?;
                continue;
            }
            let step = self.decoder.step(rest).map_err(RelayError::Body)?;
            let content = rest.get(step.content.0..step.content.1).unwrap_or_default();
            self.count(content.len())?;
            self.write_through(cx, content, sink)?;
            at += step.consumed;
            self.decoded = step.done;
            if step.consumed == 0 {
                break;
            }
        }
        carry.push(bytes.get(at..).unwrap_or_default());
        Ok(())
    }

    fn write_through(
        &mut self,
        cx: &mut Context<'_>,
        mut content: &[u8],
        sink: &mut Socket,
    ) -> Result<(), RelayError> {
        while self.pending.is_empty() && !content.is_empty() {
            match poll_write(sink, cx, content) {
                Poll::Ready(Ok(count)) => {
                    self.moved += count as u64;
                    content = content.get(count..).unwrap_or_default();
                }
                Poll::Ready(Err(_)) => return Err(RelayError::Sink),
                Poll::Pending => break,
            }
        }
        self.pending.extend_from_slice(content);
        Ok(())
    }

    /// Decodes one run of `input`, framing its content into `out`; gives the bytes used.
    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, RelayError> {
        let mut at = 0;
        while at < input.len() && !self.decoded {
            let rest = input.get(at..).unwrap_or_default();
            let step = self.decoder.step(rest).map_err(RelayError::Body)?;
            let content = rest.get(step.content.0..step.content.1).unwrap_or_default();
            self.count(content.len())?;
            match self.framing {
                Framing::Identity => out.extend_from_slice(content),
                Framing::Chunked => write_chunk(out, content),
                Framing::Discard => {}
            }
            at += step.consumed;
            if step.done {
                self.decoded = true;
                if self.framing == Framing::Chunked {
                    self.write_end(out);
                }
            }
            if step.consumed == 0 {
                break;
            }
        }
        Ok(at)
    }

    fn finish_framing(&mut self) {
        if self.framing == Framing::Chunked {
            let mut pending = std::mem::take(&mut self.pending);
            self.write_end(&mut pending);
            self.pending = pending;
        }
    }

    fn write_end(&self, out: &mut Vec<u8>) {
        let trailers = self.decoder.trailers();
        if self.withheld.is_empty() || trailers.is_empty() {
            return write_last_chunk(out, trailers);
        }
        let mut trailers = trailers.clone();
        trailers.retain(|name, _| !self.withheld.iter().any(|w| w.eq_ignore_ascii_case(name)));
        write_last_chunk(out, &trailers);
    }

    fn count(&mut self, content: usize) -> Result<(), RelayError> {
        self.content += content as u64;
        match self.content_max {
            Some(max) if self.content > max => Err(RelayError::TooLarge),
            _ => Ok(()),
        }
    }

    fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut Socket,
    ) -> Poll<Result<(), RelayError>> {
        while self.sent < self.pending.len() {
            let rest = self.pending.get(self.sent..).unwrap_or_default();
            match poll_write(sink, cx, rest) {
                Poll::Ready(Ok(count)) => {
                    self.sent += count;
                    self.moved += count as u64;
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(RelayError::Sink)),
                Poll::Pending => {
                    self.waiting = Waiting::Sink;
                    return Poll::Pending;
                }
            }
        }
        self.pending.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    fn read_failed(&self, error: &io::Error) -> RelayError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => RelayError::Truncated,
            _ => RelayError::Source,
        }
    }
}

fn is_empty(kind: BodyKind) -> bool {
    matches!(kind, BodyKind::None | BodyKind::Length(0))
}

impl Default for Relay {
    /// A relay with nothing to move.
    fn default() -> Self {
        Self::new(BodyKind::None, Framing::Discard)
    }
}
