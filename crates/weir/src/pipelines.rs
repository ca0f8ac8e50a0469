//! `weir pipelines`: the pipelines of a running gateway, through its admin API.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::admin::AdminArgs;
use crate::routes::client::{Ask, escaped};
use crate::routes::show::{rows, table, text};

/// Arguments of `weir pipelines`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir pipelines list
  weir pipelines show front
  weir pipelines list --json

Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct PipelinesArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    #[command(subcommand)]
    command: PipelinesCommand,
}

#[derive(Debug, Subcommand)]
enum PipelinesCommand {
    /// Lists pipelines with their addresses and counters.
    List,
    /// Shows a pipeline with the state of its upstreams.
    Show {
        /// Its `id`.
        id: String,
    },
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: PipelinesArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?;
    let (found, show): (Value, fn(&Value) -> String) = match args.command {
        PipelinesCommand::List => (client.ask(Ask::get("/pipelines".to_owned()))?.json()?, listed),
        PipelinesCommand::Show { id } => {
            let found = client.find(Ask::get(format!("/pipelines/{}", escaped(&id))))?;
            let Some(found) = found else {
                bail!("there is no pipeline `{id}`\n  `weir pipelines list` shows those there are");
            };
            (found.json()?, shown)
        }
    };
    match args.admin.json {
        true => println!("{found}"),
        false => print!("{}", show(&found)),
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(all: &Value) -> String {
    let pipelines = rows(all, "pipelines", |one| {
        let counts = &one["counts"];
        let upstreams = one["upstreams"].as_array().map_or(0, Vec::len);
        vec![
            text(one, "id"),
            text(one, "protocol"),
            addresses(one),
            text(one, "limit"),
            text(one, "active"),
            text(counts, "accepted"),
            text(counts, "limited"),
            upstreams.to_string(),
        ]
    });
    if pipelines.is_empty() {
        return "no pipeline is configured; see weir.pipelines\n".to_owned();
    }
    let heads =
        ["PIPELINE", "PROTOCOL", "LISTENS", "LIMIT", "ACTIVE", "ACCEPTED", "LIMITED", "UPSTREAMS"];
    table(&heads, &pipelines)
}

fn addresses(one: &Value) -> String {
    let listen = one["listen"].as_array().into_iter().flatten().filter_map(Value::as_str);
    listen.collect::<Vec<_>>().join(" ")
}

fn shown(one: &Value) -> String {
    let mut facts = vec![
        vec!["protocol".to_owned(), text(one, "protocol")],
        vec!["listens".to_owned(), addresses(one)],
        vec!["limit".to_owned(), text(one, "limit")],
        vec!["active".to_owned(), text(one, "active")],
    ];
    for (name, count) in one["counts"].as_object().into_iter().flatten() {
        facts.push(vec![name.clone(), count.to_string()]);
    }
    let mut out = table(&["PIPELINE", &text(one, "id")], &facts);
    let upstreams = rows(one, "upstreams", |one| {
        let state = match (&one["up"], &one["passedOver"]) {
            (Value::Bool(false), _) => "down",
            (_, Value::Bool(true)) => "passed over",
            _ => "used",
        };
        let of = |key: &str| text(one, key);
        let state = state.to_owned();
        vec![of("address"), state, of("weight"), of("active"), of("taken"), of("unreached")]
    });
    if !upstreams.is_empty() {
        out.push('\n');
        let heads = ["UPSTREAM", "STATE", "WEIGHT", "ACTIVE", "TAKEN", "UNREACHED"];
        out.push_str(&table(&heads, &upstreams));
    }
    out
}
