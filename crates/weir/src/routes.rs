//! `weir routes`: the routes of a running gateway, through its admin API.

mod change;
pub(crate) mod client;
pub(crate) mod import;
mod read;
pub(crate) mod show;
mod source;
mod which;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::change::{DefineArgs, RemoveArgs, SetArgs};
use self::import::ImportArgs;
use self::read::{ExportArgs, GetArgs, ListArgs};
use crate::admin::AdminArgs;

/// Arguments of `weir routes`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir routes list --path /orders
  weir routes add orders --uri http://orders:8080 -p 'Path=/orders/**' -f StripPrefix=1
  weir routes set orders --file orders.json
  weir routes import application.yml routes.jsonl
  weir routes export --format yaml > routes.yml
  weir routes rm orders

Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct RoutesArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    #[command(subcommand)]
    command: RoutesCommand,
}

#[derive(Debug, Subcommand)]
enum RoutesCommand {
    /// Lists routes in the order they are tried.
    List(ListArgs),
    /// Shows the definition of a route.
    Get(GetArgs),
    /// Adds a new route.
    Add(DefineArgs),
    /// Creates or replaces a route.
    Set(SetArgs),
    /// Removes routes.
    Rm(RemoveArgs),
    /// Writes many routes from files, 100,000 at a time.
    Import(ImportArgs),
    /// Exports routes in a form that `import` reads.
    Export(ExportArgs),
    /// Does what SCG's refresh does: nothing here, every change is in force at once.
    Refresh,
    /// Shows counts of the route table, the store and the data plane, and where the memory is.
    Stats,
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: RoutesArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?;
    let json = args.admin.json;
    match args.command {
        RoutesCommand::List(list) => read::list(&client, &list, json)?,
        RoutesCommand::Get(get) => read::get(&client, &get.id)?,
        RoutesCommand::Export(export) => read::export(&client, &export)?,
        RoutesCommand::Stats => read::stats(&client, json)?,
        RoutesCommand::Add(define) => change::add(&client, &define, json)?,
        RoutesCommand::Set(set) => change::set(&client, &set, json)?,
        RoutesCommand::Rm(remove) => change::remove(&client, &remove, json)?,
        RoutesCommand::Refresh => change::refresh(&client)?,
        RoutesCommand::Import(import) => import::run(&client, &import, json)?,
    }
    Ok(ExitCode::SUCCESS)
}
