//! `weir limits`: the limits of a running gateway, through its admin API.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Map, Value, json};

use crate::admin::AdminArgs;
use crate::routes::client::{Ask, Client, escaped};
use crate::routes::show::table;

/// Arguments of `weir limits`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir limits list
  weir limits show orders
  weir limits set orders --rate 50/s
  weir limits pause orders
  weir limits flush orders

`set` holds until the next reload or restart, which set what the configuration says.
`pause` holds until `resume` or a restart: a reload does not end it. `flush` is done once.
Exit code: 0 done, 1 not done; the message says why and what to do.")]
pub struct LimitsArgs {
    #[command(flatten)]
    pub admin: AdminArgs,
    #[command(subcommand)]
    command: LimitsCommand,
}

#[derive(Debug, Subcommand)]
enum LimitsCommand {
    /// Lists limits with waiting and admitted requests.
    List,
    /// Shows everything of a limit.
    Show {
        /// Name; a limit that a route brings is `route:ID`.
        name: String,
    },
    /// Changes a limit; waiting requests continue at the new rate.
    Set(Box<SetArgs>),
    /// Holds all requests until `resume`.
    Pause {
        /// Name.
        name: String,
    },
    /// Lets requests pass again.
    Resume {
        /// Name.
        name: String,
    },
    /// Refuses all waiting requests.
    Flush {
        /// Name.
        name: String,
    },
}

#[derive(Debug, Args)]
struct SetArgs {
    /// Name.
    name: String,
    /// Rate, such as `50/s`, `30/min`, `0.5/h`.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, required_unless_present_any = ["concurrency", "bandwidth", "stream_bandwidth", "burst", "warm_up", "queue", "queue_bytes", "max_wait", "enforce"])]
    rate: Option<String>,
    /// Requests in service at a time, or `adaptive`.
    #[arg(long, value_name = "N|adaptive", allow_hyphen_values = true)]
    concurrency: Option<String>,
    /// Bytes a second of all bodies of a key, such as `10MB/s`.
    #[arg(long, value_name = "SIZE/s", allow_hyphen_values = true)]
    bandwidth: Option<String>,
    /// Bytes a second of each body, such as `1MB/s`.
    #[arg(long, value_name = "SIZE/s", allow_hyphen_values = true)]
    stream_bandwidth: Option<String>,
    /// Requests that pass at once after an idle time.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    burst: Option<u64>,
    /// Time from an idle limit to its full rate.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    warm_up: Option<String>,
    /// Most waiting requests.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    queue: Option<u64>,
    /// Most bytes that waiting requests hold, such as `64MB`.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    queue_bytes: Option<String>,
    /// Requests that would wait longer are refused.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    max_wait: Option<String>,
    /// `false` lets all requests pass and counts what the limit would do.
    #[arg(long, value_name = "true|false")]
    enforce: Option<bool>,
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what to do about it.
pub fn run(args: LimitsArgs) -> anyhow::Result<ExitCode> {
    let client = args.admin.client()?;
    let answer = match &args.command {
        LimitsCommand::List => client.ask(Ask::get("/limits".to_owned()))?.json()?,
        LimitsCommand::Show { name } => send(&client, name, None)?,
        LimitsCommand::Set(set) => send(&client, &set.name, Some(set.body()))?,
        LimitsCommand::Pause { name } => send(&client, name, Some(json!({ "paused": true })))?,
        LimitsCommand::Resume { name } => send(&client, name, Some(json!({ "paused": false })))?,
        LimitsCommand::Flush { name } => send(&client, name, Some(json!({ "flush": true })))?,
    };
    match (args.admin.json, answer["limits"].as_array()) {
        (true, _) => println!("{answer}"),
        (false, Some(limits)) => print!("{}", listed(limits)),
        (false, None) => println!("{answer:#}"),
    }
    Ok(ExitCode::SUCCESS)
}

impl SetArgs {
    fn body(&self) -> Value {
        let mut body = Map::new();
        let mut add = |name: &str, value: Option<Value>| {
            body.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("rate", self.rate.as_ref().map(|rate| json!(rate)));
        add("concurrency", self.concurrency.as_ref().map(|count| json!(count)));
        add("bandwidth", self.bandwidth.as_ref().map(|bytes| json!(bytes)));
        add("stream-bandwidth", self.stream_bandwidth.as_ref().map(|bytes| json!(bytes)));
        add("burst", self.burst.map(|count| json!(count)));
        add("warm-up", self.warm_up.as_ref().map(|time| json!(time)));
        add("queue", self.queue.map(|count| json!(count)));
        add("queue-bytes", self.queue_bytes.as_ref().map(|bytes| json!(bytes)));
        add("max-wait", self.max_wait.as_ref().map(|wait| json!(wait)));
        add("enforce", self.enforce.map(|enforce| json!(enforce)));
        Value::Object(body)
    }
}

fn send(client: &Client, name: &str, body: Option<Value>) -> anyhow::Result<Value> {
    let mut ask = Ask::get(format!("/limits/{}", escaped(name)));
    if let Some(body) = body {
        ask.method = Method::POST;
        ask.media = Some("application/json");
        ask.body = body.to_string().into_bytes();
    }
    let Some(reply) = client.find(ask)? else {
        bail!("there is no limit `{name}` in force\n  `weir limits list` shows those there are");
    };
    reply.json()
}

fn listed(limits: &[Value]) -> String {
    if limits.is_empty() {
        return "no route has a limit; add the filter Throttle=500/s to one\n".to_owned();
    }
    let text = |one: &Value, key: &str| match &one[key] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let row = |one: &Value| {
        let rate = match one["paused"] == true {
            true => format!("{} (paused)", text(one, "rate")),
            false => text(one, "rate"),
        };
        let mut row = vec![text(one, "name"), rate, text(one, "concurrencyNow")];
        for key in ["depth", "admitted", "waited", "refused", "cancelled"] {
            row.push(text(one, key));
        }
        row
    };
    let rows: Vec<Vec<String>> = limits.iter().map(row).collect();
    let heads = ["LIMIT", "RATE", "AT A TIME", "WAITING", "PASSED", "WAITED", "REFUSED", "LEFT"];
    table(&heads, &rows)
}
