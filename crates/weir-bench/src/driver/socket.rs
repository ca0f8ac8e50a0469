//! Sockets of the driver.

use crate::plan::fitting;
use crate::record::Failure;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::event::epoll;
use rustix::io::Errno;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Checks that connections can be bound to `local`.
///
/// # Errors
/// This machine has no such address.
pub(crate) fn can_come_from(local: IpAddr) -> std::io::Result<()> {
    let domain = socket2::Domain::for_address((local, 0).into());
    come_from(&socket2::Socket::new(domain, socket2::Type::STREAM, None)?, local)
}

/// Makes a connection to `address`, from one of `locals` if there are any, and closes it.
///
/// # Errors
/// It does not come about within `timeout`.
pub(crate) fn reach(
    locals: &[IpAddr],
    address: SocketAddr,
    timeout: Duration,
) -> std::io::Result<()> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    if let Some(local) = fitting(locals, address).next() {
        come_from(&socket, local)?;
    }
    socket.connect_timeout(&address.into(), timeout)
}

/// Has a connection come from `local`. Its port is chosen when it connects, so that a port in use
/// for one server can be used for another.
fn come_from(socket: &socket2::Socket, local: IpAddr) -> std::io::Result<()> {
    setsockopt(socket, sockopt::IpBindAddressNoPort, &true)?;
    socket.bind(&SocketAddr::from((local, 0)).into())
}

/// Begins to connect to `address` and registers the socket, edge-triggered, under `data`.
pub(super) fn open(
    local: Option<IpAddr>,
    address: SocketAddr,
    epoll: &OwnedFd,
    data: u64,
    keep_alive: bool,
) -> std::io::Result<TcpStream> {
    let kind = socket2::Type::STREAM.nonblocking();
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), kind, None)?;
    if keep_alive {
        socket.set_tcp_nodelay(true)?;
    }
    if let Some(local) = local {
        come_from(&socket, local)?;
    }
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
        Err(error) => return Err(error),
    }
    let flags = epoll::EventFlags::IN
        | epoll::EventFlags::OUT
        | epoll::EventFlags::RDHUP
        | epoll::EventFlags::ET;
    epoll::add(epoll, &socket, epoll::EventData::new_u64(data), flags)?;
    Ok(socket.into())
}

/// The failure for an error while connecting.
pub(super) fn connect_failure(error: &std::io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ADDRNOTAVAIL) => Failure::NoPort,
        Some(Errno::MFILE | Errno::NFILE) => Failure::NoDescriptor,
        _ => Failure::Connect,
    }
}
