//! Sending a webhook: fire.

use anyhow::bail;
use clap::Args;
use http::Method;
use serde_json::{Map, Value};

use crate::routes::client::{Ask, Client, escaped};

#[derive(Debug, Args)]
pub(super) struct FireArgs {
    /// Which definition.
    name: String,
    /// Which of its webhooks.
    webhook: String,
    /// Where it goes; `weir.mock.callbacks.allow` must list the server.
    #[arg(long, value_name = "URL")]
    to: String,
    /// Example to send.
    #[arg(long, value_name = "NAME")]
    example: Option<String>,
    /// Generates a random, realistic body.
    #[arg(long)]
    dynamic: bool,
    /// Seed of random values.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// Sends a webhook; an error if nobody took it.
pub(super) fn fire(client: &Client, args: &FireArgs, as_json: bool) -> anyhow::Result<()> {
    let mut asked = Map::new();
    asked.insert("to".to_owned(), args.to.as_str().into());
    if let Some(example) = &args.example {
        asked.insert("example".to_owned(), example.as_str().into());
    }
    if args.dynamic {
        asked.insert("dynamic".to_owned(), true.into());
    }
    if let Some(seed) = args.seed {
        asked.insert("seed".to_owned(), seed.into());
    }
    let (name, webhook) = (escaped(&args.name), escaped(&args.webhook));
    let ask = Ask {
        method: Method::POST,
        target: format!("/weir/apis/{name}/webhooks/{webhook}"),
        media: Some("application/json"),
        body: serde_json::to_vec(&Value::Object(asked))?,
        condition: None,
    };
    let told = client.ask(ask)?.json()?;
    let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default();
    if as_json {
        println!("{told}");
    } else {
        println!("{} {}\n{}\n{}\n", text("method"), text("url"), text("why"), text("body"));
    }
    match (told.get("status"), text("error")) {
        (Some(_), _) if as_json => {}
        (Some(status), _) => println!("{status}\n{}", text("answer")),
        (None, why) => bail!("not delivered: {why}"),
    }
    Ok(())
}
