//! A TCP forwarder that knows no HTTP: the floor for a proxy that does not pool connections.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use rustix::event::epoll::EventFlags;

use crate::net::{LISTENER, Reactor, SCRATCH_BYTES, connect};

/// One of the two connections of a pair.
struct Side {
    stream: TcpStream,
    /// Bytes received from the other side and not yet written to this one.
    left: Vec<u8>,
    /// The number of bytes of `left` already written.
    taken: usize,
    /// It has sent its last byte.
    ended: bool,
}

impl Side {
    fn new(stream: TcpStream) -> Self {
        Self { stream, left: Vec::new(), taken: 0, ended: false }
    }

    /// Writes as much of `bytes` as possible and keeps the rest.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.stream.write(bytes) {
            Ok(count) => self.left.extend_from_slice(bytes.get(count..).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.left.extend_from_slice(bytes);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes the kept bytes; returns whether none is left.
    fn flush(&mut self) -> io::Result<bool> {
        while self.taken < self.left.len() {
            match self.stream.write(self.left.get(self.taken..).unwrap_or_default()) {
                Ok(count) => self.taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.left.clear();
        self.taken = 0;
        Ok(true)
    }
}

/// A client and its upstream connection.
struct Pair {
    sides: [Side; 2],
}

impl Pair {
    /// Handles an event on side `at`; returns whether both directions have ended.
    fn ready(&mut self, at: usize, flags: EventFlags, scratch: &mut [u8]) -> io::Result<bool> {
        if flags.contains(EventFlags::ERR) {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let waited = |side: &Side| !side.left.is_empty();
        let [client, upstream] = &mut self.sides;
        let (this, other) = if at == 0 { (client, upstream) } else { (upstream, client) };
        // Room on this side permits reading from the other one again.
        if flags.contains(EventFlags::OUT) && waited(this) && this.flush()? {
            if other.ended {
                this.stream.shutdown(Shutdown::Write)?;
            } else {
                copy(other, this, true, scratch)?;
            }
        }
        if flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP) {
            let ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP);
            copy(this, other, ending, scratch)?;
        }
        Ok(self.sides.iter().all(|side| side.ended && side.left.is_empty()))
    }
}

/// Copies until `from` has no more data or `to` accepts no more. Unless `to_the_end`, a read that
/// does not fill the buffer is the last one: further bytes cause another event.
fn copy(from: &mut Side, to: &mut Side, to_the_end: bool, scratch: &mut [u8]) -> io::Result<()> {
    while to.left.is_empty() && !from.ended {
        let count = match from.stream.read(scratch) {
            Ok(0) => {
                from.ended = true;
                return to.stream.shutdown(Shutdown::Write);
            }
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        to.send(scratch.get(..count).unwrap_or_default())?;
        if count < scratch.len() && !to_the_end {
            return Ok(());
        }
    }
    Ok(())
}

/// Forwards until the process is ended.
pub fn run(listen: SocketAddr, to: SocketAddr) -> anyhow::Result<()> {
    let mut reactor = Reactor::listen(listen)?;
    let mut pairs: Vec<Option<Pair>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    let mut scratch = vec![0; SCRATCH_BYTES];
    let (mut ready, mut over) = (Vec::new(), Vec::new());
    loop {
        reactor.wait(&mut ready)?;
        for &(data, flags) in &ready {
            if data == LISTENER {
                while let Some(client) = reactor.accept() {
                    let at = free.pop().unwrap_or_else(|| {
                        pairs.push(None);
                        pairs.len() - 1
                    });
                    match begin(&reactor, client, to, at as u64) {
                        Ok(pair) => pairs[at] = Some(pair),
                        Err(_) => free.push(at),
                    }
                }
                continue;
            }
            let (at, side) = ((data / 2) as usize, (data % 2) as usize);
            let Some(pair) = pairs.get_mut(at).and_then(Option::as_mut) else { continue };
            if pair.ready(side, flags, &mut scratch).unwrap_or(true) {
                pairs[at] = None;
                over.push(at);
            }
        }
        // Only now, so that no event of this turn meets another pair in the same place.
        free.append(&mut over);
    }
}

fn begin(reactor: &Reactor, client: TcpStream, to: SocketAddr, at: u64) -> io::Result<Pair> {
    let upstream = connect(to)?;
    reactor.watch(&upstream, at * 2 + 1)?;
    reactor.watch(&client, at * 2)?;
    Ok(Pair { sides: [Side::new(client), Side::new(upstream)] })
}
