//! Polling reads and writes on connections.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Reads once into `buffer`; `Ok(0)` is the end of the stream.
pub(crate) fn poll_read(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut into = ReadBuf::new(buffer);
    ready!(Pin::new(stream).poll_read(cx, &mut into))?;
    Poll::Ready(Ok(into.filled().len()))
}

/// Writes once.
pub(crate) fn poll_write(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    match ready!(Pin::new(stream).poll_write(cx, bytes)) {
        Ok(0) if !bytes.is_empty() => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        other => Poll::Ready(other),
    }
}

/// Whether an idle connection has been closed, or sent something, behind our back: either way it
/// cannot carry another request. Costs no system call unless something happened.
pub(crate) fn is_spoilt(stream: &TcpStream) -> bool {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    match stream.poll_read_ready(&mut cx) {
        Poll::Pending => false,
        Poll::Ready(Err(_)) => true,
        Poll::Ready(Ok(())) => {
            let again = stream.try_read(&mut [0u8; 1]);
            !matches!(again, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        }
    }
}
