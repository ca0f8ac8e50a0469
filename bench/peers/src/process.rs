//! A child process that does not outlive this one.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use weir_testkit::tree::root;

use super::interrupt::Interrupt;
use super::usage;

/// The polling interval of every wait.
const LOOK: Duration = Duration::from_millis(5);
/// The time for a process to end on request, before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running child. Dropping it ends it and everything it started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The file for both of its output streams.
    log: PathBuf,
    /// The command line without what pins it, for people to read.
    pub shown: String,
}

impl Process {
    /// Starts `command` on `cores` (all of them if empty), its output going to `log`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &[String], cores: &[usize], log: &Path) -> anyhow::Result<Self> {
        let output = File::create(log).with_context(|| log.display().to_string())?;
        let mut launch = launcher()?;
        launch.stdout(output.try_clone()?).stderr(output);
        Self::spawn(launch, command, cores, log)
    }

    /// Starts `command` on all cores in the root of the repository with further environment
    /// variables, its output going to where our errors go: a compiler.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn visible(command: &[String], variables: &[(&str, OsString)]) -> anyhow::Result<Self> {
        let mut launch = launcher()?;
        launch.current_dir(root()).envs(variables.iter().map(|(name, value)| (name, value)));
        launch.stdout(std::io::stderr().as_fd().try_clone_to_owned()?);
        Self::spawn(launch, command, &[], Path::new(""))
    }

    fn spawn(
        mut launch: Command,
        command: &[String],
        cores: &[usize],
        log: &Path,
    ) -> anyhow::Result<Self> {
        let cores_text: Vec<String> = cores.iter().map(ToString::to_string).collect();
        let mut shown = command.join(" ");
        if !cores.is_empty() {
            launch.args(["--cores", &cores_text.join(",")]);
            shown = format!("taskset -c {} {shown}", cores_text.join(","));
        }
        launch.arg("--").args(command);
        // In its own process group it does not receive Ctrl-C, and its children can be ended with
        // it.
        std::os::unix::process::CommandExt::process_group(&mut launch, 0);
        launch.stdin(Stdio::null());
        let child = launch.spawn().with_context(|| shown.clone())?;
        Ok(Self { child, log: log.to_owned(), shown })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process and all its descendants.
    pub fn family(&self) -> Vec<u32> {
        usage::family(self.pid())
    }

    /// The output so far.
    pub fn output(&self) -> String {
        let mut text = String::new();
        if let Ok(mut file) = File::open(&self.log) {
            let _ = file.rewind();
            let mut bytes = Vec::new();
            let _ = file.read_to_end(&mut bytes);
            text = String::from_utf8_lossy(&bytes).into_owned();
        }
        text
    }

    /// Waits until it prints its address, after the word `said`.
    ///
    /// # Errors
    /// It ends, or says nothing for `longest`, or Ctrl-C.
    pub fn listens(
        &mut self,
        said: &str,
        longest: Duration,
        interrupt: &Interrupt,
    ) -> anyhow::Result<SocketAddr> {
        let began = Instant::now();
        loop {
            let output = self.output();
            let line = output.lines().find_map(|line| line.strip_prefix(said));
            if let Some(address) = line.and_then(|address| address.trim().parse().ok()) {
                return Ok(address);
            }
            self.check()?;
            let late = began.elapsed() >= longest;
            anyhow::ensure!(!late, "{} does not listen:\n{output}", self.shown);
            interrupt.sleep(LOOK)?;
        }
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// With what it printed last.
    pub fn check(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let output = self.output();
            let lines: Vec<&str> = output.lines().rev().take(8).collect();
            let last: Vec<&str> = lines.into_iter().rev().collect();
            bail!("{} ended ({status}):\n{}", self.shown, last.join("\n"));
        }
        Ok(())
    }

    /// Waits until it has ended on its own.
    ///
    /// # Errors
    /// Not within `limit`, or Ctrl-C.
    pub fn finish(
        &mut self,
        limit: Duration,
        interrupt: &Interrupt,
    ) -> anyhow::Result<(ExitStatus, String)> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok((status, self.output()));
            }
            interrupt.check()?;
            if began.elapsed() > limit {
                bail!("{} did not end within {limit:?}", self.shown);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid() as i32) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

/// This program, which executes another one that ends with this process.
fn launcher() -> anyhow::Result<Command> {
    let mut launch = Command::new(std::env::current_exe()?);
    launch.args(["peers", "launch", "--parent", &std::process::id().to_string()]);
    Ok(launch)
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended() {
            return;
        }
        let family = self.family();
        self.signal(Signal::TERM);
        let began = Instant::now();
        while !self.ended() && began.elapsed() < PATIENCE {
            std::thread::sleep(LOOK);
        }
        // The rest of its own process group, which contains only processes that this one started.
        if let Some(group) = Pid::from_raw(self.pid() as i32)
            && family.iter().any(|&pid| usage::Stat::of(pid).is_some_and(|stat| !stat.ended))
        {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
