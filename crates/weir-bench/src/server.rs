//! A server that is started for a measurement and ended with it.

use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

/// Time between two looks at whether it listens.
const PAUSE: Duration = Duration::from_millis(10);
/// The time limit for a server to listen: 100,000 routes may take a while on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server; ended when dropped.
#[derive(Debug)]
pub(crate) struct Server(Child);

impl Server {
    /// Starts `command`, called `name` in errors, and waits until it listens on one of `addresses`.
    ///
    /// # Errors
    /// When another server listens there, or this one ends or does not listen.
    pub(crate) fn start(
        mut command: Command,
        name: &str,
        addresses: &[SocketAddr],
    ) -> anyhow::Result<Self> {
        if let Ok(other) = TcpStream::connect(addresses) {
            bail!("{name}: {} is in use by another server", other.peer_addr()?);
        }
        let mut server = Self(command.spawn().with_context(|| name.to_owned())?);
        let patience = Instant::now() + PATIENCE;
        while TcpStream::connect(addresses).is_err() {
            if let Some(status) = server.0.try_wait()? {
                bail!("{name}: ended with {status}");
            }
            ensure!(Instant::now() < patience, "{name}: not listening after {PATIENCE:?}");
            std::thread::sleep(PAUSE);
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.0.wait().ok();
    }
}
