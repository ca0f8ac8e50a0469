//! The `weir` command: one file per subcommand.

mod admin;
mod apis;
mod caches;
mod check;
mod configuration;
mod demo;
mod explain;
mod files;
mod generated;
mod imports;
mod limits;
mod mock;
mod origin;
mod output;
mod pipelines;
mod places;
mod reference;
mod routes;
mod run;
mod services;
mod upstreams;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use mimalloc::MiMalloc;

/// The C library's allocator keeps what a thread has freed for that thread: after two imports of a
/// table, three times its memory stays taken. See `docs/decisions/0010-allocator.md`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

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
    /// Tells which route a request takes, why, and what its filters do to it.
    Explain(explain::ExplainArgs),
    /// Shows and changes the routes of a running gateway.
    Routes(routes::RoutesArgs),
    /// Shows and changes the API definitions that a running gateway mocks.
    Apis(apis::ApisArgs),
    /// Shows and changes the limits of a running gateway.
    Limits(limits::LimitsArgs),
    /// Shows the caches of a running gateway, and empties them.
    Caches(caches::CachesArgs),
    /// Shows the pipelines of a running gateway.
    Pipelines(pipelines::PipelinesArgs),
    /// Shows the services that registries list to a running gateway.
    Services(services::ServicesArgs),
    /// Shows the upstreams of a running gateway, and drains their instances.
    Upstreams(upstreams::UpstreamsArgs),
    /// Serves API definitions: validates requests and answers them.
    Mock(mock::MockArgs),
    /// Generates load and measures latency without omitting waits.
    Bench(Box<weir_bench::cli::Args>),
    /// Runs weir's own experiments.
    Lab(weir_bench::lab::Args),
    /// Runs an upstream for tests, demonstrations and experiments.
    Origin(origin::OriginArgs),
    /// Runs an origin and a gateway with 100,000 routes, and prints commands to try.
    Demo(demo::DemoArgs),
    /// Shows the reference of predicates and filters.
    Reference(reference::ReferenceArgs),
    /// Prints the completions of a shell.
    Completions(generated::CompletionsArgs),
    /// Writes man pages.
    Man(generated::ManArgs),
}

fn main() -> ExitCode {
    weir_server::return_memory_soon();
    let result = match Weir::parse().command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => Ok(check::run(&args)),
        Command::Explain(args) => explain::run(args),
        Command::Routes(args) => routes::run(args),
        Command::Apis(args) => apis::run(args),
        Command::Limits(args) => limits::run(args),
        Command::Caches(args) => caches::run(args),
        Command::Pipelines(args) => pipelines::run(args),
        Command::Services(args) => services::run(args),
        Command::Upstreams(args) => upstreams::run(args),
        Command::Mock(args) => mock::run(args),
        Command::Bench(args) => Ok(ExitCode::from(weir_bench::cli::run(*args))),
        Command::Lab(args) => Ok(ExitCode::from(weir_bench::lab::run(&args))),
        Command::Origin(args) => origin::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Reference(args) => reference::run(args, Weir::command()),
        Command::Completions(args) => generated::completions::<Weir>(args),
        Command::Man(args) => generated::man::<Weir>(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
