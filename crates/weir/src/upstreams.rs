//! `weir upstreams`: the upstreams of a running gateway, through its admin API.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use crate::admin::AdminArgs;
use crate::routes::client::{Ask, Client, escaped};
use crate::routes::show::{rows, table, text};

/// Arguments of `weir upstreams`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir upstreams list
  weir upstreams show orders
  weir upstreams drain orders 10.0.0.7:8080
  weir upstreams resume orders 10.0.0.7:8080

A drained instance gets no new requests; those under way go on. It stays drained over reloads, until
it is resumed, leaves the list, or weir restarts.
Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct UpstreamsArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    #[command(subcommand)]
    command: UpstreamsCommand,
}

#[derive(Debug, Subcommand)]
enum UpstreamsCommand {
    /// Lists the upstreams that have rules, with how many of their instances are used.
    List,
    /// Shows the instances of an upstream, and why one is not used.
    Show {
        /// Name, as in `upstream://name` or `lb://name`.
        name: String,
    },
    /// Gives an instance no new requests.
    Drain {
        /// Name of the upstream.
        name: String,
        /// Id of the instance, or `host:port`.
        instance: String,
    },
    /// Gives a drained instance requests again.
    Resume {
        /// Name of the upstream.
        name: String,
        /// Id of the instance, or `host:port`.
        instance: String,
    },
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: UpstreamsArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?;
    let (found, show): (Value, fn(&Value) -> String) = match &args.command {
        UpstreamsCommand::List => (client.ask(Ask::get("/upstreams".to_owned()))?.json()?, listed),
        UpstreamsCommand::Show { name } => {
            let found = client.find(Ask::get(format!("/upstreams/{}", escaped(name))))?;
            let Some(found) = found else {
                bail!(
                    "there is no upstream `{name}` with rules\n  `weir upstreams list` shows those \
                     there are; `weir services show {name}` shows a service without"
                );
            };
            (found.json()?, shown)
        }
        UpstreamsCommand::Drain { name, instance } => (set(&client, name, instance, true)?, shown),
        UpstreamsCommand::Resume { name, instance } => {
            (set(&client, name, instance, false)?, shown)
        }
    };
    match args.admin.json {
        true => println!("{found}"),
        false => print!("{}", show(&found)),
    }
    Ok(ExitCode::SUCCESS)
}

fn set(client: &Client, name: &str, instance: &str, drained: bool) -> anyhow::Result<Value> {
    let mut ask = Ask::get(format!("/upstreams/{}", escaped(name)));
    ask.method = Method::POST;
    ask.media = Some("application/json");
    ask.body = json!({ "instance": instance, "drained": drained }).to_string().into_bytes();
    let Some(reply) = client.find(ask)? else {
        bail!(
            "there is no upstream `{name}` with an instance `{instance}`\n  `weir upstreams show \
             {name}` shows those there are"
        );
    };
    reply.json()
}

fn listed(all: &Value) -> String {
    let upstreams = rows(all, "upstreams", |one| {
        let instances = one["instances"].as_array().map(Vec::as_slice).unwrap_or_default();
        let used = instances.iter().filter(|one| one["used"] == true).count();
        let checked = if one["checked"] == true { "yes" } else { "no" };
        vec![
            text(one, "name"),
            text(one, "balance"),
            checked.to_owned(),
            used.to_string(),
            instances.len().to_string(),
        ]
    });
    if upstreams.is_empty() {
        return "no route leads to an upstream with rules; see weir.upstreams\n".to_owned();
    }
    table(&["UPSTREAM", "BALANCE", "CHECKED", "USED", "INSTANCES"], &upstreams)
}

fn shown(one: &Value) -> String {
    let instances = rows(one, "instances", |one| {
        let used = if one["used"] == true { "yes".to_owned() } else { text(one, "why") };
        let of = |key: &str| text(one, key);
        let mut row: Vec<String> =
            ["id", "address", "zone", "weight", "active", "requests", "unreached"]
                .into_iter()
                .map(of)
                .collect();
        row.push(used);
        row
    });
    let heads =
        ["INSTANCE", "ADDRESS", "ZONE", "WEIGHT", "ACTIVE", "REQUESTS", "UNREACHED", "USED"];
    let mut out = table(&heads, &instances);
    if one["usesAll"] == true {
        out.push_str("\ntoo few instances are usable: all are used but the drained ones\n");
    }
    out
}
