//! The `weir` command: one file per subcommand.

mod admin;
mod apis;
mod bench;
mod caches;
mod check;
mod command;
mod completions;
mod configuration;
mod demo;
mod explain;
mod files;
mod imports;
mod lab;
mod limits;
mod man;
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

use clap::Parser;
use mimalloc::MiMalloc;

use self::command::commands;

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

commands! {
    /// Runs the gateway.
    run::RunArgs: Run,
    /// Tells everything that is wrong with a configuration, what differs from SCG, and what is not
    /// supported.
    check::CheckArgs: Check,
    /// Tells which route a request takes, why, and what its filters do to it.
    explain::ExplainArgs: Explain,
    /// Shows and changes the routes of a running gateway.
    routes::RoutesArgs: Routes,
    /// Shows and changes the API definitions that a running gateway mocks.
    apis::ApisArgs: Apis,
    /// Shows and changes the limits of a running gateway.
    limits::LimitsArgs: Limits,
    /// Shows the caches of a running gateway, and empties them.
    caches::CachesArgs: Caches,
    /// Shows the pipelines of a running gateway.
    pipelines::PipelinesArgs: Pipelines,
    /// Shows the services that registries list to a running gateway.
    services::ServicesArgs: Services,
    /// Shows the upstreams of a running gateway, and drains their instances.
    upstreams::UpstreamsArgs: Upstreams,
    /// Serves API definitions: validates requests and answers them.
    mock::MockArgs: Mock,
    /// Generates load and measures latency without omitting waits.
    bench::BenchArgs: Bench,
    /// Runs weir's own experiments.
    lab::LabArgs: Lab,
    /// Runs an upstream for tests, demonstrations and experiments.
    origin::OriginArgs: Origin,
    /// Runs an origin and a gateway with 100,000 routes, and prints commands to try.
    demo::DemoArgs: Demo,
    /// Shows the reference of predicates and filters.
    reference::ReferenceArgs: Reference,
    /// Prints the completions of a shell.
    completions::CompletionsArgs: Completions,
    /// Writes man pages.
    man::ManArgs: Man,
}

fn main() -> ExitCode {
    weir_server::return_memory_soon();
    Weir::parse().command.execute().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
