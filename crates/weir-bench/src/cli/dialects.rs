//! `weir bench ab | wrk | wrk2 | hey`.

use super::output::OutputArgs;
use crate::conduct::{Show, conduct};
use crate::dialect::KeepArgs;
use crate::dialect::ab::{self, AbArgs};
use crate::dialect::hey::{self, HeyArgs};
use crate::dialect::wrk::{Wrk2Args, WrkArgs};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::report;
use crate::target::Target;
use anyhow::Context;
use std::ffi::OsString;

/// hey's arguments as written, since its long options have one dash.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RawArgs {
    /// hey's own arguments (see `weir bench hey -- --help`)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

#[derive(clap::Parser)]
#[command(name = "weir bench hey")]
struct HeyCommand {
    #[command(flatten)]
    args: HeyArgs,
}

fn go(
    (mut plan, target): (Plan, Target),
    show: Show,
    keep: &KeepArgs,
    render: impl Fn(&Outcome, &Target) -> String,
) -> anyhow::Result<Outcome> {
    let (json, html) = (keep.json.clone(), keep.html.clone());
    let output = OutputArgs { json, html, ..OutputArgs::default() };
    output.check()?;
    super::single::reach(&mut plan)?;
    let outcome = conduct(&plan, &target.url(), &[], show)?;
    if !output.on_stdout() {
        super::say(&format!("{}\n{}", render(&outcome, &target), report::text::verdict(&outcome)));
    }
    output.write(&outcome)?;
    Ok(outcome)
}

pub(super) fn ab(args: &AbArgs) -> anyhow::Result<u8> {
    let show = if args.quiet { Show::Nothing } else { Show::Lines };
    let csv = args.csv.as_ref().map(std::path::Path::new);
    OutputArgs::check_file(csv)?;
    let outcome = go(args.plan()?, show, &args.keep, |outcome, on| args.render(outcome, on))?;
    if let Some(path) = csv {
        let written = std::fs::write(path, ab::percentages_csv(&outcome));
        written.with_context(|| path.display().to_string())?;
    }
    Ok(super::exit_code(&outcome))
}

pub(super) fn wrk(args: &WrkArgs) -> anyhow::Result<u8> {
    go(args.plan()?, Show::Nothing, &args.keep, |outcome, on| args.render(outcome, on))
        .map(|outcome| super::exit_code(&outcome))
}

pub(super) fn wrk2(args: &Wrk2Args) -> anyhow::Result<u8> {
    go(args.plan()?, Show::Nothing, &args.wrk.keep, |outcome, on| args.render(outcome, on))
        .map(|outcome| super::exit_code(&outcome))
}

pub(super) fn hey(raw: &RawArgs) -> anyhow::Result<u8> {
    let given = std::iter::once(OsString::from("weir bench hey")).chain(raw.args.iter().cloned());
    let args = <HeyCommand as clap::Parser>::try_parse_from(hey::normalise(given));
    let args = match args {
        Ok(command) => command.args,
        Err(error) => {
            error.print()?;
            return Ok(error.exit_code() as u8);
        }
    };
    go(args.plan()?, Show::Nothing, &args.keep, |outcome, _| args.render(outcome))
        .map(|outcome| super::exit_code(&outcome))
}
