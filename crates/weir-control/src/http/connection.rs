//! One connection to a server, with or without TLS.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::failure::Failure;
use super::reach::Reach;
use super::tls::tls;

/// A server, as far as connections to it are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub is_secure: bool,
    pub name: String,
    pub port: u16,
}

/// A connection to a server; dropping it closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub sender: http1::SendRequest<Full<Bytes>>,
    pub made: Instant,
    _driver: JoinSet<Result<(), hyper::Error>>,
}

impl Connection {
    pub(super) async fn open(
        target: &Target,
        timeout: Duration,
        reach: Option<Reach>,
        tls_of_its_own: Option<TlsConnector>,
    ) -> Result<Self, Failure> {
        let stream = connected(target, timeout, reach).await?;
        if !target.is_secure {
            return Self::on(stream).await;
        }
        let connector = match tls_of_its_own {
            Some(connector) => connector,
            None => tls().map_err(Failure::Unreachable)?.clone(),
        };
        Self::on(secured(target, stream, &connector).await?).await
    }

    async fn on(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Failure> {
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| unreachable(&error))?;
        // The driver ends with the connection: an abandoned connection is closed.
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        Ok(Self { sender, made: Instant::now(), _driver: driver })
    }
}

/// A TCP connection to `target`, within `reach` if there is one.
pub(super) async fn connected(
    target: &Target,
    timeout: Duration,
    reach: Option<Reach>,
) -> Result<TcpStream, Failure> {
    let connect = async {
        let (name, port) = (target.name.as_str(), target.port);
        match reach {
            Some(reach) => reach.connect(name, port).await,
            None => TcpStream::connect((name, port)).await.map_err(|error| unreachable(&error)),
        }
    };
    let stream = tokio::time::timeout(timeout, connect).await;
    let stream = stream.map_err(|_| Failure::TimedOut(timeout))??;
    stream.set_nodelay(true).map_err(|error| unreachable(&error))?;
    Ok(stream)
}

/// TLS on a connection to `target`.
pub(super) async fn secured(
    target: &Target,
    stream: TcpStream,
    connector: &TlsConnector,
) -> Result<TlsStream<TcpStream>, Failure> {
    let name = ServerName::try_from(target.name.clone()).map_err(|error| unreachable(&error))?;
    connector.connect(name, stream).await.map_err(|error| unreachable(&error))
}

pub(super) fn unreachable(error: &dyn fmt::Display) -> Failure {
    Failure::Unreachable(error.to_string())
}
