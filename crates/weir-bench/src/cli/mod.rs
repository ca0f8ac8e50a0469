//! `weir bench`: its arguments, and what each subcommand does with them.
//!
//! The binary embeds [`Args`] and calls [`run`]; the number it gives is the exit code.

mod compare;
mod dialects;
mod exit;
mod import;
mod jmh;
mod output;
mod plan;
mod report;
mod seek;
mod single;
mod sweep;

pub(crate) use exit::exit_code;
pub use exit::{FAILED, INCONCLUSIVE, INTERRUPTED, OK, THRESHOLD};
pub(crate) use output::{result_file, say};

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

/// Runs `weir bench` and returns its exit code.
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
