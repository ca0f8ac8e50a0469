//! What all checks share: files, processes, patience, and the count of failures.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::ensure;
use tempfile::TempDir;

use crate::interrupt::Interrupt;
use crate::process::Process;
use crate::traffic::Traffic;

/// The time limit for a server to start, or for a change to arrive.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// The polling interval of every wait.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// What all checks share.
pub(super) struct Ground {
    pub folder: TempDir,
    pub weir: PathBuf,
    pub interrupt: Interrupt,
    pub record: bool,
    pub failed: usize,
}

impl Ground {
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a program whose output goes to the file `log`.
    pub fn start(
        &self,
        log: &str,
        program: &Path,
        arguments: &[String],
    ) -> anyhow::Result<Process> {
        let mut command = vec![program.display().to_string()];
        command.extend_from_slice(arguments);
        Process::start(&command, &[], &self.file(log))
    }

    /// Prints whether a check passes. Only an interrupt ends the run.
    pub fn check(&mut self, what: &str, result: anyhow::Result<()>) -> anyhow::Result<()> {
        self.interrupt.check()?;
        match result {
            Ok(()) => println!("PASS  {what}"),
            Err(error) => {
                self.failed += 1;
                println!("FAIL  {what}: {error:#}");
            }
        }
        Ok(())
    }

    /// Waits until `done`; its errors are the reasons why not yet.
    pub fn until<T>(&self, mut done: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let began = Instant::now();
        loop {
            match done() {
                Err(error) if began.elapsed() >= PATIENCE => {
                    return Err(error.context(format!("not within {PATIENCE:?}")));
                }
                Err(_) => self.interrupt.sleep(LOOK)?,
                done => return done,
            }
        }
    }

    /// Does something under traffic; fails if a request is lost.
    pub fn without_loss(
        &self,
        gateway: SocketAddr,
        doing: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let traffic = Traffic::start(gateway);
        let done = doing();
        let counted = traffic.finish();
        done?;
        ensure!(
            counted.lost == 0,
            "{} of {} lost: {:?}",
            counted.lost,
            counted.sent,
            counted.words
        );
        Ok(())
    }
}
