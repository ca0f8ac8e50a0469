//! The `weir` command: one file per subcommand.

mod check;
mod configuration;
mod origin;
mod routes;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An API gateway whose cost does not grow with its route table.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
struct Weir {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the gateway.
    Run(run::RunArgs),
    /// Tells everything that is wrong with a configuration, what differs from SCG, and what is not
    /// supported.
    Check(check::CheckArgs),
    /// Shows and changes the routes of a running gateway.
    Routes(routes::RoutesArgs),
    /// Runs an upstream for tests, demonstrations and experiments.
    Origin(origin::OriginArgs),
}

fn main() -> ExitCode {
    let result = match Weir::parse().command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::run(args),
        Command::Routes(args) => routes::run(args),
        Command::Origin(args) => origin::run(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
