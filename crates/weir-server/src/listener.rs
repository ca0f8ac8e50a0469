//! Listening sockets.

use std::borrow::Cow;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use weir_snapshot::Settings;

use crate::net::watch_over;
use crate::sys::defer_accept;

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Why.
    pub cause: io::Error,
    /// The setting that has it.
    pub setting: Cow<'static, str>,
}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot listen on {}: {}", self.address, self.cause)?;
        match self.cause.kind() {
            io::ErrorKind::AddrInUse => {
                write!(f, "; end the process that has it or choose another with {}", self.setting)
            }
            io::ErrorKind::PermissionDenied => {
                let setting = &self.setting;
                write!(f, "; ports below 1024 need CAP_NET_BIND_SERVICE, or choose {setting}")
            }
            io::ErrorKind::AddrNotAvailable => {
                write!(f, "; it is not an address of this machine")
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for BindError {}

/// Socket options of listeners, inherited by the connections they accept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Connections that may wait to be accepted.
    pub(crate) backlog: u32,
    /// How long the kernel waits for a client's first bytes before the connection is accepted
    /// (`TCP_DEFER_ACCEPT`).
    pub(crate) defer: Duration,
    /// `SO_RCVBUF`, if not left to the system.
    pub(crate) receive_bytes: Option<usize>,
    /// `SO_SNDBUF`, if not left to the system.
    pub(crate) send_bytes: Option<usize>,
    /// `TCP_NOTSENT_LOWAT`, if not left to the system.
    pub(crate) unsent_bytes: Option<u32>,
    /// How the port is shared.
    pub(crate) port: Port,
    /// The setting that has the address, for errors.
    pub(crate) setting: Cow<'static, str>,
}

impl Asked {
    /// What the settings ask for, for the address of `setting`.
    pub(crate) fn of(settings: &Settings, setting: Cow<'static, str>) -> Self {
        Self {
            backlog: settings.backlog,
            defer: settings.defer_accept,
            receive_bytes: settings.receive_buffer_bytes,
            send_bytes: settings.send_buffer_bytes,
            unsent_bytes: Some(settings.unsent_bytes_max),
            port: Port::Own,
            setting,
        }
    }
}

/// How the port of a listener is shared with other sockets of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Port {
    /// With the other sockets of the same listener.
    #[default]
    Own,
    /// With a later listener as well, which may take it over.
    Lent,
    /// It is taken over from an earlier [`Port::Lent`] listener, which still has it.
    TakenOver,
}

/// Size of a socket buffer: as requested, and as granted by the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketBuffer {
    /// Bytes asked for.
    pub asked: usize,
    /// Bytes granted; not more than asked for.
    pub granted: usize,
}

/// Buffers of client connections; `None` is left to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketBuffers {
    /// Buffer for bytes from clients.
    pub receive: Option<SocketBuffer>,
    /// Buffer for bytes to clients.
    pub send: Option<SocketBuffer>,
}

impl SocketBuffers {
    fn of(socket: &Socket, asked: &Asked) -> io::Result<Self> {
        // Linux doubles the requested size, to have room for its bookkeeping of each packet.
        let buffer = |asked: Option<usize>, doubled: usize| {
            asked.map(|asked| SocketBuffer { asked, granted: asked.min(doubled / 2) })
        };
        Ok(Self {
            receive: buffer(asked.receive_bytes, socket.recv_buffer_size()?),
            send: buffer(asked.send_bytes, socket.send_buffer_size()?),
        })
    }
}

/// Listening sockets and where they listen.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) address: SocketAddr,
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) buffers: SocketBuffers,
}

/// Binds `count` listening sockets to `address`. With more than one they share the port
/// (`SO_REUSEPORT`) and the kernel spreads connections; a port of 0 is chosen once.
///
/// A first socket without `SO_REUSEPORT` shows whether another process has the port, which sharing
/// would hide.
///
/// # Errors
/// See [`BindError`].
pub(crate) fn bind(address: SocketAddr, count: usize, asked: &Asked) -> Result<Bound, BindError> {
    let fail = |cause| BindError { address, cause, setting: asked.setting.clone() };
    let shares = count > 1 || asked.port != Port::Own;
    if address.port() != 0 && shares && asked.port != Port::TakenOver {
        let probe = socket(address, false).map_err(fail)?;
        probe.bind(&address.into()).map_err(fail)?;
    }
    let listeners = Vec::with_capacity(count);
    let mut bound = Bound { address, listeners, buffers: SocketBuffers::default() };
    for _ in 0..count {
        let socket = socket(address, shares).map_err(fail)?;
        size(&socket, asked).map_err(fail)?;
        socket.bind(&bound.address.into()).map_err(fail)?;
        if let Err(error) = defer_accept(&socket, asked.defer)
            && bound.listeners.is_empty()
        {
            tracing::warn!(
                %error,
                "the system refuses weir.server.defer-accept: connections are accepted at once",
            );
        }
        socket.listen(asked.backlog as i32).map_err(fail)?;
        bound.buffers = SocketBuffers::of(&socket, asked).map_err(fail)?;
        let listener = TcpListener::from(socket);
        bound.address = listener.local_addr().map_err(fail)?;
        bound.listeners.push(listener);
    }
    Ok(bound)
}

/// Rejects new connections, while those whose handshake has begun can still be accepted. Closing a
/// listening socket resets the connections in its queue, and without this the queue keeps filling.
///
/// The socket is bound to an interface that does not exist, which needs no privilege (a socket
/// filter needs `CAP_NET_ADMIN` since 2026): new connections are refused. As long as another socket
/// shares the port, the SYN is lost and sent again a second later.
///
/// # Errors
/// The system refuses: Linux before 5.7 requires `CAP_NET_RAW`.
pub(crate) fn turn_away(listener: &TcpListener) -> io::Result<()> {
    // Interfaces are numbered from 1 on.
    const NOWHERE: Option<NonZeroU32> = NonZeroU32::new(i32::MAX as u32);
    let socket = SockRef::from(listener);
    match listener.local_addr()? {
        SocketAddr::V4(_) => socket.bind_device_by_index_v4(NOWHERE),
        SocketAddr::V6(_) => socket.bind_device_by_index_v6(NOWHERE),
    }
}

/// Sets the buffers, which accepted connections inherit. Before listening: the size of the first
/// window that a client is told depends on it.
fn size(socket: &Socket, asked: &Asked) -> io::Result<()> {
    if let Some(bytes) = asked.receive_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    if let Some(bytes) = asked.send_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = asked.unsent_bytes {
        socket.set_tcp_notsent_lowat(bytes)?;
    }
    Ok(())
}

fn socket(address: SocketAddr, share: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    if share {
        socket.set_reuse_port(true)?;
    }
    // Accepted connections inherit both, which saves calls for each.
    socket.set_tcp_nodelay(true)?;
    watch_over(&socket)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use socket2::SockRef;

    use super::{Asked, SocketBuffer, bind, turn_away};

    /// Buffers of an accepted connection as requested, compared with one that has the defaults.
    #[test]
    fn accepted_connections_have_the_buffers_that_were_asked_for() {
        let sizes = |receive_bytes: Option<usize>, send_bytes: Option<usize>| {
            let asked = Asked { backlog: 16, receive_bytes, send_bytes, ..Asked::default() };
            let bound = bind("127.0.0.1:0".parse().unwrap(), 1, &asked).unwrap();
            let _client = TcpStream::connect(bound.address).unwrap();
            bound.listeners[0].set_nonblocking(false).unwrap();
            let accepted = bound.listeners[0].accept().unwrap().0;
            let socket = SockRef::from(&accepted);
            let sizes = (socket.recv_buffer_size().unwrap(), socket.send_buffer_size().unwrap());
            (sizes, bound.buffers)
        };
        // Less than any system's bound, and nothing it comes to by itself.
        let bytes = 20_480;
        let (alone, buffers) = sizes(None, None);
        assert_eq!((buffers.receive, buffers.send), (None, None));
        assert_ne!(alone, (2 * bytes, 2 * bytes));
        let (both, buffers) = sizes(Some(bytes), Some(bytes));
        let granted = Some(SocketBuffer { asked: bytes, granted: bytes });
        assert_eq!(
            (both, buffers.receive, buffers.send),
            ((2 * bytes, 2 * bytes), granted, granted)
        );
    }

    #[test]
    fn accepted_connections_hold_as_little_unsent_as_was_asked_for() {
        let asked = Asked { backlog: 16, unsent_bytes: Some(40_000), ..Asked::default() };
        let bound = bind("127.0.0.1:0".parse().unwrap(), 1, &asked).unwrap();
        let _client = TcpStream::connect(bound.address).unwrap();
        bound.listeners[0].set_nonblocking(false).unwrap();
        let accepted = bound.listeners[0].accept().unwrap().0;
        assert_eq!(SockRef::from(&accepted).tcp_notsent_lowat().unwrap(), 40_000);
    }

    #[test]
    fn a_client_that_sends_nothing_waits_to_be_accepted() {
        let listening = |defer| {
            let asked = Asked { backlog: 16, defer, ..Asked::default() };
            let mut bound = bind("127.0.0.1:0".parse().unwrap(), 1, &asked).unwrap();
            let client = TcpStream::connect(bound.address).unwrap();
            (bound.listeners.remove(0), client)
        };
        let (listener, mut client) = listening(Duration::from_millis(300));
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        client.write_all(b"G").unwrap();
        listener.set_nonblocking(false).unwrap();
        listener.accept().unwrap();
        let (listener, _silent) = listening(Duration::ZERO);
        listener.set_nonblocking(false).unwrap();
        listener.accept().unwrap();
    }

    #[test]
    fn who_had_connected_is_not_turned_away() {
        for address in weir_testkit::loopbacks() {
            for defer in [Duration::ZERO, Duration::from_secs(1)] {
                let asked = Asked { backlog: 16, defer, ..Asked::default() };
                let bound = bind((address, 0).into(), 1, &asked).unwrap();
                let mut client = TcpStream::connect(bound.address).unwrap();
                turn_away(&bound.listeners[0]).unwrap();
                let late = TcpStream::connect(bound.address).unwrap_err();
                assert_eq!(late.kind(), io::ErrorKind::ConnectionRefused, "{address} {defer:?}");
                client.write_all(b"G").unwrap();
                bound.listeners[0].set_nonblocking(false).unwrap();
                let mut accepted = bound.listeners[0].accept().unwrap().0;
                let mut byte = [0];
                accepted.read_exact(&mut byte).unwrap();
                accepted.write_all(&byte).unwrap();
                client.read_exact(&mut byte).unwrap();
                assert_eq!(byte, *b"G");
            }
        }
    }

    #[test]
    fn a_buffer_that_the_system_cuts_is_told() {
        let bytes = 1 << 30;
        let asked = Asked { backlog: 16, send_bytes: Some(bytes), ..Asked::default() };
        let bound = bind("127.0.0.1:0".parse().unwrap(), 2, &asked).unwrap();
        let text = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap();
        let most: usize = text.trim().parse().unwrap();
        let send = bound.buffers.send.unwrap();
        assert_eq!((send.asked, send.granted), (bytes, bytes.min(most)));
    }
}
