//! The arguments that all measurements have in common, and the settings derived from them.

use std::path::PathBuf;

use weir_testkit::tree::{root, shown};

use super::bench::Bench;
use super::machine::Cores;
use super::report::Report;
use super::tools::Tool;
use crate::program::Build;

/// What all measurements have in common.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Common {
    /// How often each subject is measured
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Length of one measurement
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// As long as it takes for numbers to rely on
    #[arg(long)]
    pub(super) full: bool,
    /// Folder for the results, instead of bench/runs/<date>-<machine>; leaves the README alone
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Prints the result as JSON instead of Markdown
    #[arg(long)]
    json: bool,
    /// Installs what is missing through apt-get
    #[arg(long)]
    install: bool,
    /// Measures weir as `cargo build --release` makes it, not as `cargo xtask release` does
    #[arg(long)]
    plain: bool,
    /// Leaves the README alone
    #[arg(long)]
    no_readme: bool,
    /// Cores of proxy, upstream and client, such as 0,1,2
    #[arg(long, value_name = "P,U,C", value_parser = Cores::parse)]
    cores: Option<Cores>,
}

impl Common {
    pub(super) fn prepare(&self, needed: &[Tool]) -> anyhow::Result<Bench> {
        Bench::prepare(needed, self.install, Build::of(self.plain), self.cores.clone())
    }

    pub(super) fn rounds(&self, short: usize, full: usize) -> usize {
        self.rounds.unwrap_or(if self.full { full } else { short }).max(1)
    }

    pub(super) fn seconds(&self, short: u64, full: u64) -> u64 {
        self.seconds.unwrap_or(if self.full { full } else { short }).max(1)
    }

    /// The folder for the results of this run.
    fn folder(&self, bench: &Bench) -> PathBuf {
        let folder = root().join("bench/runs").join(bench.machine.folder());
        self.out.clone().unwrap_or(folder)
    }

    /// Writes the results so far of an unfinished run.
    pub(super) fn keep(&self, bench: &Bench, report: &Report) -> anyhow::Result<()> {
        report.write(bench, &self.folder(bench)).map(drop)
    }

    /// Prints the result and writes it to where it belongs; the README only if it is `whole`.
    pub(super) fn finish(&self, bench: &Bench, report: &Report, whole: bool) -> anyhow::Result<()> {
        let folder = self.folder(bench);
        match self.json {
            true => println!("{}", report.json(bench)?),
            false => println!("{}", report.markdown(bench)),
        }
        for file in report.write(bench, &folder)? {
            eprintln!("written: {}", shown(&file));
        }
        if whole && self.out.is_none() && !self.no_readme {
            report.publish(&folder)?;
            eprintln!("written: docs/performance.md");
        }
        Ok(())
    }
}
