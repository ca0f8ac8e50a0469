//! Relaying content between connections without copying it to user space: a kernel pipe takes the
//! pages in which it was received, and the other connection sends them (splice(2),
//! `docs/decisions/0019-splice.md`).

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

/// Capacity of a pipe, in bytes of full pages. A pipe holds one piece per page, whatever its size:
/// 92 KB of Ethernet packets.
const PIPE_BYTES: usize = 256 * 1024;

/// A kernel pipe. Its content is lost when it is dropped.
#[derive(Debug)]
pub(crate) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    held: usize,
    open: Rc<Cell<usize>>,
}

impl Pipe {
    fn new(open: &Rc<Cell<usize>>) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Refused to users with many pipes, whose new pipes hold only a page or two.
        fcntl_setpipe_size(&write, PIPE_BYTES)?;
        open.set(open.get() + 1);
        Ok(Self { read, write, held: 0, open: Rc::clone(open) })
    }

    /// Bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Takes up to `max` of the bytes that `source` has received, without waiting. 0 is the end of
    /// the stream.
    pub(crate) fn take(&mut self, source: impl AsFd, max: usize) -> io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let count = splice(source, None, &self.write, None, max, flags)?;
        self.held += count;
        Ok(count)
    }

    /// Writes as much of its content to `sink` as possible, without waiting.
    pub(crate) fn give(&mut self, sink: impl AsFd) -> io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let count = splice(&self.read, None, sink, None, self.held, flags)?;
        self.held -= count;
        Ok(count)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}

/// The pipes of one worker.
#[derive(Debug)]
pub(crate) struct Pipes {
    idle: Vec<Pipe>,
    open: Rc<Cell<usize>>,
    max: usize,
}

impl Pipes {
    /// None yet, and never more than `max`.
    pub(crate) fn new(max: usize) -> Self {
        Self { idle: Vec::new(), open: Rc::default(), max }
    }

    /// An empty pipe, unless all are in use.
    pub(crate) fn take(&mut self) -> Option<Pipe> {
        self.idle.pop().or_else(|| self.open())
    }

    fn open(&mut self) -> Option<Pipe> {
        if self.open.get() >= self.max {
            return None;
        }
        let opened = Pipe::new(&self.open);
        if let Err(error) = &opened {
            self.max = self.open.get();
            tracing::info!(%error, pipes = self.max, "no more pipes: other content is copied");
        }
        opened.ok()
    }

    /// Takes back a pipe that is empty.
    pub(crate) fn take_back(&mut self, pipe: Pipe) {
        if pipe.held == 0 {
            self.idle.push(pipe);
        }
    }

    /// Does without from now on: the system refuses to splice these connections.
    pub(crate) fn give_up(&mut self, why: &io::Error) {
        tracing::info!(error = %why, "content is copied: it cannot be spliced");
        self.max = 0;
        self.idle.clear();
    }

    /// Closes half of the idle pipes.
    pub(crate) fn tidy(&mut self) {
        self.idle.truncate(self.idle.len() / 2);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::Pipes;

    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let near = TcpStream::connect(address).expect("a connection");
        (near, listener.accept().expect("its other end").0)
    }

    #[test]
    fn what_is_taken_is_given() {
        let ((mut client, near), (far, mut origin)) = (connection(), connection());
        near.set_nonblocking(true).expect("it does not wait");
        let mut pipe = Pipes::new(1).take().expect("a pipe");
        let empty = pipe.take(&near, 10).map_err(|error| error.kind());
        assert_eq!(empty, Err(ErrorKind::WouldBlock));
        client.write_all(b"hello").expect("sent");
        near.set_nonblocking(false).expect("it waits");
        assert_eq!((pipe.take(&near, 4).expect("taken"), pipe.held()), (4, 4));
        assert_eq!((pipe.give(&far).expect("given"), pipe.held()), (4, 0));
        let mut got = [0; 4];
        origin.read_exact(&mut got).expect("received");
        assert_eq!(&got, b"hell");
        drop(client);
        assert_eq!(pipe.take(&near, 4).expect("taken"), 1);
        assert_eq!(pipe.take(&near, 4).expect("the end"), 0);
    }

    #[test]
    fn there_are_no_more_than_allowed_and_full_ones_are_not_used_again() {
        let mut pipes = Pipes::new(2);
        let (first, second) = (pipes.take().expect("one"), pipes.take().expect("two"));
        assert!(pipes.take().is_none());
        drop(first);
        pipes.take_back(second);
        let (mut client, near) = connection();
        client.write_all(b"hello").expect("sent");
        let mut full = pipes.take().expect("one");
        assert_eq!(full.take(&near, 10).expect("taken"), 5);
        pipes.take_back(full);
        let both = (pipes.take(), pipes.take());
        assert!(matches!(&both, (Some(one), Some(other)) if one.held() + other.held() == 0));
        let (Some(one), Some(other)) = both else { return };
        pipes.take_back(one);
        pipes.take_back(other);
        pipes.tidy();
        assert_eq!(pipes.open.get(), 1);
        pipes.give_up(&ErrorKind::Unsupported.into());
        assert!(pipes.take().is_none() && pipes.open.get() == 0);
    }
}
