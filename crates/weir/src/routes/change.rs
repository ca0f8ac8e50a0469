//! Changing routes one at a time: add, set, rm, refresh.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use http::{Method, header};
use serde_json::{Map, Value, json};

use super::client::{Ask, Client, escaped};
use super::source;
use super::which::Which;

const JSON: &str = "application/json";

#[derive(Debug, Args)]
pub(super) struct DefineArgs {
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
pub(super) struct SetArgs {
    #[command(flatten)]
    define: DefineArgs,
    /// Only if the route is still at this revision (see `get`).
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
}

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
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

pub(super) fn add(client: &Client, args: &DefineArgs, json: bool) -> anyhow::Result<()> {
    let condition = Some((header::IF_NONE_MATCH, "*".to_owned()));
    let (status, reply) = client.send(put(args, condition)?)?;
    if status == http::StatusCode::PRECONDITION_FAILED {
        let id = &args.id;
        bail!("there is a route `{id}` already\n  `weir routes set {id}` overwrites it");
    }
    client.done(status, &reply)?;
    say(json, "added", &args.id, reply.number("etag"));
    Ok(())
}

pub(super) fn set(client: &Client, args: &SetArgs, json: bool) -> anyhow::Result<()> {
    let condition = at_revision(args.if_revision);
    let reply = client.ask(put(&args.define, condition)?)?;
    say(json, "set", &args.define.id, reply.number("etag"));
    Ok(())
}

pub(super) fn remove(client: &Client, args: &RemoveArgs, json: bool) -> anyhow::Result<()> {
    let query = args.which.query();
    match (args.ids.is_empty(), query.is_empty(), args.all) {
        (false, true, false) => {}
        (true, false, false) => return remove_many(client, &query, json),
        (true, true, true) => return remove_many(client, "&all=true", json),
        (true, true, false) => bail!(
            "say which routes: ids, --query, --with-uri, --path, --id-prefix, --metadata, or --all"
        ),
        _ => bail!("ids, conditions and --all do not go together; use one of them"),
    }
    for id in &args.ids {
        let ask = Ask {
            method: Method::DELETE,
            target: format!("/routes/{}", escaped(id)),
            condition: at_revision(args.if_revision),
            ..Ask::default()
        };
        if client.find(ask)?.is_none() {
            bail!(
                "there is no route `{id}` in the store\n  routes of configuration files are \
                 removed there; `weir routes list -q {id}` shows where it is from"
            );
        }
        match json {
            true => println!("{}", json!({ "removed": id })),
            false => println!("removed {id}"),
        }
    }
    Ok(())
}

fn remove_many(client: &Client, query: &str, json: bool) -> anyhow::Result<()> {
    let query = query.trim_start_matches('&');
    let ask = Ask { method: Method::DELETE, target: format!("/routes?{query}"), ..Ask::default() };
    let reply = client.ask(ask)?.json()?;
    match json {
        true => println!("{reply}"),
        false => println!("removed {} routes", reply.get("deleted").unwrap_or(&Value::Null)),
    }
    Ok(())
}

pub(super) fn refresh(client: &Client) -> anyhow::Result<()> {
    let ask = Ask { method: Method::POST, target: "/refresh".into(), ..Ask::default() };
    client.ask(ask)?;
    println!("every change was in force already");
    Ok(())
}

fn at_revision(revision: Option<u64>) -> Option<(header::HeaderName, String)> {
    revision.map(|revision| (header::IF_MATCH, format!("\"{revision}\"")))
}

fn say(json: bool, what: &str, id: &str, revision: u64) {
    match json {
        true => println!("{}", json!({ what: id, "revision": revision })),
        false => println!("{what} {id}, revision {revision}"),
    }
}

fn put(args: &DefineArgs, condition: Option<(header::HeaderName, String)>) -> anyhow::Result<Ask> {
    Ok(Ask {
        method: Method::POST,
        target: format!("/routes/{}", escaped(&args.id)),
        media: Some(JSON),
        body: serde_json::to_vec(&definition(args)?)?,
        condition,
    })
}

/// The definition in the file, if one is named, overridden by the arguments.
fn definition(args: &DefineArgs) -> anyhow::Result<Map<String, Value>> {
    let mut definition = match &args.file {
        Some(path) => one_of(path)?,
        None => Map::new(),
    };
    let mut set = |key: &str, value: Value| definition.insert(key.to_owned(), value);
    if let Some(uri) = &args.uri {
        set("uri", uri.as_str().into());
    }
    if !args.predicates.is_empty() {
        set("predicates", args.predicates.clone().into());
    }
    if !args.filters.is_empty() {
        set("filters", args.filters.clone().into());
    }
    if let Some(group) = &args.group {
        set("group", group.as_str().into());
    }
    if let Some(order) = args.order {
        set("order", order.into());
    }
    if !args.metadata.is_empty() {
        let mut metadata = Map::new();
        for pair in &args.metadata {
            let Some((key, value)) = pair.split_once('=') else {
                bail!("--metadata {pair} has no `=`; write key=value");
            };
            metadata.insert(key.to_owned(), value.into());
        }
        set("metadata", metadata.into());
    }
    Ok(definition)
}

/// The only route of a file.
fn one_of(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let mut text = String::new();
    let name = path.display();
    match path == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
    }
    .with_context(|| format!("cannot read {name}"))?;
    let mut routes = Vec::new();
    source::each(&text, source::guess(path, &text), &name.to_string(), |route| {
        routes.push(route);
        Ok(())
    })?;
    match (routes.pop(), routes.is_empty()) {
        (Some(Value::Object(route)), true) => Ok(route),
        (Some(_), true) => bail!("{name} is not a route"),
        (None, _) => bail!("{name} has no route in it"),
        (Some(_), false) => bail!("{name} has several routes; `weir routes import` takes them all"),
    }
}
