//! Writing many routes: `weir routes import`.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use http::Method;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::client::{Ask, Client};
use super::source::{self, Format};
use crate::output::counted;

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format of the files; detected by default.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Routes written together.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    batch: usize,
}

/// The maximum number of bytes written together, whatever `--batch` says: a quarter of what the
/// gateway accepts.
const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Routes on their way to the gateway.
struct Shipment<'c> {
    client: &'c Client,
    bar: ProgressBar,
    /// JSON lines.
    body: Vec<u8>,
    routes: usize,
    batch: usize,
    created: u64,
    replaced: u64,
}

pub(super) fn run(client: &Client, args: &ImportArgs, json: bool) -> anyhow::Result<()> {
    let mut shipment = Shipment {
        client,
        bar: progress("routes"),
        body: Vec::new(),
        routes: 0,
        batch: args.batch.max(1),
        created: 0,
        replaced: 0,
    };
    let result = args.files.iter().try_for_each(|file| {
        let text = read(file)?;
        let format = args.format.unwrap_or_else(|| source::guess(file, &text));
        let name = file.display().to_string();
        source::each(&text, format, &name, |route| shipment.add(&route))
    });
    let result = result.and_then(|()| shipment.send());
    shipment.bar.finish_and_clear();
    let (created, replaced) = (shipment.created, shipment.replaced);
    if let Err(error) = result {
        if created + replaced > 0 {
            eprintln!(
                "{} routes were written before this; importing them again does no harm",
                created + replaced
            );
        }
        return Err(error);
    }
    match json {
        true => println!("{}", json!({ "created": created, "replaced": replaced })),
        false => {
            let count = counted(created + replaced, "route");
            println!("imported {count}: {created} new, {replaced} replaced");
        }
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    match file == Path::new("-") {
        true => std::io::stdin().lock().read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    }
    .with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text)
}

/// The progress bar while files are read and written.
pub(crate) fn progress(what: &str) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template(&format!(
        "{{spinner}} {{human_pos}} {what}, {{per_sec}}, {{msg}}"
    ));
    let bar = ProgressBar::with_draw_target(None, target);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

impl Shipment<'_> {
    fn add(&mut self, route: &Value) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.body, route)?;
        self.body.push(b'\n');
        self.routes += 1;
        self.bar.inc(1);
        if self.routes >= self.batch || self.body.len() >= BATCH_BYTES_MAX {
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> anyhow::Result<()> {
        if self.routes == 0 {
            return Ok(());
        }
        self.bar.set_message(format!("writing {}", self.routes));
        self.routes = 0;
        let ask = Ask {
            method: Method::POST,
            target: "/routes".into(),
            media: Some("application/x-ndjson"),
            body: std::mem::take(&mut self.body),
            condition: None,
        };
        let reply = self.client.ask(ask)?;
        self.created += reply.number("x-weir-created");
        self.replaced += reply.number("x-weir-replaced");
        self.bar.set_message("reading");
        Ok(())
    }
}
