//! `weir services`: the services that the registries of a running gateway list, through its admin
//! API.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::admin::AdminArgs;
use crate::routes::client::{Ask, escaped};
use crate::routes::show::{rows, table, text};

/// Arguments of `weir services`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir services list
  weir services show user-service
  weir services list --json

Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct ServicesArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    #[command(subcommand)]
    command: ServicesCommand,
}

#[derive(Debug, Subcommand)]
enum ServicesCommand {
    /// Lists registries with their state, and the services that they list.
    List,
    /// Shows the instances of a service, and why one gets no requests.
    Show {
        /// Name, as in `lb://name`.
        name: String,
    },
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: ServicesArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?;
    match args.command {
        ServicesCommand::List => {
            let all = client.ask(Ask::get("/services".to_owned()))?.json()?;
            if args.admin.json {
                println!("{all}");
            } else {
                print!("{}", listed(&all));
            }
        }
        ServicesCommand::Show { name } => {
            let found = client.find(Ask::get(format!("/services/{}", escaped(&name))))?;
            let Some(found) = found else {
                bail!(
                    "no registry lists a service `{name}` with an instance\n  `weir services list` \
                     shows those there are, and which registry is away"
                );
            };
            let service = found.json()?;
            if args.admin.json {
                println!("{service}");
            } else {
                print!("{}", shown(&service));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(all: &Value) -> String {
    let registries = rows(all, "registries", |one| {
        let from = if one["fromDisk"] == true { " (list from disk)" } else { "" };
        let ago = match one["answeredSecondsAgo"].as_u64() {
            Some(seconds) => format!("{seconds} s ago"),
            None => "never".to_owned(),
        };
        let state = format!("{}{from}", text(one, "state"));
        vec![text(one, "registry"), state, ago, text(one, "instances"), text(one, "failure")]
    });
    if registries.is_empty() {
        return "no registry is configured; name one, such as \
                eureka.client.service-url.defaultZone\n"
            .to_owned();
    }
    let services = rows(all, "services", |one| {
        vec![text(one, "name"), text(one, "usable"), text(one, "instances"), text(one, "registry")]
    });
    let mut out = table(&["REGISTRY", "STATE", "ANSWERED", "INSTANCES", "FAILURE"], &registries);
    out.push('\n');
    out.push_str(&table(&["SERVICE", "USED", "INSTANCES", "REGISTRY"], &services));
    out
}

fn shown(service: &Value) -> String {
    let rows = rows(service, "instances", |one| {
        let place = format!("{}:{}", text(one, "host"), text(one, "port"));
        let used = if one["used"] == true { "yes".to_owned() } else { text(one, "why") };
        vec![text(one, "id"), place, text(one, "zone"), text(one, "weight"), used]
    });
    table(&["INSTANCE", "ADDRESS", "ZONE", "WEIGHT", "USED"], &rows)
}
