//! A client's connection.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use super::buffers::Carry;
use crate::deadline::Deadline;
use crate::error::{ErrorKind, ProxyError};
use crate::net::{Socket, poll_write};

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: Socket,
    pub(crate) peer: SocketAddr,
    pub(crate) carry: Carry,
    pub(crate) deadline: Deadline,
    /// How long it may be idle.
    pub(crate) keep_alive: Duration,
    pub(crate) requests: u64,
    /// The client closed its side.
    pub(crate) ended: bool,
    /// All files are in use: the client only gets a 503.
    pub(crate) refused: bool,
}

/// Writes all of `bytes` to the client within the deadline set; an error means give up.
pub(crate) async fn write_all(client: &mut Client, bytes: &[u8]) -> Result<(), ProxyError> {
    let mut sent = 0;
    poll_fn(|cx| {
        while sent < bytes.len() {
            match poll_write(&mut client.stream, bytes.get(sent..).unwrap_or_default()) {
                Poll::Ready(Ok(count)) => sent += count,
                Poll::Ready(Err(_)) => {
                    return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
                }
                Poll::Pending if client.deadline.poll(cx) => {
                    return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientTooSlow)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}
