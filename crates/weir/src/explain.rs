//! `weir explain`: the route that a request takes, the reasons, and the effects of its filters.

use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Context, bail};
use http::Method;
use weir_admin::{Explanation, Question, explain};
use weir_snapshot::Snapshot;

use crate::configuration::ConfigArgs;
use crate::routes::client::{Ask, Client};

/// Arguments of `weir explain`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir explain application.yml /orders/1
  weir explain application.yml -X POST -H 'Host: a.example' '/path?q=1'
  weir explain application.yml -X POST -d '{\"type\": \"gold\"}' /orders
  weir explain --admin http://127.0.0.1:9090 /orders/1

Exit code: 0 a route matches, 1 none does.")]
pub struct ExplainArgs {
    /// Configuration files, then the path with its query.
    #[arg(value_name = "CONFIG… PATH", required = true, num_args = 1..)]
    pub words: Vec<String>,
    /// Method.
    #[arg(short = 'X', long, value_name = "METHOD", default_value = "GET")]
    pub method: String,
    /// A header field, such as `Host: a.example`; may be repeated.
    #[arg(short = 'H', long = "header", value_name = "FIELD")]
    pub headers: Vec<String>,
    /// The body, for the predicate ReadBody.
    #[arg(short = 'd', long, value_name = "JSON")]
    pub body: Option<String>,
    /// Address of the client.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub peer: IpAddr,
    /// Asks a running gateway at this admin API instead of reading CONFIG.
    #[arg(long, value_name = "URL")]
    pub admin: Option<String>,
    /// `weir.admin.token` of that gateway.
    #[arg(long, value_name = "TOKEN", env = "WEIR_ADMIN_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Active profiles.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub profile: Vec<String>,
    /// Sets a property.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Explains.
///
/// # Errors
/// The configuration is refused, or the gateway cannot be asked.
pub fn run(args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let Some((target, configs)) = args.words.split_last() else { bail!("name a path") };
    if !target.starts_with('/') && target != "*" {
        bail!("`{target}` is no path: the last word is the path, such as /orders/1");
    }
    let question = Question {
        method: args.method.clone(),
        target: target.clone(),
        headers: args.headers.iter().map(|field| header(field)).collect::<Result<_, _>>()?,
        peer: Some(args.peer),
        body: args.body.clone(),
        dice: 0,
    };
    let told = match &args.admin {
        Some(url) => ask(url, args.token.clone(), &question)?,
        None => {
            let config = ConfigArgs {
                configs: configs.iter().map(Into::into).collect(),
                profile: args.profile.clone(),
                set: args.set.clone(),
                ..ConfigArgs::default()
            };
            explain(&snapshot(&config)?, &question)
        }
    };
    if args.json {
        println!("{:#}", serde_json::to_value(&told)?);
    } else {
        print!("{told}");
    }
    Ok(if told.winner.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn header(field: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = field
        .split_once(':')
        .with_context(|| format!("`{field}` is no header field; write it as 'Name: value'"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The snapshot that `weir run` would serve by; routes of the store aside.
fn snapshot(config: &ConfigArgs) -> anyhow::Result<Snapshot> {
    let mut loaded = config.load()?;
    crate::imports::tell_unread(&loaded.unread);
    let compiled = loaded.compile();
    if loaded.is_refused() {
        bail!("the configuration is refused; `weir check` tells why");
    }
    Ok(loaded.compiler.snapshot(compiled.routes))
}

fn ask(url: &str, token: Option<String>, question: &Question) -> anyhow::Result<Explanation> {
    let client = Client::new(url, token)?;
    let body = serde_json::to_vec(question)?;
    let ask = Ask {
        method: Method::POST,
        target: "/explain".to_owned(),
        media: Some("application/json"),
        body,
        ..Ask::default()
    };
    let reply = client.ask(ask)?;
    Ok(serde_json::from_value(reply.json()?)?)
}
