//! A TCP forwarder in the usual style of tokio: the reference for the goal for keep-alive requests
//! (`docs/decisions/0022-two-floors.md`).

use std::net::SocketAddr;

use anyhow::Context;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::net;

/// Forwards until the process is ended.
///
/// # Errors
/// The address cannot be had.
pub fn run(listen: SocketAddr, to: SocketAddr) -> anyhow::Result<()> {
    let listener = net::listen(listen)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener).context("cannot wait for connections")?;
        loop {
            // An error on one connection must not end the others.
            if let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, to));
            }
        }
    })
}

/// Copies until both have sent their last byte or one fails, which ends both connections.
async fn forward(mut client: TcpStream, to: SocketAddr) -> std::io::Result<()> {
    let mut upstream = TcpStream::connect(to).await?;
    upstream.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}
