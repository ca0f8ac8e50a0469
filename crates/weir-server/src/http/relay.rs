//! One direction of body traffic: decoded at the source, framed anew for the sink, never collected.

use std::io;
use std::task::{Context, Poll};

use weir_filter::Encoder;
use weir_wire::http1::{BodyDecoder, BodyKind, write_chunk_size, write_last_chunk};

use super::buffers::{Carry, ReadBuffer};
use super::gather::Gather;
use super::pace::Pace;
pub(crate) use super::relay_error::RelayError;
use super::tap::Tap;
use crate::net::{Socket, poll_read, poll_splice_from, poll_splice_to, poll_writable};
use crate::pipe::{Pipe, Pipes};

/// Maximum number of bytes read in a row before other connections have their turn: one read with a
/// buffer of the default size. A turn costs almost nothing compared with the copying. With several
/// reads per turn, hundreds of large bodies delayed all other connections by as many megabytes of
/// copying.
const TURN_BYTES_MAX: usize = 64 * 1024;

/// Content is spliced where at least so many bytes of it are still to come, and
const SPLICED_BYTES_MIN: u64 = 64 * 1024;
/// where so many came at once: less is copied sooner than two more system calls are made.
const BULK_BYTES_MIN: usize = 16 * 1024;
/// Bytes spliced before others have their turn: neighbours of 500 readers wait no longer with as
/// many than with half of them.
const SPLICE_BYTES_MAX: usize = 256 * 1024;

/// Framing of a body towards the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Content as it is: a length was announced, or the end of the connection ends it.
    Identity,
    /// Chunked coding.
    Chunked,
    /// Content is dropped (the receiver must not get a body).
    Discard,
}

/// The end of the connection that a relay waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    Source,
    Sink,
    Pace,
}

/// One direction of a body.
#[derive(Debug)]
pub(crate) struct Relay {
    decoder: BodyDecoder,
    framing: Framing,
    pending: Gather,
    /// Buffer for the content of `pending`; returned within a turn.
    held: Carry,
    /// Spliced content in a kernel pipe, to be sent after `pending`.
    piped: Option<Pipe>,
    /// The last read was large.
    is_bulk: bool,
    decoded: bool,
    /// Names of trailers that are for this hop only.
    withheld: Vec<Vec<u8>>,
    /// Makes another coding of the content.
    encoder: Option<Box<Encoder>>,
    /// Content bytes allowed at most.
    pub(crate) content_max: Option<u64>,
    /// Content bytes taken from the sender.
    pub(crate) content: u64,
    /// Bytes given to the receiver, framing included.
    pub(crate) moved: u64,
    /// The end that the last poll waited for.
    pub(crate) waiting: Waiting,
    /// Bandwidth limits of the exchange's bodies, if any.
    pub(crate) pace: Option<Box<Pace>>,
    /// Who is shown the content, where somebody is.
    pub(crate) tap: Option<Box<Tap>>,
}

impl Relay {
    pub(crate) fn new(kind: BodyKind, framing: Framing) -> Self {
        Self {
            decoder: BodyDecoder::new(kind),
            framing,
            pending: Gather::default(),
            held: Carry::default(),
            piped: None,
            is_bulk: is_bulk(kind),
            decoded: is_empty(kind),
            withheld: Vec::new(),
            encoder: None,
            content_max: None,
            content: 0,
            moved: 0,
            waiting: Waiting::Source,
            pace: None,
            tap: None,
        }
    }

    /// Makes this the relay of another body, keeping the memory.
    pub(crate) fn restart(&mut self, kind: BodyKind, framing: Framing) {
        self.decoder.restart(kind);
        self.framing = framing;
        self.pending.clear();
        self.held = Carry::default();
        self.piped = None;
        self.is_bulk = is_bulk(kind);
        self.decoded = is_empty(kind);
        self.withheld = Vec::new();
        self.encoder = None;
        self.content_max = None;
        self.content = 0;
        self.moved = 0;
        self.waiting = Waiting::Source;
        if let Some(tap) = &mut self.tap {
            tap.clear();
        }
    }

    /// Relays the same body again, framed as before, with the same trailers withheld.
    pub(crate) fn rewind(&mut self, kind: BodyKind) {
        let (withheld, content_max) = (std::mem::take(&mut self.withheld), self.content_max);
        self.restart(kind, self.framing);
        self.withheld = withheld;
        self.content_max = content_max;
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.pending.memory() + self.held.memory()
    }

    /// Content lies in a buffer that is to be given back.
    pub(crate) fn has_buffer(&self) -> bool {
        self.held.is_lent()
    }

    /// Closes a pipe whose bytes will not be sent any more.
    pub(crate) fn drop_pipe(&mut self) {
        self.piped = None;
    }

    /// Everything was taken from the sender and given to the receiver.
    pub(crate) fn is_done(&self) -> bool {
        self.decoded && self.pending.is_empty() && self.piped.is_none()
    }

    /// Everything was taken from the sender.
    pub(crate) fn is_decoded(&self) -> bool {
        self.decoded
    }

    /// The buffer for a head in front of the body; the relay sends it first.
    pub(crate) fn lead(&mut self) -> &mut Vec<u8> {
        self.pending.own()
    }

    /// Does not pass on trailers with these names.
    pub(crate) fn withhold(&mut self, names: Vec<Vec<u8>>) {
        self.withheld = names;
    }

    /// Sends the content, which is framed in chunks, as `encoder` makes it.
    pub(crate) fn encode(&mut self, encoder: Encoder) {
        self.encoder = Some(Box::new(encoder));
    }

    /// Bytes framed for the receiver but not yet written.
    pub(crate) fn unwritten(&mut self) -> &[u8] {
        self.pending.settle(self.held.as_slice());
        self.pending.unwritten()
    }

    /// Nothing has been written to the receiver.
    pub(crate) fn is_untouched(&self) -> bool {
        self.moved == 0
    }

    /// Decodes `carry`: the part of a body that travels in one write with its head.
    pub(crate) fn fill(&mut self, carry: &mut Carry) -> Result<(), RelayError> {
        if self.decoded || carry.is_empty() {
            return Ok(());
        }
        let result = self.decode(carry.as_slice());
        if let Ok(used) = result
            && used == carry.len()
            && carry.is_lent()
        {
            std::mem::swap(&mut self.held, carry);
            return Ok(());
        }
        self.pending.settle(carry.as_slice());
        carry.consume(result?);
        carry.keep();
        Ok(())
    }

    /// Decodes `carry`; at most `max` bytes of it, if they may have to wait for bandwidth.
    fn fill_paced(&mut self, carry: &mut Carry, max: usize) -> Result<(), RelayError> {
        if self.pace.is_none() {
            return self.fill(carry);
        }
        let part = carry.as_slice().get(..max).unwrap_or(carry.as_slice());
        let result = self.decode(part);
        self.pending.settle(part);
        carry.consume(result?);
        Ok(())
    }

    /// Returns the borrowed buffer of pending content, before a wait.
    pub(crate) fn give_back(&mut self, scratch: &mut ReadBuffer) {
        if self.held.is_lent() {
            self.pending.settle(self.held.as_slice());
            scratch.take_back(&mut self.held);
        }
    }

    /// Moves as many bytes as possible. `Ready(Ok(()))` when the body is complete at the receiver.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut Socket,
        carry: &mut Carry,
        sink: &mut Socket,
        scratch: &mut ReadBuffer,
    ) -> Poll<Result<(), RelayError>> {
        let mut taken = 0;
        loop {
            let flushed = self.poll_flush(sink);
            scratch.take_back(&mut self.held);
            if let Err(error) = std::task::ready!(flushed) {
                return Poll::Ready(Err(error));
            }
            if let Err(error) = std::task::ready!(self.poll_drain(sink, &mut scratch.pipes)) {
                return Poll::Ready(Err(error));
            }
            if self.decoded {
                return Poll::Ready(Ok(()));
            }
            if taken >= TURN_BYTES_MAX {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let max = match &mut self.pace {
                None => usize::MAX,
                Some(pace) => match pace.poll(cx) {
                    Poll::Ready(max) => max,
                    Poll::Pending => {
                        self.waiting = Waiting::Pace;
                        return Poll::Pending;
                    }
                },
            };
            if !carry.is_empty() {
                match self.fill_paced(carry, max) {
                    Ok(()) => continue,
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            let polled = match self.poll_splice(source, sink, &mut scratch.pipes, max) {
                Some(polled) => polled,
                None => poll_read(source, scratch.buffer_of(max)),
            };
            match polled {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.read_failed(&error))),
                Poll::Ready(Ok(0)) => {
                    if self.decoder.finish().is_err() {
                        return Poll::Ready(Err(RelayError::Truncated));
                    }
                    self.decoded = true;
                    self.finish_framing();
                }
                Poll::Ready(Ok(count)) => {
                    taken += count;
                    self.is_bulk = count >= BULK_BYTES_MIN;
                    let took = match self.piped {
                        Some(_) => self.pass(count),
                        None => self.take(scratch.read(count), carry, sink),
                    };
                    if let Err(error) = took {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
    }

    /// Splices content into a pipe; `None` if it must be read instead, or there is no pipe.
    fn poll_splice(
        &mut self,
        source: &mut Socket,
        sink: &mut Socket,
        pipes: &mut Pipes,
        max: usize,
    ) -> Option<Poll<io::Result<usize>>> {
        self.waiting = Waiting::Source;
        let bare = self.decoder.bare();
        let is_seen = self.tap.as_ref().is_some_and(|tap| tap.is_open());
        if is_seen || !self.is_bulk || bare < SPLICED_BYTES_MIN || self.framing != Framing::Identity
        {
            return None;
        }
        let mut pipe = pipes.take()?;
        // A pipe is not taken for a receiver that waits.
        if poll_writable(sink).is_pending() {
            pipes.take_back(pipe);
            self.waiting = Waiting::Sink;
            return Some(Poll::Pending);
        }
        let max = usize::try_from(bare).unwrap_or(usize::MAX).min(SPLICE_BYTES_MAX).min(max);
        let polled = poll_splice_from(source, &mut pipe, max);
        if let Poll::Ready(Err(error)) = &polled
            && is_refusal(error)
        {
            pipes.give_up(error);
            return None;
        }
        if pipe.held() > 0 {
            self.piped = Some(pipe);
        } else {
            pipes.take_back(pipe);
        }
        Some(polled)
    }

    /// Records `count` bytes of content in the pipe.
    fn pass(&mut self, count: usize) -> Result<(), RelayError> {
        self.count(count).inspect_err(|_| self.drop_pipe())?;
        self.decoder.pass(count as u64);
        self.decoded = self.decoder.is_done();
        Ok(())
    }

    /// Decodes bytes just read. Content is written at once where possible and copied only when the
    /// receiver does not take it. Bytes behind the body go to `carry`.
    fn take(
        &mut self,
        bytes: &[u8],
        carry: &mut Carry,
        sink: &mut Socket,
    ) -> Result<(), RelayError> {
        let decoded = self.decode(bytes);
        if decoded.is_err() {
            // Content in front of the fault is still sent.
            self.pending.settle(bytes);
        }
        carry.push(bytes.get(decoded?..).unwrap_or_default());
        match self.pending.poll_write(sink, bytes, &mut self.moved) {
            Poll::Ready(Err(_)) => Err(RelayError::Sink),
            // The caller tries the rest again and notes which end is waited for.
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// Decodes `input` and frames its content; returns the number of bytes used.
    fn decode(&mut self, input: &[u8]) -> Result<usize, RelayError> {
        let mut at = 0;
        while at < input.len() && !self.decoded {
            let rest = input.get(at..).unwrap_or_default();
            let step = self.decoder.step(rest).map_err(RelayError::Body)?;
            let (from, to) = (at + step.content.0, at + step.content.1);
            self.count(to - from)?;
            if let Some(tap) = &mut self.tap {
                tap.take(input.get(from..to).unwrap_or_default());
            }
            match self.framing {
                Framing::Identity => self.pending.add(input, from, to),
                Framing::Chunked if from < to && self.encoder.is_some() => {
                    self.encode_part(input.get(from..to).unwrap_or_default(), step.done);
                }
                Framing::Chunked if from < to => {
                    write_chunk_size(self.pending.own(), (to - from) as u64);
                    self.pending.add(input, from, to);
                    self.pending.own().extend_from_slice(b"\r\n");
                }
                Framing::Chunked | Framing::Discard => {}
            }
            at += step.consumed;
            if step.done {
                self.decoded = true;
                self.finish_framing();
            }
            if step.consumed == 0 {
                break;
            }
        }
        Ok(at)
    }

    /// Encodes content; a small piece is flushed at once, as the receiver may be waiting for it.
    fn encode_part(&mut self, content: &[u8], is_last: bool) {
        let Some(encoder) = &mut self.encoder else { return };
        encoder.write(content);
        let coded = encoder.take(!is_last && content.len() < BULK_BYTES_MIN);
        self.pending.add_chunk(&coded);
    }

    fn finish_framing(&mut self) {
        if self.framing == Framing::Chunked {
            if let Some(mut encoder) = self.encoder.take() {
                self.pending.add_chunk(&encoder.finish());
            }
            let mut own = std::mem::take(self.pending.own());
            self.write_end(&mut own);
            *self.pending.own() = own;
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
        if let Some(pace) = &mut self.pace {
            pace.moved(content);
        }
        match self.content_max {
            Some(max) if self.content > max => Err(RelayError::TooLarge),
            _ => Ok(()),
        }
    }

    fn poll_flush(&mut self, sink: &mut Socket) -> Poll<Result<(), RelayError>> {
        if self.pending.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let input = self.held.as_slice();
        match self.pending.poll_write(sink, input, &mut self.moved) {
            Poll::Ready(result) => Poll::Ready(result.map_err(|_| RelayError::Sink)),
            Poll::Pending => {
                self.waiting = Waiting::Sink;
                Poll::Pending
            }
        }
    }

    /// Writes the content of the pipe to the receiver.
    fn poll_drain(&mut self, sink: &mut Socket, pipes: &mut Pipes) -> Poll<Result<(), RelayError>> {
        while let Some(mut pipe) = self.piped.take() {
            let polled = poll_splice_to(sink, &mut pipe);
            if pipe.held() > 0 {
                self.piped = Some(pipe);
            } else {
                pipes.take_back(pipe);
            }
            match polled {
                Poll::Pending => {
                    self.waiting = Waiting::Sink;
                    return Poll::Pending;
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(RelayError::Sink)),
                Poll::Ready(Ok(count)) => self.moved += count as u64,
            }
        }
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

/// Whether such a body is expected to arrive in large pieces.
fn is_bulk(kind: BodyKind) -> bool {
    matches!(kind, BodyKind::Length(_))
}

/// Whether the kernel cannot splice these connections, or forbids it.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

impl Default for Relay {
    /// A relay with nothing to move.
    fn default() -> Self {
        Self::new(BodyKind::None, Framing::Discard)
    }
}
