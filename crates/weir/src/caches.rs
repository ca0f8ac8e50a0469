//! `weir caches`: the caches of a running gateway, through its admin API.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use crate::admin::AdminArgs;
use crate::routes::client::{Ask, Client, escaped};
use crate::routes::show::{table, text};

/// Arguments of `weir caches`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir caches list
  weir caches purge catalogue
  weir caches purge response-cache
  weir caches purge --all

A cache has the id of its route as its name; the one that routes without a size of their own share is
`response-cache`. Responses that are being fetched during a purge are not kept.
Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct CachesArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    #[command(subcommand)]
    command: CachesCommand,
}

#[derive(Debug, Subcommand)]
enum CachesCommand {
    /// Lists caches with their contents and counters.
    List,
    /// Empties a cache.
    Purge {
        /// Id of its route, or `response-cache`.
        #[arg(required_unless_present = "all")]
        name: Option<String>,
        /// Empties all caches.
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: CachesArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?;
    match &args.command {
        CachesCommand::List => {
            let all = client.ask(Ask::get("/caches".to_owned()))?.json()?;
            match args.admin.json {
                true => println!("{all}"),
                false => print!("{}", listed(&all)),
            }
        }
        CachesCommand::Purge { name, .. } => {
            purge(&client, name.as_deref())?;
            let emptied = name.as_deref().unwrap_or("all caches");
            match args.admin.json {
                true => println!("{}", json!({ "emptied": name })),
                false => println!("emptied {emptied}"),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn purge(client: &Client, name: Option<&str>) -> anyhow::Result<()> {
    let below = name.map(|name| format!("/{}", escaped(name))).unwrap_or_default();
    let mut ask = Ask::get(format!("/caches{below}"));
    ask.method = Method::DELETE;
    if client.find(ask)?.is_none() {
        let name = name.unwrap_or_default();
        bail!("there is no cache `{name}`\n  `weir caches list` shows those there are");
    }
    Ok(())
}

fn listed(all: &Value) -> String {
    let managers = all["cacheManagers"].as_object().into_iter().flatten();
    let caches = managers.filter_map(|(_, manager)| manager["caches"].as_object()).flatten();
    let row = |(name, one): (&String, &Value)| {
        let mut row = vec![name.clone()];
        for key in ["entries", "bytes", "bytesMax", "hits", "stale", "misses"] {
            row.push(text(one, key));
        }
        row
    };
    let rows: Vec<Vec<String>> = caches.map(row).collect();
    if rows.is_empty() {
        return "no route has a cache; add the filter LocalResponseCache=5m to one\n".to_owned();
    }
    table(&["CACHE", "ENTRIES", "BYTES", "OF", "HITS", "STALE", "MISSES"], &rows)
}
