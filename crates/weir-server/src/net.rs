//! TCP connections: non-blocking reads and writes, and wake-ups when they can continue.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, TcpStream as StdStream};
use std::task::{Poll, ready};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use socket2::{Domain, SockRef, TcpKeepalive, Type};

use crate::pipe::Pipe;
use crate::watched::Watched;

/// TCP keep-alive: a peer that is silent for two minutes counts as gone. Without it, a host that
/// lost power would hold a tunnel, or a response without timeout, for ever.
const SILENCE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(15))
    .with_retries(4);

/// Enables TCP keep-alive. Accepted connections inherit it from their listening socket.
pub(crate) fn watch_over<'s>(socket: impl Into<SockRef<'s>>) -> io::Result<()> {
    socket.into().set_tcp_keepalive(&SILENCE)
}

/// Connects to `address`.
///
/// # Errors
/// The connection is refused, the host unreachable, or no local port free.
pub(crate) async fn connect_to(address: SocketAddr) -> io::Result<Watched<StdStream>> {
    let socket =
        socket2::Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
            return Err(error);
        }
        Ok(()) | Err(_) => {}
    }
    let stream = Watched::new(StdStream::from(socket))?;
    poll_fn(|_| stream.poll_writable()).await;
    match stream.file().take_error()? {
        Some(error) => Err(error),
        None => Ok(stream),
    }
}

/// A TCP connection.
///
/// A new connection is read and written before it is registered with the worker's poller. Most
/// clients have sent their request by then, and a connection whose single request is answered here
/// never needs registering: that saves two system calls and a wake-up.
#[derive(Debug)]
pub(crate) struct Socket(State);

#[derive(Debug)]
enum State {
    /// Not registered with the poller.
    Fresh(StdStream),
    /// Registered.
    Watched(Watched<StdStream>),
    /// Registering failed.
    Lost,
    /// No peer: a request that no client has sent.
    Nobody,
}

impl Socket {
    /// A non-blocking connection that is not registered yet.
    pub(crate) fn fresh(stream: StdStream) -> Self {
        Self(State::Fresh(stream))
    }

    /// The connection of a request without a client: it yields no bytes, and all output is
    /// discarded.
    pub(crate) fn nobody() -> Self {
        Self(State::Nobody)
    }

    /// A connection that is registered.
    pub(crate) fn watched(stream: Watched<StdStream>) -> Self {
        Self(State::Watched(stream))
    }

    /// Moves the connection out; the socket left behind is unusable.
    pub(crate) fn take(&mut self) -> Self {
        Self(std::mem::replace(&mut self.0, State::Lost))
    }

    /// Whether it is not registered with the poller yet.
    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self.0, State::Fresh(_))
    }

    /// Whether the peer has closed its side, or the connection broke. Reads nothing, even if the
    /// peer has sent bytes.
    pub(crate) fn has_hung_up(&self) -> bool {
        self.has(PollFlags::RDHUP)
    }

    /// Whether the connection failed, or has the readiness `flag`.
    fn has(&self, flag: PollFlags) -> bool {
        let stream = match &self.0 {
            State::Fresh(stream) => stream,
            State::Watched(watched) => watched.file(),
            State::Lost => return true,
            State::Nobody => return false,
        };
        let mut asked = [PollFd::new(stream, flag)];
        let over = flag | PollFlags::HUP | PollFlags::ERR;
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut asked, Some(&now)) {
            Ok(_) => asked.iter().any(|one| one.revents().intersects(over)),
            Err(_) => false,
        }
    }

    /// Whether the connection broke, or the peer has closed both sides of it.
    pub(crate) fn has_broken(&self) -> bool {
        self.has(PollFlags::empty())
    }

    /// The address of this end.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match &self.0 {
            State::Fresh(stream) => stream.local_addr().ok(),
            State::Watched(watched) => watched.file().local_addr().ok(),
            State::Lost | State::Nobody => None,
        }
    }

    /// Makes closing reset the connection (`SO_LINGER` 0).
    pub(crate) fn reset_when_closed(&self) {
        let file = match &self.0 {
            State::Fresh(stream) => stream,
            State::Watched(watched) => watched.file(),
            State::Lost | State::Nobody => return,
        };
        // If it fails, the connection ends in good order.
        let _ = SockRef::from(file).set_linger(Some(Duration::ZERO));
    }

    /// Sends the end of the stream; returns whether that was possible.
    pub(crate) fn end(&self) -> bool {
        match &self.0 {
            State::Fresh(stream) => stream.shutdown(Shutdown::Write).is_ok(),
            State::Watched(watched) => watched.file().shutdown(Shutdown::Write).is_ok(),
            State::Lost | State::Nobody => false,
        }
    }

    fn register(&mut self) -> io::Result<&Watched<StdStream>> {
        if let State::Fresh(_) = self.0
            && let State::Fresh(stream) = std::mem::replace(&mut self.0, State::Lost)
        {
            self.0 = State::Watched(Watched::new(stream)?);
        }
        match &self.0 {
            State::Watched(watched) => Ok(watched),
            State::Fresh(_) | State::Lost | State::Nobody => {
                Err(io::ErrorKind::NotConnected.into())
            }
        }
    }

    fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            State::Fresh(stream) => Ok(recv(stream, buffer, RecvFlags::empty())?.1),
            State::Watched(watched) => watched.try_read_some(buffer.len(), |stream| {
                Ok(recv(stream, buffer, RecvFlags::empty())?.1)
            }),
            State::Nobody => Err(io::ErrorKind::WouldBlock.into()),
            State::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn peek_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            State::Fresh(stream) => Ok(recv(stream, buffer, RecvFlags::PEEK)?.1),
            // What was looked at can still be read, however little it was.
            State::Watched(watched) => {
                watched.try_read(|stream| Ok(recv(stream, buffer, RecvFlags::PEEK)?.1))
            }
            State::Nobody => Err(io::ErrorKind::WouldBlock.into()),
            State::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL;
        match &self.0 {
            State::Fresh(stream) => Ok(send(stream, bytes, flags)?),
            State::Watched(watched) => {
                watched.try_write_some(bytes.len(), |stream| Ok(send(stream, bytes, flags)?))
            }
            State::Nobody => Ok(bytes.len()),
            State::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn splice_from_now(&self, pipe: &mut Pipe, max: usize) -> io::Result<usize> {
        match &self.0 {
            State::Fresh(stream) => pipe.take(stream, max),
            // Less than asked for may be all that there is room for in the pipe.
            State::Watched(watched) => watched.try_read(|stream| pipe.take(stream, max)),
            State::Nobody => Err(io::ErrorKind::WouldBlock.into()),
            State::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn splice_to_now(&self, pipe: &mut Pipe) -> io::Result<usize> {
        match &self.0 {
            State::Fresh(stream) => pipe.give(stream),
            State::Watched(watched) => {
                watched.try_write_some(pipe.held(), |stream| pipe.give(stream))
            }
            // Pipes are for relayed bytes only.
            State::Lost | State::Nobody => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn write_slices_now(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL;
        let mut nothing = SendAncillaryBuffer::default();
        match &self.0 {
            State::Fresh(stream) => Ok(sendmsg(stream, slices, &mut nothing, flags)?),
            State::Watched(watched) => {
                let len = slices.iter().map(|slice| slice.len()).sum();
                watched
                    .try_write_some(len, |stream| Ok(sendmsg(stream, slices, &mut nothing, flags)?))
            }
            State::Nobody => Ok(slices.iter().map(|slice| slice.len()).sum()),
            State::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// Makes a call that reads, as soon as it does not have to wait.
fn poll_reading(
    socket: &mut Socket,
    mut call: impl FnMut(&Socket) -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        match call(socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return Poll::Ready(other),
        }
        if let State::Nobody = socket.0 {
            return Poll::Pending;
        }
        ready!(socket.register()?.poll_readable());
    }
}

/// Makes a call that writes something, as soon as it does not have to wait.
fn poll_writing(
    socket: &mut Socket,
    mut call: impl FnMut(&Socket) -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        match call(socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            other => return Poll::Ready(other),
        }
        ready!(socket.register()?.poll_writable());
    }
}

/// Reads once into `buffer`; `Ok(0)` is the end of the stream.
pub(crate) fn poll_read(socket: &mut Socket, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
    poll_reading(socket, |socket| socket.read_now(buffer))
}

/// Copies received bytes into `buffer` and leaves them to be read; `Ok(0)` is the end of the
/// stream.
pub(crate) fn poll_peek(socket: &mut Socket, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
    poll_reading(socket, |socket| socket.peek_now(buffer))
}

/// Ready once the peer has closed its side, or the connection broke. Reads nothing, even if the
/// peer has sent bytes.
pub(crate) fn poll_hung_up(socket: &mut Socket) -> Poll<()> {
    if let State::Nobody = socket.0 {
        return Poll::Pending;
    }
    match socket.register() {
        Ok(watched) => watched.poll_read_ended(),
        Err(_) => Poll::Ready(()),
    }
}

/// Writes once; there must be something to write.
pub(crate) fn poll_write(socket: &mut Socket, bytes: &[u8]) -> Poll<io::Result<usize>> {
    poll_writing(socket, |socket| socket.write_now(bytes))
}

/// Writes once, from several places; there must be something to write.
pub(crate) fn poll_write_vectored(
    socket: &mut Socket,
    slices: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    poll_writing(socket, |socket| socket.write_slices_now(slices))
}

/// Takes up to `max` received bytes into `pipe`, once; `Ok(0)` is the end of the stream.
pub(crate) fn poll_splice_from(
    socket: &mut Socket,
    pipe: &mut Pipe,
    max: usize,
) -> Poll<io::Result<usize>> {
    poll_reading(socket, |socket| socket.splice_from_now(pipe, max))
}

/// Writes the content of `pipe`, once; it must not be empty.
pub(crate) fn poll_splice_to(socket: &mut Socket, pipe: &mut Pipe) -> Poll<io::Result<usize>> {
    poll_writing(socket, |socket| socket.splice_to_now(pipe))
}

/// Waits until a write may succeed. Costs no system call.
pub(crate) fn poll_writable(socket: &mut Socket) -> Poll<io::Result<()>> {
    match &socket.0 {
        State::Fresh(_) | State::Nobody => Poll::Ready(Ok(())),
        _ => socket.register()?.poll_writable().map(Ok),
    }
}

/// Whether a pooled connection is unusable: the peer closed it or sent unsolicited bytes. Costs no
/// system call unless epoll reported an event.
pub(crate) fn is_stale(socket: &Socket) -> bool {
    let again = socket.read_now(&mut [0u8; 1]);
    !matches!(again, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}
