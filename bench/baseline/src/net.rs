//! Listening, accepting and waiting, as both programs do.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use anyhow::Context;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use socket2::{Domain, Socket, Type};

/// Connections that may wait to be accepted, as far as the system allows.
const BACKLOG: i32 = 65_535;
/// Bytes read at a time.
pub const SCRATCH_BYTES: usize = 64 * 1024;
/// Event data of the listening socket.
pub const LISTENER: u64 = u64::MAX;

/// An epoll set with a listening socket in it.
pub struct Reactor {
    epoll: OwnedFd,
    listener: TcpListener,
    events: Vec<Event>,
}

impl Reactor {
    /// Listens on `address` and prints where.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn listen(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = listen(address)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self { epoll, listener, events: Vec::with_capacity(1024) })
    }

    /// Waits, and puts what is ready into `ready` as (data, flags).
    ///
    /// # Errors
    /// The wait itself failed.
    pub fn wait(&mut self, ready: &mut Vec<(u64, EventFlags)>) -> io::Result<()> {
        ready.clear();
        self.events.clear();
        let space = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, space, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(|event| (event.data.u64(), event.flags)));
        Ok(())
    }

    /// The next connection that waits, if any.
    pub fn accept(&self) -> Option<TcpStream> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        accept_with(&self.listener, flags).ok().map(TcpStream::from)
    }

    /// Registers a socket once, edge-triggered for everything.
    ///
    /// # Errors
    /// As `epoll_ctl`.
    pub fn watch(&self, socket: impl AsFd, data: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(data), flags)?)
    }
}

/// Listens on `address`, without blocking, and prints where.
///
/// # Errors
/// The address cannot be had.
pub fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    socket.set_reuse_address(true)?;
    // Accepted connections inherit it, which saves a call for each.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into()).with_context(|| format!("cannot listen on {address}"))?;
    socket.listen(BACKLOG)?;
    let listener = TcpListener::from(socket);
    let mut out = io::stdout().lock();
    writeln!(out, "listening {}", listener.local_addr()?)?;
    out.flush()?;
    Ok(listener)
}

/// Begins to connect.
///
/// # Errors
/// As `connect`, unless it goes on in the background.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let kind = Type::STREAM.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket.into()),
    }
}
