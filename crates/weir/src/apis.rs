//! `weir apis`: the API definitions in the store of a running gateway, through its admin API.

mod change;
mod fire;
mod import;
mod read;
mod record;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::change::{DefineArgs, RemoveArgs, SetArgs};
use self::fire::FireArgs;
use self::import::ImportArgs;
use self::read::{ExportArgs, ListArgs, ShowArgs, TryArgs};
use self::record::RecordArgs;
use crate::admin::AdminArgs;

/// Arguments of `weir apis`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir apis add shop apis/shop.yaml --base-path /mock/shop
  weir apis list -q shop
  weir apis try shop GET /mock/shop/items/1
  weir apis record start shop --route shop
  weir apis fire shop orderPaid --to http://127.0.0.1:9000/hooks
  weir apis import apis/ more.jsonl
  weir apis export > apis.jsonl
  weir apis rm shop
  weir apis tenants
  weir apis list --tenant acme

A route with the uri `mock://store` serves them.
Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct ApisArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    /// The tenant whose definitions are meant; without it, those of no tenant.
    #[arg(long, value_name = "NAME", global = true)]
    tenant: Option<String>,
    #[command(subcommand)]
    command: ApisCommand,
}

#[derive(Debug, Subcommand)]
enum ApisCommand {
    /// Lists tenants, with their numbers of definitions.
    Tenants,
    /// Lists definitions by name.
    List(ListArgs),
    /// Shows a definition with its operations.
    Show(ShowArgs),
    /// Adds a new definition.
    Add(DefineArgs),
    /// Creates or replaces a definition.
    Set(SetArgs),
    /// Removes definitions.
    Rm(RemoveArgs),
    /// Writes many definitions from files, folders and exports, in one swap.
    Import(ImportArgs),
    /// Exports definitions, of each tenant unless one is named, as JSON lines that `import` reads.
    Export(ExportArgs),
    /// Shows which response a request gets, and why.
    Try(TryArgs),
    /// Records what upstreams answer, and makes a definition of it.
    Record(RecordArgs),
    /// Sends a webhook of a definition, and shows what was sent and answered.
    Fire(FireArgs),
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: ApisArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?.of_definitions().of_tenant(args.tenant);
    let json = args.admin.json;
    match args.command {
        ApisCommand::Tenants => read::tenants(&client, json)?,
        ApisCommand::List(list) => read::list(&client, &list, json)?,
        ApisCommand::Show(show) => read::show(&client, &show.name)?,
        ApisCommand::Export(export) => read::export(&client, &export)?,
        ApisCommand::Try(asked) => read::try_out(&client, &asked, json)?,
        ApisCommand::Fire(fire) => fire::fire(&client, &fire, json)?,
        ApisCommand::Add(define) => change::add(&client, &define, json)?,
        ApisCommand::Set(set) => change::set(&client, &set, json)?,
        ApisCommand::Rm(remove) => change::remove(&client, &remove, json)?,
        ApisCommand::Record(record) => record::run(&client.of_recordings(), &record, json)?,
        ApisCommand::Import(import) => import::run(&client, &import, json)?,
    }
    Ok(ExitCode::SUCCESS)
}
