//! Changing definitions one at a time: add, set, rm.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use http::{Method, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::files::FILES;
use crate::output::counted;
use crate::routes::client::{Ask, Client, escaped};

#[derive(Debug, Args)]
pub(super) struct DefineArgs {
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
pub(super) struct SetArgs {
    #[command(flatten)]
    define: DefineArgs,
    /// Only if the definition is still at this revision (see `show`).
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
}

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
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

pub(super) fn add(client: &Client, args: &DefineArgs, json: bool) -> anyhow::Result<()> {
    let condition = Some((header::IF_NONE_MATCH, "*".to_owned()));
    let (status, reply) = client.send(put(args, condition)?)?;
    if status == StatusCode::PRECONDITION_FAILED {
        let name = &args.name;
        bail!("there is a definition `{name}` already\n  `weir apis set {name}` overwrites it");
    }
    client.done(status, &reply)?;
    say(json, "added", &args.name, reply.number("etag"));
    Ok(())
}

pub(super) fn set(client: &Client, args: &SetArgs, json: bool) -> anyhow::Result<()> {
    let reply = client.ask(put(&args.define, at_revision(args.if_revision))?)?;
    say(json, "set", &args.define.name, reply.number("etag"));
    Ok(())
}

pub(super) fn remove(client: &Client, args: &RemoveArgs, as_json: bool) -> anyhow::Result<()> {
    let which = match (&args.query, args.all) {
        (Some(query), _) => Some(format!("q={}", escaped(query))),
        (None, true) => Some("all=true".to_owned()),
        (None, false) => None,
    };
    if let Some(which) = which {
        let target = format!("/weir/apis?{which}");
        let ask = Ask { method: Method::DELETE, target, ..Ask::default() };
        let reply = client.ask(ask)?.json()?;
        match as_json {
            true => println!("{reply}"),
            false => {
                let count = reply.get("deleted").and_then(Value::as_u64).unwrap_or(0);
                println!("removed {}", counted(count, "definition"));
            }
        }
        return Ok(());
    }
    if args.names.is_empty() {
        bail!("say which definitions: names, --query or --all");
    }
    for name in &args.names {
        let ask = Ask {
            method: Method::DELETE,
            target: format!("/weir/apis/{}", escaped(name)),
            condition: at_revision(args.if_revision),
            ..Ask::default()
        };
        if client.find(ask)?.is_none() {
            bail!("there is no definition `{name}`\n  `weir apis list` shows what there is");
        }
        match as_json {
            true => println!("{}", json!({ "removed": name })),
            false => println!("removed {name}"),
        }
    }
    Ok(())
}

fn at_revision(revision: Option<u64>) -> Option<(header::HeaderName, String)> {
    revision.map(|revision| (header::IF_MATCH, format!("\"{revision}\"")))
}

fn say(as_json: bool, what: &str, name: &str, revision: u64) {
    match as_json {
        true => println!("{}", json!({ what: name, "revision": revision })),
        false => println!("{what} {name}, revision {revision}"),
    }
}

fn put(args: &DefineArgs, condition: Option<(header::HeaderName, String)>) -> anyhow::Result<Ask> {
    let mut entry = Map::new();
    entry.insert("definition".to_owned(), whole(&args.file, read(&args.file)?)?);
    if let Some(base_path) = &args.base_path {
        entry.insert("base-path".to_owned(), base_path.as_str().into());
    }
    if !args.host.is_empty() {
        entry.insert("host".to_owned(), args.host.clone().into());
    }
    if let Some(file) = &args.settings {
        let settings: Value = serde_json::from_str(&read(file)?)
            .with_context(|| format!("{} is not JSON", file.display()))?;
        entry.insert("settings".to_owned(), settings);
    }
    Ok(Ask {
        method: Method::PUT,
        target: format!("/weir/apis/{}", escaped(&args.name)),
        media: Some("application/json"),
        body: serde_json::to_vec(&entry)?,
        condition,
    })
}

/// A definition with the files that it refers to, which are in its folder or below.
pub(super) fn whole(file: &Path, text: String) -> anyhow::Result<Value> {
    let bundled = FILES.bundled(file, &text).map_err(anyhow::Error::msg)?;
    Ok(bundled.unwrap_or(Value::String(text)))
}

/// A text; `-` is standard input.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    match file == Path::new("-") {
        true => std::io::stdin().lock().read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    }
    .with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text)
}
