//! A running proxy.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::peer::Peer;
use crate::interrupt::Interrupt;
use crate::process::Process;
use crate::usage::Cpu;

/// A proxy is quiet that used no more than this of a second of CPU in each of some seconds.
const QUIET_S: f64 = 0.02;
/// So many seconds.
const QUIET_SECONDS: u32 = 3;
/// The maximum wait for it.
const SETTLE_SECONDS_MAX: u32 = 30;

/// A proxy that answers.
#[derive(Debug)]
pub struct Running {
    /// The proxy.
    pub peer: Peer,
    /// Its name in tables.
    pub name: String,
    /// The address it listens on.
    pub address: SocketAddr,
    /// The address of its admin API, if routes are changed over HTTP.
    pub admin: Option<SocketAddr>,
    /// Its configuration file.
    pub config: PathBuf,
    /// `None` for [`Peer::Direct`].
    pub process: Option<Process>,
    /// From its start to its first proxied answer.
    pub load: Duration,
}

impl Running {
    /// Its processes.
    pub fn family(&self) -> Vec<u32> {
        self.process.as_ref().map(Process::family).unwrap_or_default()
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// With what it printed last.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.process.as_mut().map_or(Ok(()), Process::check)
    }

    /// Waits until it has no work left from its start.
    ///
    /// # Errors
    /// Ctrl-C.
    pub(super) fn settle(&self, interrupt: &Interrupt) -> anyhow::Result<()> {
        let family = self.family();
        let (mut quiet, mut before) = (0, Cpu::of(&family).all_s);
        for _ in 0..SETTLE_SECONDS_MAX {
            interrupt.sleep(Duration::from_secs(1))?;
            let now = Cpu::of(&family).all_s;
            quiet = if now - before <= QUIET_S { quiet + 1 } else { 0 };
            before = now;
            if quiet == QUIET_SECONDS {
                break;
            }
        }
        Ok(())
    }

    /// The command that started it.
    pub fn command(&self) -> &str {
        self.process.as_ref().map_or("", |process| &process.shown)
    }
}
