//! `cargo xtask soak`: every scenario of `weir-faults` in its long form, round after round.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::json;
use weir_faults::{SCENARIOS, Scenario, Size, Tally, Weir};
use weir_peers::interrupt::Interrupt;
use weir_peers::machine::Machine;
use weir_peers::program;
use weir_testkit::tree::root;

/// A run requested to take at least this long is recorded.
const RECORDED_MINUTES_MIN: f64 = 10.0;

/// Arguments of `cargo xtask soak`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The scenarios take turns until the time is over; one that has begun is played to its end. The result
goes to bench/runs/<date>-<machine>/soak.md if nothing is left out (--only) and --minutes is 10 or
more.
Exit code: 0 nothing failed, 1 something did. Ctrl-C ends the run; what was counted until then is
printed and written.")]
pub struct SoakArgs {
    /// How long to go on
    #[arg(long, value_name = "N", default_value_t = RECORDED_MINUTES_MIN)]
    minutes: f64,
    /// Play only this scenario; may be given more than once
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// A weir that is built, instead of building it
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The results of a scenario over all its runs.
struct Row {
    scenario: &'static Scenario,
    runs: u32,
    took: Duration,
    tally: Tally,
}

/// Soaks.
///
/// # Errors
/// An unknown scenario, or weir does not build.
pub fn run(args: &SoakArgs) -> anyhow::Result<ExitCode> {
    ensure!(args.minutes > 0.0, "--minutes has to be above 0");
    let mut rows = rows(&args.only)?;
    let weir = Weir::new(program::weir(args.weir.as_deref())?);
    let interrupt = Interrupt::listen()?;
    let machine = Machine::here();
    let began = Instant::now();
    let until = began + Duration::from_secs_f64(args.minutes * 60.0);
    let whole = soak(&mut rows, &weir, &interrupt, until);
    let took = began.elapsed();
    let text = report(&rows, &machine, took, whole);
    match args.json {
        true => println!("{:#}", json(&rows, &machine, took, whole)),
        false => println!("{text}"),
    }
    // A shorter run must not replace a more informative one.
    if args.only.is_empty() && args.minutes >= RECORDED_MINUTES_MIN {
        let folder = root().join("bench/runs").join(machine.folder());
        std::fs::create_dir_all(&folder).context("the folder of the result")?;
        let path = folder.join("soak.md");
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        eprintln!("written to {}", weir_testkit::tree::shown(&path));
    }
    let failed = rows.iter().any(|row| row.tally.failures > 0);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn rows(only: &[String]) -> anyhow::Result<Vec<Row>> {
    if let Some(unknown) = only.iter().find(|name| Scenario::named(name).is_none()) {
        let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        bail!("there is no scenario `{unknown}`; there are {}", names.join(", "));
    }
    let wanted = |scenario: &&Scenario| only.is_empty() || only.iter().any(|n| n == scenario.name);
    let row = |scenario| Row { scenario, runs: 0, took: Duration::ZERO, tally: Tally::default() };
    Ok(SCENARIOS.iter().filter(wanted).map(row).collect())
}

/// Plays round after round until the time is over; `false` if interrupted.
fn soak(rows: &mut [Row], weir: &Weir, interrupt: &Interrupt, until: Instant) -> bool {
    for round in 1.. {
        for row in &mut *rows {
            if Instant::now() >= until {
                return true;
            }
            let since = Instant::now();
            let stop = || interrupt.check().is_err();
            let Some(tally) = row.scenario.play(weir, Size::Long, stop) else { return false };
            let took = since.elapsed();
            eprintln!(
                "round {round}: {:<18} {:>8} requests {:>4} failures {:>6.1} s",
                row.scenario.name,
                tally.requests,
                tally.failures,
                took.as_secs_f64()
            );
            for told in &tally.told {
                eprintln!("  {}", told.chars().take(300).collect::<String>());
            }
            row.runs += 1;
            row.took += took;
            row.tally.add(tally);
        }
    }
    true
}

fn report(rows: &[Row], machine: &Machine, took: Duration, whole: bool) -> String {
    let date = machine.began.get(..10).unwrap_or_default();
    let mut out = format!("# Failures provoked over and over, {date}\n\n");
    let _ = writeln!(out, "`cargo xtask soak`: {}.", machine.lines().join(";\n"));
    let ended = if whole { "" } else { ", then interrupted" };
    let _ = writeln!(out, "Went on for {:.0} minutes{ended}.\n", took.as_secs_f64() / 60.0);
    out += "| scenario | runs | seconds | requests | failures | worst |\n";
    out += "| --- | --- | --- | --- | --- | --- |\n";
    for row in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {:.0} | {} | {} | {} |",
            row.scenario.name,
            row.runs,
            row.took.as_secs_f64(),
            row.tally.requests,
            row.tally.failures,
            worst(&row.tally)
        );
    }
    out.push('\n');
    for row in rows {
        let _ = writeln!(out, "- {}: {}.", row.scenario.name, row.scenario.about);
        for told in &row.tally.told {
            let _ = writeln!(out, "  - failed: {}", told.chars().take(300).collect::<String>());
        }
    }
    out
}

/// The worst values of a scenario, or why it was not played.
fn worst(tally: &Tally) -> String {
    let measures =
        tally.worst.iter().map(|measure| format!("{}: {:.1}", measure.what, measure.value));
    let skipped = tally.skipped.iter().map(|why| format!("not played: {why}"));
    measures.chain(skipped).collect::<Vec<_>>().join("; ")
}

fn json(rows: &[Row], machine: &Machine, took: Duration, whole: bool) -> serde_json::Value {
    let row = |row: &Row| {
        let worst = row.tally.worst.iter();
        let worst = worst.map(|measure| (measure.what.to_owned(), json!(measure.value)));
        json!({
            "scenario": row.scenario.name,
            "runs": row.runs,
            "seconds": row.took.as_secs_f64(),
            "requests": row.tally.requests,
            "failures": row.tally.failures,
            "told": row.tally.told,
            "worst": worst.collect::<serde_json::Map<_, _>>(),
            "skipped": row.tally.skipped,
        })
    };
    json!({
        "machine": machine,
        "seconds": took.as_secs_f64(),
        "interrupted": !whole,
        "scenarios": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::{report, rows};
    use std::time::Duration;
    use weir_peers::machine::Machine;

    #[test]
    fn a_report_has_a_row_for_each_scenario_asked_for() {
        let mut rows = rows(&["drains".to_owned(), "refused".to_owned()]).expect("two scenarios");
        rows[1].tally.check(false, || "one of many".to_owned());
        rows[1].tally.measure("ticks", 2.25);
        let text = report(&rows, &Machine::here(), Duration::from_secs(90), false);
        assert!(text.contains("| drains | 0 | 0 | 0 | 1 | ticks: 2.2 |"), "{text}");
        assert!(text.contains("  - failed: one of many"), "{text}");
        assert!(text.contains("2 minutes, then interrupted"), "{text}");
        assert!(!text.contains("| kills |"), "{text}");
    }

    #[test]
    fn an_unknown_scenario_is_refused_with_those_there_are() {
        let error = rows(&["drain".to_owned()]).err().expect("is unknown").to_string();
        assert!(error.contains("`drain`") && error.contains("drains"), "{error}");
    }
}
