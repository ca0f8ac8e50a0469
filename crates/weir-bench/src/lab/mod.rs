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
use experiment::Experiment;
use std::path::PathBuf;

/// Experiments in the binary: name and text.
const EXPERIMENTS: [(&str, &str); 5] = [
    ("seed-000", include_str!("../../../../examples/experiments/seed-000.yaml")),
    ("seed-001", include_str!("../../../../examples/experiments/seed-001.yaml")),
    ("seed-002", include_str!("../../../../examples/experiments/seed-002.yaml")),
    ("seed-003", include_str!("../../../../examples/experiments/seed-003.yaml")),
    ("seed-004", include_str!("../../../../examples/experiments/seed-004.yaml")),
];

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

/// Arguments of `weir lab run`.
#[derive(Clone, Debug, clap::Args)]
struct RunArgs {
    /// Name of an experiment, or a file
    experiment: String,
    /// As long as published, instead of a short version
    #[arg(long)]
    full: bool,
    /// Folder for results and pages [default: lab-NAME]
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Measure a running Spring Cloud Gateway (or any gateway) beside weir; it must serve the
    /// application.yml that is printed
    #[arg(long, value_name = "URL")]
    scg: Option<String>,
    /// Where the origin listens [default: a free port; 127.0.0.1:9999 with --scg]
    #[arg(long, value_name = "ADDRESS")]
    origin: Option<std::net::SocketAddr>,
}

/// Runs `weir lab` and gives its exit code.
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
