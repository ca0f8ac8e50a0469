//! `weir routes`: the routes of a running gateway, through its admin API.

mod change;
pub(crate) mod client;
pub(crate) mod import;
mod read;
pub(crate) mod show;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};

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

/// Which routes.
#[derive(Clone, Debug, Default, Args)]
struct Which {
    /// Text anywhere in id, uri, predicates or filters.
    #[arg(short, long, value_name = "TEXT")]
    query: Option<String>,
    /// Text in the uri.
    #[arg(long = "with-uri", value_name = "TEXT")]
    uri: Option<String>,
    /// Text in a Path predicate.
    #[arg(long, value_name = "TEXT")]
    path: Option<String>,
    /// Start of the id.
    #[arg(long, value_name = "TEXT")]
    id_prefix: Option<String>,
    /// Metadata that the route has.
    #[arg(long, value_name = "KEY:VALUE")]
    metadata: Vec<String>,
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    which: Which,
    /// Most routes shown.
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Shows all of them.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Order of the lines.
    #[arg(long, value_enum, default_value_t = Sort::Trial)]
    sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// As they are tried.
    Trial,
    /// By id.
    Id,
    /// By uri.
    Uri,
}

#[derive(Debug, Args)]
struct GetArgs {
    /// Which route.
    id: String,
}

#[derive(Debug, Args)]
struct DefineArgs {
    /// Which route.
    id: String,
    /// Where its requests go.
    #[arg(long, value_name = "URI", required_unless_present_any = ["file", "group"])]
    uri: Option<String>,
    /// A predicate, such as `Path=/a/**`; may be repeated.
    #[arg(short, long = "predicate", value_name = "NAME=ARGS")]
    predicates: Vec<String>,
    /// A filter, such as `StripPrefix=1`; may be repeated.
    #[arg(short, long = "filter", value_name = "NAME=ARGS")]
    filters: Vec<String>,
    /// The group of `weir.groups` that it belongs to.
    #[arg(long, value_name = "ID")]
    group: Option<String>,
    /// Lower is tried first.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    order: Option<i32>,
    /// Metadata; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    metadata: Vec<String>,
    /// A definition in JSON or YAML to start from; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct SetArgs {
    #[command(flatten)]
    define: DefineArgs,
    /// Only if the route is still at this revision (see `get`).
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
}

#[derive(Debug, Args)]
struct RemoveArgs {
    /// Which routes.
    ids: Vec<String>,
    #[command(flatten)]
    which: Which,
    /// Every route of the store.
    #[arg(long)]
    all: bool,
    /// Only if the route is still at this revision (see `get`).
    #[arg(long, value_name = "N", requires = "ids")]
    if_revision: Option<u64>,
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format of the files; detected by default.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Routes written together.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    batch: usize,
}

#[derive(Debug, Args)]
struct ExportArgs {
    #[command(flatten)]
    which: Which,
    /// What to write.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Output file; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Routes of configuration files, too. Importing them again would make them twice.
    #[arg(long)]
    files: bool,
}

/// Forms of a file of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// `spring.cloud.gateway…routes` of an application.yml, or a list of routes.
    Yaml,
    /// A JSON array.
    Json,
    /// One JSON object a line.
    Jsonl,
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

impl Which {
    /// As a query, each pair starting with `&`.
    fn query(&self) -> String {
        let one = |key: &'static str, value: &Option<String>| value.clone().map(|v| (key, v));
        let single = [
            one("q", &self.query),
            one("uri", &self.uri),
            one("path", &self.path),
            one("id", &self.id_prefix),
        ];
        let metadata = self.metadata.iter().map(|pair| ("metadata", pair.clone()));
        let pairs = single.into_iter().flatten().chain(metadata);
        pairs.map(|(key, value)| format!("&{key}={}", client::escaped(&value))).collect()
    }
}
