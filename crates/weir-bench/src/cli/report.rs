//! `weir bench report FILE…`: an HTML page from stored results.

use crate::report;
use anyhow::Context;
use std::path::PathBuf;

/// Arguments of `report`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Stored results: --json of a run or of any other command, or an earlier page
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where the page goes
    #[arg(short, long, default_value = "report.html")]
    output: PathBuf,
}

/// Writes the page.
pub(super) fn run(args: &ReportArgs) -> anyhow::Result<u8> {
    let mut all = report::Stored::default();
    for path in &args.files {
        let name = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(name)?;
        let stored = report::read(&text).with_context(name)?;
        all.outcomes.extend(stored.outcomes);
        all.points.extend(stored.points);
        all.tables.extend(stored.tables);
        if all.title.is_empty() {
            (all.title, all.about) = (stored.title, stored.about);
        }
    }
    if args.files.len() > 1 {
        let response = |outcome: &crate::outcome::Outcome| {
            let response = &outcome.response;
            (outcome.rate, response.quantile(0.5), response.quantile(0.99))
        };
        all.points = all.outcomes.iter().map(response).collect();
    }
    all.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let page = report::html::render(&all)?;
    std::fs::write(&args.output, page).with_context(|| args.output.display().to_string())?;
    super::say(&format!("{}\n", args.output.display()));
    Ok(super::OK)
}
