//! The destinations of results: files and standard output.

use crate::conduct::Show;
use crate::outcome::Outcome;
use crate::report;
use crate::verdict::Threshold;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

/// Where results go.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct OutputArgs {
    /// Condition such as p99<50ms, rate>1000, errors<1%; may be repeated
    #[arg(long, value_name = "CONDITION", value_parser = Threshold::parse)]
    pub(super) threshold: Vec<Threshold>,
    /// Write the result as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = result_file)]
    pub(super) json: Option<PathBuf>,
    /// Write the report as one HTML page ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = result_file)]
    pub(super) html: Option<PathBuf>,
    /// Write the per-second table as CSV ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = result_file)]
    pub(super) csv: Option<PathBuf>,
    /// Write HDR interval logs ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = result_file)]
    pub(super) hlog: Option<PathBuf>,
    /// Show nothing while it runs
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
}

impl OutputArgs {
    fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.json, &self.html, &self.csv, &self.hlog].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Checks that every file can be written, so that a long run does not fail at its end.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.files().filter(|path| is_stdout(path)).count() > 1 {
            bail!("one result at most can go to standard output: name a file for the others");
        }
        self.files().try_for_each(|path| Self::check_file(Some(path)))
    }

    /// Whether a result goes to standard output, so that nothing else may be printed there.
    pub(super) fn on_stdout(&self) -> bool {
        self.files().any(is_stdout)
    }

    /// Checks that one result can be written.
    pub(super) fn check_file(path: Option<&Path>) -> anyhow::Result<()> {
        let Some(path) = path.filter(|path| !is_stdout(path)) else { return Ok(()) };
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
        opened.map(drop).with_context(|| path.display().to_string())
    }

    /// Whether the JSON goes to standard output, so that nothing else may be printed there.
    pub(super) fn json_on_stdout(path: Option<&Path>) -> bool {
        path.is_some_and(is_stdout)
    }

    /// Writes `outcome` to every requested destination.
    pub(super) fn write(&self, outcome: &Outcome) -> anyhow::Result<()> {
        Self::write_json(self.json.as_deref(), outcome)?;
        if let Some(path) = &self.html {
            let outcomes = vec![outcome.clone()];
            let stored = report::Stored { outcomes, ..Default::default() };
            put(path, &report::html::render(&stored)?)?;
        }
        if let Some(path) = &self.csv {
            put(path, &report::csv::render(outcome))?;
        }
        if let Some(path) = &self.hlog {
            put(path, &report::hlog::render(outcome)?)?;
        }
        Ok(())
    }

    /// Writes any result as JSON to a file, or to standard output for `-`.
    pub(super) fn write_json(
        path: Option<&Path>,
        value: &impl serde::Serialize,
    ) -> anyhow::Result<()> {
        let Some(path) = path else { return Ok(()) };
        put(path, &(serde_json::to_string_pretty(value)? + "\n"))
    }

    /// The display during the run.
    pub(super) fn show(&self) -> Show {
        if self.quiet { Show::Nothing } else { Show::Screen }
    }
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a result to a file, or to standard output for `-`.
fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    if is_stdout(path) {
        say(text);
        return Ok(());
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

/// A file for a result. A URL here is an error: it was meant as the target.
///
/// # Errors
/// It is a URL.
pub(crate) fn result_file(text: &str) -> Result<PathBuf, String> {
    if text.contains("://") {
        return Err("a URL is no file; `-` is standard output".to_owned());
    }
    Ok(text.into())
}

/// Writes to standard output; a reader that has gone away is no failure.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    std::io::stdout().write_all(text.as_bytes()).ok();
}
