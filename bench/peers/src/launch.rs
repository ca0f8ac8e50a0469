//! `xtask peers launch`: executes another program on given cores, which ends with the calling
//! process.
//!
//! Setting up a child between fork and exec would need `unsafe`; a program that sets itself up and
//! then becomes the other one does not.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use rustix::thread::CpuSet;

/// Arguments of `xtask peers launch`.
#[derive(Debug, clap::Args)]
pub struct LaunchArgs {
    /// Cores to run on, comma-separated; all if not said
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Who is to outlive this process
    #[arg(long)]
    parent: u32,
    /// Program and arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// The requested limit of open files.
const FILES: u64 = 1 << 17;

/// Becomes the program; returns only if that fails.
pub fn run(args: &LaunchArgs) -> anyhow::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have ended before the line above.
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32);
    anyhow::ensure!(parent == Some(args.parent), "the process that asked for this is gone");
    raise_files();
    if !args.cores.is_empty() {
        let mut set = CpuSet::new();
        for &core in &args.cores {
            set.set(core);
        }
        rustix::thread::sched_setaffinity(None, &set)
            .with_context(|| format!("cannot run on cores {:?}", args.cores))?;
    }
    let (program, rest) = args.command.split_first().context("no program")?;
    Err(Command::new(program).args(rest).exec()).with_context(|| program.clone())
}

/// Raises the limit on open files as far as the system lets it; how many there are now.
pub fn raise_files() -> u64 {
    let found = getrlimit(Resource::Nofile);
    let hard = found.maximum.unwrap_or(u64::MAX);
    for wanted in [FILES.max(hard), hard] {
        let limit = Rlimit { current: Some(wanted), maximum: Some(wanted) };
        // Raising the hard limit takes a privilege; without it the soft one is raised up to it.
        if setrlimit(Resource::Nofile, limit).is_ok() {
            break;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
