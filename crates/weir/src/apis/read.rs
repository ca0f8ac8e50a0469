//! Showing definitions: list, show, export, try.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use http::Method;
use serde_json::{Value, json};

use crate::routes::client::{Ask, Client, escaped};
use crate::routes::show::table;

/// The page size of an export.
const EXPORT_PAGE: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct ListArgs {
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
pub(super) struct ShowArgs {
    /// Which definition.
    pub(super) name: String,
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Output file; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct TryArgs {
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

pub(super) fn list(client: &Client, args: &ListArgs, json: bool) -> anyhow::Result<()> {
    let mut target = "/weir/apis?".to_owned();
    if let Some(query) = &args.query {
        target.push_str(&format!("q={}&", escaped(query)));
    }
    if !args.all {
        target.push_str(&format!("page=0&size={}", args.limit.max(1)));
    }
    let reply = client.ask(Ask::get(target))?;
    let all = reply.json()?;
    if json {
        println!("{all}");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = all.as_array().into_iter().flatten().map(row).collect();
    print!("{}", table(&["NAME", "KIND", "OPERATIONS", "WHERE", "REVISION", "TITLE"], &rows));
    let total = reply.number("x-total-count");
    if total > rows.len() as u64 {
        eprintln!("{} of {total} definitions; more with --limit N or --all", rows.len());
    }
    Ok(())
}

pub(super) fn tenants(client: &Client, json: bool) -> anyhow::Result<()> {
    let all = client.ask(Ask::get("/weir/tenants".to_owned()))?.json()?;
    if json {
        println!("{all}");
        return Ok(());
    }
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    let rows = all.iter().map(|one| {
        let number = |key: &str| one.get(key).and_then(Value::as_u64).unwrap_or(0).to_string();
        let tenant = one.get("tenant").and_then(Value::as_str).unwrap_or_default();
        vec![tenant.to_owned(), number("definitions"), number("bytes"), number("not-served")]
    });
    print!(
        "{}",
        table(&["TENANT", "DEFINITIONS", "BYTES", "NOT SERVED"], &rows.collect::<Vec<_>>())
    );
    Ok(())
}

fn row(one: &Value) -> Vec<String> {
    let text = |key: &str| match one.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    let hosts = one.get("host").and_then(Value::as_array).into_iter().flatten();
    let hosts: Vec<&str> = hosts.filter_map(Value::as_str).collect();
    let title = match one.get("problems") {
        Some(_) => "not served; `weir apis show` tells why".to_owned(),
        None => format!("{} {}", text("title"), text("version")),
    };
    let place = format!("{}{}", hosts.join(","), text("base-path"));
    vec![text("name"), text("kind"), text("operations"), place, text("revision"), title]
}

pub(super) fn show(client: &Client, name: &str) -> anyhow::Result<()> {
    let Some(found) = client.find(Ask::get(format!("/weir/apis/{}", escaped(name))))? else {
        bail!("there is no definition `{name}`\n  `weir apis list` shows what there is");
    };
    println!("{}", serde_json::to_string_pretty(&found.json()?)?);
    Ok(())
}

pub(super) fn export(client: &Client, args: &ExportArgs) -> anyhow::Result<()> {
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => {
            let file = File::create(path);
            Box::new(file.with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => Box::new(std::io::stdout().lock()),
    };
    let mut out = BufWriter::new(&mut out);
    for page in 0.. {
        // Without a tenant, an export is a backup: nothing may be missing.
        let which = if client.has_tenant() { "" } else { "&tenant=*" };
        let target = format!("/weir/apis?form=entry&page={page}&size={EXPORT_PAGE}{which}");
        let all = client.ask(Ask::get(target))?.json()?;
        let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
        for entry in all {
            writeln!(out, "{entry}")?;
        }
        if all.len() < EXPORT_PAGE {
            break;
        }
    }
    out.flush()?;
    Ok(())
}

pub(super) fn try_out(client: &Client, args: &TryArgs, as_json: bool) -> anyhow::Result<()> {
    let mut headers = Vec::new();
    for field in &args.headers {
        let Some((name, value)) = field.split_once(':') else {
            bail!("`{field}` is no header field; write it as 'Name: value'");
        };
        headers.push(json!([name.trim(), value.trim()]));
    }
    let asked = json!({ "method": args.method.to_uppercase(), "target": args.target,
        "headers": headers, "body": args.data });
    let ask = Ask {
        method: Method::POST,
        target: format!("/weir/apis/{}/try", escaped(&args.name)),
        media: Some("application/json"),
        body: serde_json::to_vec(&asked)?,
        condition: None,
    };
    let Some(reply) = client.find(ask)? else {
        let name = &args.name;
        bail!("there is no definition `{name}`\n  `weir apis list` shows what there is");
    };
    let told = reply.json()?;
    if as_json {
        println!("{told}");
        return Ok(());
    }
    let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default();
    println!("{}\n{}", text("chosen"), text("why"));
    for near in told.get("didYouMean").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| near.get(key).and_then(Value::as_str).unwrap_or_default();
        println!("did you mean {} {}? {}", text("method"), text("path"), text("difference"));
    }
    println!("\n{}", told.get("status").unwrap_or(&Value::Null));
    for field in told.get("headers").and_then(Value::as_array).into_iter().flatten() {
        println!("{}: {}", field[0].as_str().unwrap_or(""), field[1].as_str().unwrap_or(""));
    }
    println!("\n{}", text("body"));
    for callback in told.get("callbacks").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| callback.get(key).and_then(Value::as_str).unwrap_or_default();
        match callback.get("notSent") {
            Some(_) => println!("\ncallback {}: not sent: {}", text("name"), text("notSent")),
            None => println!(
                "\ncallback {}: {} {} ({})\n{}",
                text("name"),
                text("method"),
                text("url"),
                text("why"),
                text("body")
            ),
        }
    }
    Ok(())
}
