//! `weir lab`: the seeds' experiments, each one command. An experiment is a YAML file under
//! `examples/experiments`: servers to start, bench commands to run, and the published tables, into
//! which our numbers are written. Called by the binary; servers are started from the running
//! executable.

mod experiment;
mod measured;
mod run;
mod server;
mod table;

use crate::cli;
use experiment::{EXPERIMENTS, Experiment};
use run::RunArgs;

/// Arguments of `weir lab`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum LabCommand {
    /// List the experiments
    List,
    /// Run one
    Run(RunArgs),
}

/// Runs `weir lab` and returns its exit code.
pub fn run(args: &Args) -> u8 {
    let result = match &args.command {
        LabCommand::List => {
            list();
            Ok(cli::OK)
        }
        LabCommand::Run(args) => run::experiment(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("weir lab: {error:#}");
        cli::FAILED
    })
}

fn list() {
    for (name, text) in EXPERIMENTS {
        let title = Experiment::parse(text).map(|experiment| experiment.title);
        println!("{name}  {}", title.unwrap_or_default());
    }
}
