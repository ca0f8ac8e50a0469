//! An upstream as cheap as one can be that reads its requests to their end.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustix::event::epoll::EventFlags;
use weir_wire::RequestHead;
use weir_wire::http1::{
    BodyDecoder, BodyKind, Connection as After, HeadLimits, Parsed, parse_request,
};

use crate::net::{LISTENER, Reactor, SCRATCH_BYTES};

/// The maximum size of an answer's body.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a chunk, in chunked answers.
const CHUNK_BYTES: usize = 4096;
/// Answers written with one call.
const SLICES_MAX: usize = 64;

/// The requested answer, and whether to close the connection after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Wanted {
    /// Bytes of the body; `None` is the usual `ok`.
    bytes: Option<usize>,
    chunked: bool,
    close: bool,
}

impl Wanted {
    fn read(head: &RequestHead, after: After) -> Self {
        let close = after == After::Close;
        let asked = head.fields.get(b"x-answer").and_then(|asked| std::str::from_utf8(asked).ok());
        let (bytes, kind) = asked.map_or((None, ""), |asked| {
            let (bytes, kind) = asked.split_once(',').unwrap_or((asked, ""));
            (bytes.trim().parse().ok().map(|bytes: usize| bytes.min(BODY_BYTES_MAX)), kind.trim())
        });
        Self { bytes, chunked: kind == "chunked", close }
    }

    fn render(self) -> Vec<u8> {
        let body = self.bytes.map_or_else(|| b"ok\n".to_vec(), |bytes| vec![b'x'; bytes]);
        let mut out = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n".to_vec();
        if self.close {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        if !self.chunked {
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            out.extend_from_slice(&body);
            return out;
        }
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        for chunk in body.chunks(CHUNK_BYTES) {
            weir_wire::http1::write_chunk(&mut out, chunk);
        }
        out.extend_from_slice(b"0\r\n\r\n");
        out
    }
}

/// State shared by all connections.
struct Shared {
    rendered: HashMap<Wanted, Arc<[u8]>>,
    head: RequestHead,
    limits: HeadLimits,
    scratch: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// Received, not yet read: the start of a head.
    partial: Vec<u8>,
    /// The body being received, and the answer to be sent after it.
    body: Option<(BodyDecoder, Wanted)>,
    /// Answers to be written, and the number of bytes of the first one already written.
    out: VecDeque<Arc<[u8]>>,
    written: usize,
    close: bool,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        let out = VecDeque::new();
        Self { stream, partial: Vec::new(), body: None, out, written: 0, close: false }
    }

    /// Reads, answers and writes as far as possible; whether the connection is over.
    fn ready(&mut self, flags: EventFlags, shared: &mut Shared) -> io::Result<bool> {
        if flags.contains(EventFlags::ERR) {
            return Ok(true);
        }
        self.write()?;
        if !flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP) {
            return Ok(self.close && self.out.is_empty());
        }
        let ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP);
        let mut scratch = std::mem::take(&mut shared.scratch);
        let ended = loop {
            match self.stream.read(&mut scratch) {
                Ok(0) => break Ok(true),
                Ok(count) => {
                    if let Err(error) = self.take(scratch.get(..count).unwrap_or_default(), shared)
                    {
                        break Err(error);
                    }
                    if count < scratch.len() && !ending {
                        break Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(false),
                Err(error) => break Err(error),
            }
        };
        shared.scratch = scratch;
        let ended = ended?;
        self.write()?;
        Ok(ended || self.close && self.out.is_empty())
    }

    /// Processes received bytes.
    fn take(&mut self, bytes: &[u8], shared: &mut Shared) -> io::Result<()> {
        if self.partial.is_empty() {
            let used = self.parse(bytes, shared)?;
            self.partial.extend_from_slice(bytes.get(used..).unwrap_or_default());
            return Ok(());
        }
        let mut kept = std::mem::take(&mut self.partial);
        kept.extend_from_slice(bytes);
        let used = self.parse(&kept, shared)?;
        kept.drain(..used);
        self.partial = kept;
        Ok(())
    }

    /// Reads requests to their ends and queues their answers; how many bytes were used.
    fn parse(&mut self, bytes: &[u8], shared: &mut Shared) -> io::Result<usize> {
        let invalid = || io::Error::from(ErrorKind::InvalidData);
        let mut used = 0;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            if let Some((decoder, wanted)) = &mut self.body {
                let step = decoder.step(rest).map_err(|_| invalid())?;
                used += step.consumed;
                if step.done {
                    let wanted = *wanted;
                    self.body = None;
                    self.answer(wanted, shared);
                } else if step.consumed == 0 {
                    return Ok(used);
                }
                continue;
            }
            if rest.is_empty() {
                return Ok(used);
            }
            let parsed = parse_request(rest, &mut shared.head, &shared.limits);
            let Parsed::Complete { consumed, framing } = parsed.map_err(|_| invalid())? else {
                return Ok(used);
            };
            used += consumed;
            let wanted = Wanted::read(&shared.head, framing.connection);
            match framing.body {
                BodyKind::None | BodyKind::Length(0) => self.answer(wanted, shared),
                kind => self.body = Some((BodyDecoder::new(kind), wanted)),
            }
        }
    }

    fn answer(&mut self, wanted: Wanted, shared: &mut Shared) {
        let answer = shared.rendered.entry(wanted).or_insert_with(|| wanted.render().into());
        self.out.push_back(answer.clone());
        self.close |= wanted.close;
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.out.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let mut skipped = self.written;
            let mut count = 0;
            for (slice, answer) in slices.iter_mut().zip(&self.out) {
                *slice = IoSlice::new(answer.get(skipped..).unwrap_or_default());
                skipped = 0;
                count += 1;
            }
            match self.stream.write_vectored(slices.get(..count).unwrap_or_default()) {
                Ok(written) => self.wrote(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        while let Some(first) = self.out.front() {
            if self.written < first.len() {
                return;
            }
            self.written -= first.len();
            self.out.pop_front();
        }
    }
}

/// Answers until the process is ended.
pub fn run(listen: SocketAddr) -> anyhow::Result<()> {
    let mut reactor = Reactor::listen(listen)?;
    let mut shared = Shared {
        rendered: HashMap::new(),
        head: RequestHead::default(),
        limits: HeadLimits::default(),
        scratch: vec![0; SCRATCH_BYTES],
    };
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    let (mut ready, mut over) = (Vec::new(), Vec::new());
    loop {
        reactor.wait(&mut ready)?;
        for &(data, flags) in &ready {
            if data == LISTENER {
                while let Some(stream) = reactor.accept() {
                    let at = free.pop().unwrap_or_else(|| {
                        connections.push(None);
                        connections.len() - 1
                    });
                    if reactor.watch(&stream, at as u64).is_ok() {
                        connections[at] = Some(Connection::new(stream));
                    } else {
                        free.push(at);
                    }
                }
                continue;
            }
            let at = data as usize;
            let found = connections.get_mut(at).and_then(Option::as_mut);
            let Some(connection) = found else { continue };
            if connection.ready(flags, &mut shared).unwrap_or(true) {
                connections[at] = None;
                over.push(at);
            }
        }
        // Only now, so that no event of this turn meets another connection in the same place.
        free.append(&mut over);
    }
}
