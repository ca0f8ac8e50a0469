//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};

use crate::net::watch_over;

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Why.
    pub cause: io::Error,
}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot listen on {}: {}", self.address, self.cause)?;
        match self.cause.kind() {
            io::ErrorKind::AddrInUse => {
                write!(f, "; end the process that has it or choose another with server.port")
            }
            io::ErrorKind::PermissionDenied => {
                write!(f, "; ports below 1024 need CAP_NET_BIND_SERVICE, or choose server.port")
            }
            io::ErrorKind::AddrNotAvailable => {
                write!(f, "; server.address is not an address of this machine")
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for BindError {}

/// Binds `count` listening sockets to `address`. With more than one they share the port
/// (`SO_REUSEPORT`) and the kernel spreads connections; a port of 0 is chosen once.
///
/// A first socket without `SO_REUSEPORT` shows whether another process has the port, which sharing
/// would hide.
///
/// # Errors
/// See [`BindError`].
pub(crate) fn bind(
    address: SocketAddr,
    count: usize,
    backlog: u32,
) -> Result<(SocketAddr, Vec<TcpListener>), BindError> {
    let fail = |cause| BindError { address, cause };
    if address.port() != 0 && count > 1 {
        let probe = socket(address, false).map_err(fail)?;
        probe.bind(&address.into()).map_err(fail)?;
    }
    let mut bound = address;
    let mut listeners = Vec::with_capacity(count);
    for _ in 0..count {
        let socket = socket(bound, count > 1).map_err(fail)?;
        socket.bind(&bound.into()).map_err(fail)?;
        socket.listen(backlog as i32).map_err(fail)?;
        let listener = TcpListener::from(socket);
        bound = listener.local_addr().map_err(fail)?;
        listeners.push(listener);
    }
    Ok((bound, listeners))
}

/// Takes no further connections, while those that have begun still come through: drops SYN. Closing
/// a listening socket resets what waits in its queue, and without this there is always more.
///
/// # Errors
/// The system knows no socket filters.
pub(crate) fn turn_away(listener: &TcpListener) -> io::Result<()> {
    // Classic BPF over the TCP header, whose byte 13 has the flags.
    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let (flags, syn, syn_and_ack) = (13, 0x02, 0x12);
    SockRef::from(listener).attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, flags),
        SockFilter::new(AND, 0, 0, syn_and_ack),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, syn),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
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
