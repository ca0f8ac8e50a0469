//! `weir apis`: the API definitions in the store of a running gateway, through its admin API.

mod change;
mod import;
mod read;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::admin::AdminArgs;

/// Arguments of `weir apis`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir apis add shop apis/shop.yaml --base-path /mock/shop
  weir apis list -q shop
  weir apis try shop GET /mock/shop/items/1
  weir apis import apis/ more.jsonl
  weir apis export > apis.jsonl
  weir apis rm shop

A route with the uri `mock://store` serves them.
Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct ApisArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    #[command(subcommand)]
    command: ApisCommand,
}

#[derive(Debug, Subcommand)]
enum ApisCommand {
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
    /// Exports definitions as JSON lines that `import` reads.
    Export(ExportArgs),
    /// Shows which response a request gets, and why.
    Try(TryArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Text in name, title, base path, host or a path.
    #[arg(short, long, value_name = "TEXT")]
    query: Option<String>,
    /// Most definitions shown.
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Shows all of them.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// Which definition.
    name: String,
}

#[derive(Debug, Args)]
struct DefineArgs {
    /// Name of the definition.
    name: String,
    /// The definition: OpenAPI, Swagger, YApi, Postman, HAR, Apifox; `-` is standard input.
    file: PathBuf,
    /// Base path, instead of that of its `servers`.
    #[arg(long, value_name = "PATH")]
    base_path: Option<String>,
    /// The host whose requests it is for; may be repeated.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// How it is served, as below `x-weir-mock`, in JSON.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct SetArgs {
    #[command(flatten)]
    define: DefineArgs,
    /// Only if the definition is still at this revision (see `show`).
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
}

#[derive(Debug, Args)]
struct RemoveArgs {
    /// Which definitions.
    names: Vec<String>,
    /// Those with this text in name, title, base path, host or a path.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "names")]
    query: Option<String>,
    /// Every definition.
    #[arg(long, conflicts_with_all = ["names", "query"])]
    all: bool,
    /// Only if the definition is still at this revision (see `show`).
    #[arg(long, value_name = "N", requires = "names")]
    if_revision: Option<u64>,
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// Definitions, each called as its file; folders of them; exports (`.jsonl`).
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// Output file; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct TryArgs {
    /// Which definition.
    name: String,
    /// Method.
    method: String,
    /// Path and query, base path included.
    target: String,
    /// A header field; may be repeated.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The body.
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    data: String,
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: ApisArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?.of_definitions();
    let json = args.admin.json;
    match args.command {
        ApisCommand::List(list) => read::list(&client, &list, json)?,
        ApisCommand::Show(show) => read::show(&client, &show.name)?,
        ApisCommand::Export(export) => read::export(&client, &export)?,
        ApisCommand::Try(asked) => read::try_out(&client, &asked, json)?,
        ApisCommand::Add(define) => change::add(&client, &define, json)?,
        ApisCommand::Set(set) => change::set(&client, &set, json)?,
        ApisCommand::Rm(remove) => change::remove(&client, &remove, json)?,
        ApisCommand::Import(import) => import::run(&client, &import, json)?,
    }
    Ok(ExitCode::SUCCESS)
}
