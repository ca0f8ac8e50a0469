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

use super::failure::Failure;
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
        tls_of_its_own: Option<TlsConnector>,
    ) -> Result<Self, Failure> {
        let stream = TcpStream::connect((target.name.as_str(), target.port));
        let stream = tokio::time::timeout(timeout, stream).await;
        let stream = stream.map_err(|_| Failure::TimedOut(timeout))?;
        let stream = stream.map_err(|error| unreachable(&error))?;
        stream.set_nodelay(true).map_err(|error| unreachable(&error))?;
        if !target.is_secure {
            return Self::on(stream).await;
        }
        let name =
            ServerName::try_from(target.name.clone()).map_err(|error| unreachable(&error))?;
        let connector = match tls_of_its_own {
            Some(connector) => connector,
            None => tls().map_err(Failure::Unreachable)?.clone(),
        };
        let stream = connector.connect(name, stream).await.map_err(|error| unreachable(&error))?;
        Self::on(stream).await
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

pub(super) fn unreachable(error: &dyn fmt::Display) -> Failure {
    Failure::Unreachable(error.to_string())
}
