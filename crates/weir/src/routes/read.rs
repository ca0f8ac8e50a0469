//! Showing routes: list, get, export, stats.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use super::client::{Ask, Client, escaped};
use super::show;
use super::source::Format;
use super::which::Which;
use crate::output::counted;

/// The page size.
const PAGE: usize = 10_000;

#[derive(Debug, Args)]
pub(super) struct ListArgs {
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
pub(super) enum Sort {
    /// As they are tried.
    Trial,
    /// By id.
    Id,
    /// By uri.
    Uri,
}

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// Which route.
    pub(super) id: String,
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
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

pub(super) fn list(client: &Client, args: &ListArgs, json: bool) -> anyhow::Result<()> {
    let limit = if args.all { usize::MAX } else { args.limit };
    let mut entries = Vec::new();
    let total = each(client, &args.which.query(), limit, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    let text = |entry: &Value, key: &str| -> String {
        let value = entry.get("definition").and_then(|definition| definition.get(key));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    match args.sort {
        Sort::Trial => {}
        Sort::Id => entries.sort_by_key(|entry| text(entry, "id")),
        Sort::Uri => entries.sort_by_key(|entry| text(entry, "uri")),
    }
    if json {
        println!("{}", Value::Array(entries));
        return Ok(());
    }
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    print!("{}", show::table(&["ID", "ORDER", "URI", "PREDICATES", "FILTERS", "FROM"], &rows));
    if total > rows.len() {
        eprintln!("{} of {total} routes; more with --limit N or --all", rows.len());
    }
    Ok(())
}

fn row(entry: &Value) -> Vec<String> {
    let definition = entry.get("definition").unwrap_or(&Value::Null);
    let text = |key: &str| match definition.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let list = |key: &str| {
        let named = definition.get(key).and_then(Value::as_array).into_iter().flatten();
        named.map(show::shortcut).collect::<Vec<_>>().join(" ")
    };
    let source = entry.get("source").and_then(Value::as_str).unwrap_or_default();
    vec![text("id"), text("order"), text("uri"), list("predicates"), list("filters"), source.into()]
}

pub(super) fn get(client: &Client, id: &str) -> anyhow::Result<()> {
    let ask = Ask::get(format!("/routes/{}?form=entry", escaped(id)));
    let Some(found) = client.find(ask)? else {
        bail!("there is no route `{id}`\n  `weir routes list -q {id}` looks for it elsewhere");
    };
    println!("{}", serde_json::to_string_pretty(&found.json()?)?);
    Ok(())
}

pub(super) fn stats(client: &Client, json: bool) -> anyhow::Result<()> {
    let stats = client.ask(Ask::get("/stats?shape=true".into()))?.json()?;
    if json {
        println!("{stats}");
        return Ok(());
    }
    let mut rows = Vec::new();
    flatten("", &stats, &mut rows);
    print!("{}", show::table(&["WHAT", "COUNT"], &rows));
    let index = stats.get("index").unwrap_or(&Value::Null);
    let list = |key: &str| index.get(key).and_then(Value::as_array).into_iter().flatten();
    for crowded in list("crowded") {
        println!("\n{}", told_crowded(crowded));
    }
    for route in list("neverMatch") {
        let text = |key: &str| route.get(key).and_then(Value::as_str).unwrap_or_default();
        let why = match route.get("duplicate") == Some(&Value::Bool(true)) {
            true => "has the same predicates",
            false => "takes all its requests",
        };
        println!("route {} can never match: {} {why}", text("id"), text("by"));
    }
    Ok(())
}

/// The reason why routes are tried one after the other.
fn told_crowded(crowded: &Value) -> String {
    let strings = |key: &str| -> Vec<&str> {
        let list = crowded.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    let routes = crowded.get("routes").and_then(Value::as_u64).unwrap_or(0);
    let only = crowded.get("onlyBy").and_then(Value::as_array).into_iter().flatten();
    let only: Vec<&str> =
        only.filter_map(|one| one.get("predicate").and_then(Value::as_str)).collect();
    format!(
        "{routes} routes are tried one after the other ({}, …)\n  reached by {}\n  told apart only \
         by such as {}",
        strings("ids").join(", "),
        strings("way").join(", "),
        only.join("; "),
    )
}

fn flatten(prefix: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    if value.is_array() {
        return;
    }
    let Value::Object(fields) = value else {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        rows.push(vec![prefix.to_owned(), text]);
        return;
    };
    for (key, value) in fields {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        flatten(&name, value, rows);
    }
}

pub(super) fn export(client: &Client, args: &ExportArgs) -> anyhow::Result<()> {
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(BufWriter::new(
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?,
        )),
        None => Box::new(BufWriter::new(std::io::stdout().lock())),
    };
    let mut query = args.which.query();
    if !args.files {
        query.push_str("&from=store");
    }
    let mut count = 0_usize;
    match args.format {
        Format::Yaml => out.write_all(show::YAML_HEAD.as_bytes())?,
        Format::Json => out.write_all(b"[")?,
        Format::Jsonl => {}
    }
    each(client, &query, usize::MAX, |entry| {
        let Some(Value::Object(definition)) = entry.get("definition") else { return Ok(()) };
        write_definition(&mut out, args.format, definition, count == 0)?;
        count += 1;
        Ok(())
    })?;
    if args.format == Format::Json {
        out.write_all(b"\n]\n")?;
    }
    out.flush()?;
    eprintln!("{} exported", counted(count, "route"));
    Ok(())
}

fn write_definition(
    out: &mut dyn Write,
    format: Format,
    definition: &Map<String, Value>,
    is_first: bool,
) -> anyhow::Result<()> {
    match format {
        Format::Yaml => out.write_all(show::yaml_element(definition).as_bytes())?,
        Format::Json => {
            out.write_all(if is_first { b"\n" } else { b",\n" })?;
            serde_json::to_writer(out, definition)?;
        }
        Format::Jsonl => {
            serde_json::to_writer(&mut *out, definition)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Passes the matching entries to `visit`, page by page, and returns their total number.
fn each(
    client: &Client,
    query: &str,
    limit: usize,
    mut visit: impl FnMut(Value) -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    let size = limit.clamp(1, PAGE);
    let (mut seen, mut revision) = (0, None);
    for page in 0.. {
        let ask = Ask::get(format!("/routes?form=entry&page={page}&size={size}{query}"));
        let reply = client.ask(ask)?;
        let now = reply.number("etag");
        if revision.is_some_and(|before| before != now) {
            eprintln!("warning: routes were changed meanwhile; some may be missing or doubled");
        }
        revision = Some(now);
        let total = usize::try_from(reply.number("x-total-count")).unwrap_or(usize::MAX);
        let Value::Array(entries) = reply.json()? else { bail!("the gateway's answer is no list") };
        let is_last = entries.len() < size;
        for entry in entries {
            if seen == limit {
                return Ok(total);
            }
            seen += 1;
            visit(entry)?;
        }
        if is_last || seen >= limit || seen >= total {
            return Ok(total);
        }
    }
    Ok(seen)
}
