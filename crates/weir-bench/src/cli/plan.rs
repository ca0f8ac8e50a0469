//! `weir bench plan FILE`: runs a plan in YAML.

use super::output::OutputArgs;
use super::single::reach;
use crate::conduct::conduct;
use crate::plan_file::{PlanFile, SCHEMA};
use crate::report;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// Arguments of `plan`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct PlanArgs {
    /// Plan in YAML
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Use this base URL instead of the plan's
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Print the JSON Schema of plans
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs it.
pub(super) fn run(args: &PlanArgs) -> anyhow::Result<u8> {
    let Some(path) = args.file.as_deref().filter(|_| !args.schema) else {
        super::say(SCHEMA);
        return Ok(super::OK);
    };
    let name = || path.display().to_string();
    let mut file = PlanFile::read(path)?;
    if let Some(target) = &args.target {
        file.target.clone_from(target);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let (mut plan, mut thresholds) = file.compile(folder).with_context(name)?;
    thresholds.extend(args.output.threshold.iter().cloned());
    args.output.check()?;
    reach(&mut plan)?;
    let outcome = conduct(&plan, &file.target, &thresholds, args.output.show())?;
    if !args.output.on_stdout() {
        super::say(&report::text::render(&outcome));
    }
    args.output.write(&outcome)?;
    Ok(super::exit_code(&outcome))
}
