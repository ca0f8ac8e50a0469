//! Recording live traffic into a definition: `weir apis record`.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use clap::{ArgGroup, Args, Subcommand};
use http::{Method, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::output::counted;
use crate::routes::client::{Ask, Client, Reply, escaped};
use crate::routes::show::table;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir apis record start shop --route shop --path '/v1/**'
  weir apis record status
  weir apis record stop shop --dry-run
  weir apis record stop shop
  weir apis record cancel shop

What upstreams answer is recorded, as they saw the request. Passwords, tokens and the like are left
out; personal data is not: look at the definition before you share it.")]
pub(super) struct RecordArgs {
    #[command(subcommand)]
    command: RecordCommand,
}

#[derive(Debug, Subcommand)]
enum RecordCommand {
    /// Starts a recording.
    Start(StartArgs),
    /// Shows what recordings have so far.
    Status(StatusArgs),
    /// Ends a recording and stores what it has as a definition.
    Stop(StopArgs),
    /// Ends a recording and forgets it.
    Cancel(CancelArgs),
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("scope").args(["route", "path"]).required(true).multiple(true)))]
struct StartArgs {
    /// Name of the definition that comes of it.
    name: String,
    /// A route by its id; may be repeated.
    #[arg(long, value_name = "ID")]
    route: Vec<String>,
    /// A pattern of the paths that clients ask for; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    path: Vec<String>,
    /// Different exchanges at most [default: 1000].
    #[arg(long, value_name = "N")]
    max_exchanges: Option<u64>,
    /// Longest body that becomes an example [default: 64KB].
    #[arg(long, value_name = "SIZE")]
    max_body: Option<String>,
    /// Time after which it keeps no more [default: 1h].
    #[arg(long = "for", value_name = "TIME")]
    runs: Option<String>,
}

#[derive(Debug, Args)]
struct StatusArgs {
    /// Which recording; all by default.
    name: Option<String>,
}

#[derive(Debug, Args)]
struct StopArgs {
    /// Which recording.
    name: String,
    /// Prints the definition, stores nothing, and lets the recording go on.
    #[arg(long)]
    dry_run: bool,
    /// Writes the definition to a file instead of the store.
    #[arg(short, long, value_name = "FILE", conflicts_with = "dry_run")]
    output: Option<PathBuf>,
    /// Overwrites a definition of this name.
    #[arg(long, conflicts_with_all = ["dry_run", "output"])]
    replace: bool,
}

#[derive(Debug, Args)]
struct CancelArgs {
    /// Which recording.
    name: String,
}

pub(super) fn run(client: &Client, args: &RecordArgs, json: bool) -> anyhow::Result<()> {
    match &args.command {
        RecordCommand::Start(start) => self::start(client, start, json),
        RecordCommand::Status(status) => self::status(client, status, json),
        RecordCommand::Stop(stop) => self::stop(client, stop, json),
        RecordCommand::Cancel(cancel) => self::cancel(client, &cancel.name, json),
    }
}

fn start(client: &Client, args: &StartArgs, json: bool) -> anyhow::Result<()> {
    let mut body = Map::new();
    for (key, texts) in [("routes", &args.route), ("paths", &args.path)] {
        if !texts.is_empty() {
            body.insert(key.to_owned(), texts.clone().into());
        }
    }
    if let Some(most) = args.max_exchanges {
        body.insert("max-exchanges".to_owned(), most.into());
    }
    for (key, text) in [("max-body", &args.max_body), ("for", &args.runs)] {
        if let Some(text) = text {
            body.insert(key.to_owned(), text.as_str().into());
        }
    }
    let ask = Ask {
        method: Method::PUT,
        target: target(&args.name, ""),
        media: Some("application/json"),
        body: serde_json::to_vec(&body)?,
        condition: None,
    };
    let reply = done(client, ask, &args.name)?.json()?;
    let name = &args.name;
    match json {
        true => println!("{reply}"),
        false => {
            println!("recording {name}; `weir apis record stop {name}` makes a definition of it")
        }
    }
    Ok(())
}

fn status(client: &Client, args: &StatusArgs, json: bool) -> anyhow::Result<()> {
    let all = match &args.name {
        Some(name) => done(client, Ask::get(target(name, "")), name)?.json()?,
        None => client.ask(Ask::get("/weir/recordings".to_owned()))?.json()?,
    };
    if json {
        println!("{all}");
        return Ok(());
    }
    let list = all.as_array().cloned().unwrap_or_else(|| vec![all]);
    if list.is_empty() {
        println!("nothing is recorded; `weir apis record start` begins a recording");
        return Ok(());
    }
    let text = |one: &Value, key: &str| match one.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let of = |one: &Value| {
        let lists = ["routes", "paths"].into_iter().filter_map(|key| one.get(key)?.as_array());
        let names = lists.flatten().filter_map(Value::as_str);
        names.collect::<Vec<_>>().join(" ")
    };
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|one| {
            let [name, exchanges, seen, state] =
                ["name", "exchanges", "seen", "state"].map(|key| text(one, key));
            vec![name, exchanges, seen, of(one), state]
        })
        .collect();
    print!("{}", table(&["NAME", "EXCHANGES", "SEEN", "OF", "STATE"], &rows));
    Ok(())
}

fn stop(client: &Client, args: &StopArgs, json: bool) -> anyhow::Result<()> {
    let name = &args.name;
    if args.dry_run || args.output.is_some() {
        let made = done(client, Ask::get(target(name, "/definition")), name)?.json()?;
        let document = made.get("definition").unwrap_or(&Value::Null);
        let text = serde_json::to_string_pretty(document)?;
        let Some(file) = &args.output else {
            println!("{text}");
            return Ok(());
        };
        // The recording is ended once the file is there.
        let written = File::create(file).and_then(|mut out| out.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", file.display()))?;
        let ask = Ask { method: Method::DELETE, target: target(name, ""), ..Ask::default() };
        done(client, ask, name)?;
        let place = format!("wrote {}", file.display());
        say(json, &place, &json!({ "written": file }), &made);
        return Ok(());
    }
    let ask = Ask {
        method: Method::POST,
        target: target(name, "/stop"),
        condition: (!args.replace).then(|| (header::IF_NONE_MATCH, "*".to_owned())),
        ..Ask::default()
    };
    let made = done(client, ask, name)?.json()?;
    let revision = made.get("revision").and_then(Value::as_u64).unwrap_or_default();
    let stored = json!({ "stored": name, "revision": revision });
    say(json, &format!("stored {name}, revision {revision}"), &stored, &made);
    if !json {
        println!("a route with the uri `mock://store/{name}` answers from it");
    }
    Ok(())
}

fn cancel(client: &Client, name: &str, json: bool) -> anyhow::Result<()> {
    let ask = Ask { method: Method::DELETE, target: target(name, ""), ..Ask::default() };
    done(client, ask, name)?;
    match json {
        true => println!("{}", json!({ "cancelled": name })),
        false => println!("cancelled {name}"),
    }
    Ok(())
}

/// Tells what came of a recording.
fn say(as_json: bool, what: &str, members: &Value, made: &Value) {
    let count = |key: &str| made.get(key).and_then(Value::as_u64).unwrap_or_default();
    let (operations, examples, secrets) =
        (count("operations"), count("examples"), count("secrets"));
    if as_json {
        let mut all = members.clone();
        for (key, count) in
            [("operations", operations), ("examples", examples), ("secrets", secrets)]
        {
            all[key] = count.into();
        }
        println!("{all}");
        return;
    }
    let (operations, examples) = (counted(operations, "operation"), counted(examples, "example"));
    println!("{what}: {operations}, {examples}, {} left out", counted(secrets, "secret"));
}

/// Asks about one recording.
fn done(client: &Client, ask: Ask, name: &str) -> anyhow::Result<Reply> {
    let (status, reply) = client.send(ask)?;
    let told = || reply.json().ok()?.get("message")?.as_str().map(str::to_owned);
    match status {
        StatusCode::NOT_FOUND if told().is_some() => {
            bail!("there is no recording `{name}`\n  `weir apis record status` shows what there is")
        }
        StatusCode::CONFLICT => {
            let why = told().unwrap_or_default();
            Err(anyhow!("{why}\n  `weir apis record status` shows what there is"))
        }
        StatusCode::PRECONDITION_FAILED => bail!(
            "there is a definition `{name}` already, and the recording goes on\n  \
             `weir apis record stop {name} --replace` overwrites it, --output FILE writes a file"
        ),
        _ => client.done(status, &reply).map(|()| reply),
    }
}

fn target(name: &str, below: &str) -> String {
    format!("/weir/recordings/{}{below}", escaped(name))
}
