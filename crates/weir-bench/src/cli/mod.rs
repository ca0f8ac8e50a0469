//! `weir bench`: its arguments, and what each subcommand does with them.
//!
//! The binary embeds [`Args`] and calls [`run`]; the number it gives is the exit code.

mod compare;
mod dialects;
mod import;
mod jmh;
mod plan;
mod report;
mod seek;
mod single;
mod sweep;

use std::path::PathBuf;

use crate::outcome::Outcome;

/// Every threshold met, or none given.
pub const OK: u8 = 0;
/// Wrong usage, or the server could not be reached at all.
pub const FAILED: u8 = 1;
/// A threshold was not met.
pub const THRESHOLD: u8 = 3;
/// A threshold could not be judged: the generator or its host was the limit.
pub const INCONCLUSIVE: u8 = 4;
/// Ended by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Arguments of `weir bench`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    single: single::SingleArgs,
}

const EXIT_CODES: &str = "Exit codes: 0 done, thresholds met; 1 failed, no request succeeded; \
                          2 arguments not understood; 3 a threshold failed; 4 inconclusive (generator or host limited); \
                          130 interrupted";

/// Subcommands of `weir bench`.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Load as ApacheBench does, with its arguments and its report
    Ab(crate::dialect::ab::AbArgs),
    /// Load as wrk does, with its arguments and its report
    Wrk(crate::dialect::wrk::WrkArgs),
    /// Load as wrk2 does, with its arguments and its report
    Wrk2(crate::dialect::wrk::Wrk2Args),
    /// Load as hey does, with its arguments and its report
    Hey(dialects::RawArgs),
    /// Find the highest rate that is sustained under conditions
    Seek(seek::SeekArgs),
    /// Run a grid of connections, rates and endpoints in random order
    Sweep(sweep::SweepArgs),
    /// Compare two servers or stored results, or find changes in a history
    Compare(compare::CompareArgs),
    /// Measure with JMH's modes, forks and iterations, and print its table
    Jmh(jmh::JmhArgs),
    /// Run a plan in YAML
    Plan(plan::PlanArgs),
    /// Turn requests of another tool into a plan
    Import(import::ImportArgs),
    /// Make an HTML page from stored results
    Report(report::ReportArgs),
}

/// Runs `weir bench` and gives its exit code.
pub fn run(args: Args) -> u8 {
    let result = match args.command {
        None => single::run(&args.single),
        Some(Command::Ab(args)) => dialects::ab(&args),
        Some(Command::Wrk(args)) => dialects::wrk(&args),
        Some(Command::Wrk2(args)) => dialects::wrk2(&args),
        Some(Command::Hey(args)) => dialects::hey(&args),
        Some(Command::Seek(args)) => seek::run(&args),
        Some(Command::Sweep(args)) => sweep::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Jmh(args)) => jmh::run(&args),
        Some(Command::Plan(args)) => plan::run(&args),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Report(args)) => report::run(&args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("weir bench: {error:#}");
        FAILED
    })
}

/// The exit code of one run.
pub(crate) fn exit_code(outcome: &Outcome) -> u8 {
    let judged = |wanted: Option<bool>| outcome.thresholds.iter().any(|t| t.met == wanted);
    if outcome.interrupted {
        INTERRUPTED
    } else if judged(None) {
        INCONCLUSIVE
    } else if judged(Some(false)) {
        THRESHOLD
    } else if outcome.ok == 0 {
        FAILED
    } else {
        OK
    }
}

/// A file for a result. A URL behind an option that wants a file was meant to be loaded.
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
fn say(text: &str) {
    use std::io::Write;
    std::io::stdout().write_all(text.as_bytes()).ok();
}
