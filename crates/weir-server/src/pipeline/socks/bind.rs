//! BIND: waiting for one connection to the client, as FTP in its active mode wants it.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::task::Poll;
use std::time::Duration;

use weir_snapshot::SocksRules;
use weir_wire::socks::{Reply, Request};

use super::{Client, reason};
use crate::http::buffers::Carry;
use crate::net::{Socket, watch_over};
use crate::pipeline::balance::{Far, upstream_file};
use crate::pipeline::near::Cut;
use crate::pipeline::relay;
use crate::watched::Watched;

/// Timeout for the incoming connection; SOCKS 4 specifies the same.
const WAIT: Duration = Duration::from_secs(120);

impl Client<'_> {
    /// Listens beside the client's connection, and reports the listening address and the peer's.
    pub(super) async fn bind(&mut self, rules: &SocksRules, asked: &Request) -> Result<(), Cut> {
        let expected = match self.addresses(&asked.address).await {
            Ok(expected) => expected,
            Err((reply, cut)) => return self.refuse(asked.version, reply, cut).await,
        };
        // If the client does not know the peer, any peer allowed by the rules may connect.
        let anyone = expected.iter().all(|address| address.ip().is_unspecified());
        if !anyone && !expected.iter().any(|address| rules.may_reach(*address)) {
            return self.refuse(asked.version, Reply::NotAllowed, Cut::Denied).await;
        }
        let file = upstream_file(self.near).await?;
        let listener = match self.listen() {
            Ok(listener) => listener,
            Err(error) => {
                let (reply, _) = reason(&error);
                return self.refuse(asked.version, reply, Cut::Unreached).await;
            }
        };
        self.grant(asked.version, listener.file().local_addr().ok()).await?;
        let is_welcome = |peer: SocketAddr| {
            let ip = peer.ip().to_canonical();
            let is_expected = expected.iter().any(|address| address.ip().to_canonical() == ip);
            rules.may_reach(peer) && (anyone || is_expected)
        };
        let accepted = self.near.while_present(WAIT, accept(&listener, is_welcome)).await;
        drop(listener);
        let (stream, peer) = match accepted {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(_)) | Err(Cut::Expired) => {
                return self.refuse(asked.version, Reply::TtlExpired, Cut::Expired).await;
            }
            Err(cut) => return Err(cut),
        };
        self.grant(asked.version, Some(peer)).await?;
        let stream = Socket::fresh(stream);
        let mut far = Far { stream, carry: Carry::default(), _taken: None, _file: file };
        relay::both_ways(self.near, &mut far, self.counters).await
    }

    /// Listens at the address that the client knows.
    fn listen(&self) -> io::Result<Watched<TcpListener>> {
        let own = self.near.stream.local_addr().ok_or(io::ErrorKind::NotConnected)?;
        let listener = TcpListener::bind(SocketAddr::new(own.ip(), 0))?;
        listener.set_nonblocking(true)?;
        Watched::new(listener)
    }
}

/// The first connection that is welcome; others are closed.
async fn accept(
    listener: &Watched<TcpListener>,
    is_welcome: impl Fn(SocketAddr) -> bool,
) -> io::Result<(TcpStream, SocketAddr)> {
    poll_fn(|_| {
        loop {
            match listener.try_read(TcpListener::accept) {
                Ok((stream, peer)) if is_welcome(peer) => {
                    stream.set_nonblocking(true)?;
                    // Failing to set them costs latency, or time if the peer vanishes.
                    let _ = stream.set_nodelay(true);
                    let _ = watch_over(&stream);
                    return Poll::Ready(Ok((stream, peer)));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::task::ready!(listener.poll_readable());
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    })
    .await
}
