//! Writing many definitions: `weir apis import`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use http::Method;
use serde_json::{Value, json};
use weir_mock::is_access_log;

use super::change::{read, whole};
use crate::files::FILES;
use crate::output::counted;
use crate::routes::client::{Ask, Client};
use crate::routes::import::progress;

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Definitions, each called as its file; folders of them; exports (`.jsonl`);
    /// access logs of weir with bodies.
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
}

/// The maximum number of bytes written together: slightly less than the gateway accepts. More are
/// written in several swaps.
const BATCH_BYTES_MAX: usize = 240 * 1024 * 1024;

/// Definitions on their way to the gateway.
struct Shipment<'c> {
    client: &'c Client,
    bar: indicatif::ProgressBar,
    /// JSON lines.
    body: Vec<u8>,
    count: usize,
    created: u64,
    replaced: u64,
}

pub(super) fn run(client: &Client, args: &ImportArgs, as_json: bool) -> anyhow::Result<()> {
    let mut shipment = Shipment {
        client,
        bar: progress("definitions"),
        body: Vec::new(),
        count: 0,
        created: 0,
        replaced: 0,
    };
    let files = files(&args.files)?;
    let result = files.iter().try_for_each(|file| shipment.add_file(file));
    let result = result.and_then(|()| shipment.send());
    shipment.bar.finish_and_clear();
    let (created, replaced) = (shipment.created, shipment.replaced);
    if let Err(error) = result {
        if created + replaced > 0 {
            let count = counted(created + replaced, "definition");
            eprintln!("written before this: {count}; importing them again is safe");
        }
        return Err(error);
    }
    match as_json {
        true => println!("{}", json!({ "created": created, "replaced": replaced })),
        false => {
            let count = counted(created + replaced, "definition");
            println!("imported {count}: {created} new, {replaced} replaced");
        }
    }
    Ok(())
}

/// The files among what was named.
fn files(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let inside = FILES.definitions(path);
        let inside = inside.with_context(|| format!("cannot read {}", path.display()))?;
        if inside.is_empty() {
            bail!("there is no definition in {}: no .yaml, .yml, .json or .har", path.display());
        }
        files.extend(inside);
    }
    Ok(files)
}

impl Shipment<'_> {
    fn add_file(&mut self, file: &Path) -> anyhow::Result<()> {
        let text = read(file)?;
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if !matches!(ending, "jsonl" | "ndjson") || is_access_log(&text) {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            return self.add(&json!({ "name": name, "definition": whole(file, text)? }));
        }
        if text.trim().is_empty() {
            bail!(
                "{}: no definition; each line is one, as `weir apis export` writes it",
                file.display()
            );
        }
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let entry: Value = serde_json::from_str(line)
                .with_context(|| format!("{}:{}: not JSON", file.display(), at + 1))?;
            self.add(&entry)?;
        }
        Ok(())
    }

    fn add(&mut self, entry: &Value) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        if !self.body.is_empty() && self.body.len() + line.len() > BATCH_BYTES_MAX {
            self.send()?;
        }
        self.body.append(&mut line);
        self.count += 1;
        self.bar.inc(1);
        Ok(())
    }

    fn send(&mut self) -> anyhow::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.bar.set_message(format!("writing {}", self.count));
        self.bar.enable_steady_tick(std::time::Duration::from_millis(100));
        self.count = 0;
        let ask = Ask {
            method: Method::POST,
            target: "/weir/apis".into(),
            media: Some("application/x-ndjson"),
            body: std::mem::take(&mut self.body),
            condition: None,
        };
        let reply = self.client.ask(ask)?;
        self.created += reply.number("x-weir-created");
        self.replaced += reply.number("x-weir-replaced");
        self.bar.disable_steady_tick();
        self.bar.set_message("reading");
        Ok(())
    }
}
