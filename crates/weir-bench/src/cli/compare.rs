//! `weir bench compare A B`: two URLs in interleaved blocks, or two stored results; and the change
//! points of a history of stored results.

use super::single::RequestArgs;
use crate::conduct::{Show, conduct};
use crate::outcome::Outcome;
use crate::plan::Stop;
use crate::stats::{Answer, change_points, compare};
use crate::target::Target;
use crate::units;
use anyhow::Context;
use std::path::Path;
use std::time::Duration;

/// Arguments of `compare`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct CompareArgs {
    /// Two URLs, two stored results, or (with --history) many stored results in order of time
    #[arg(required = true, num_args = 1..)]
    sides: Vec<String>,
    /// Find changes in a history of at least ten stored results
    #[arg(long)]
    history: bool,
    /// Connections at a time
    #[arg(short, long, default_value_t = 64)]
    connections: usize,
    /// Length of a block
    #[arg(short = 'd', long, default_value = "2s", value_parser = units::duration)]
    duration: Duration,
    /// Most pairs of blocks; fewer if the answer is clear sooner
    #[arg(long, default_value_t = 20)]
    pairs: usize,
    /// Difference that does not matter, as a share
    #[arg(long, default_value_t = 0.02)]
    band: f64,
    #[command(flatten)]
    request: RequestArgs,
}

/// What is compared, whether more is better, and how it is read off.
type Metric = (&'static str, bool, fn(&Outcome) -> f64);

const METRICS: [Metric; 3] = [
    ("rate", true, |outcome| outcome.rate),
    ("p50 response", false, |outcome| outcome.response.quantile(0.5) as f64),
    ("p99 response", false, |outcome| outcome.response.quantile(0.99) as f64),
];

fn say(name: &str, more_is_better: bool, pairs: &[(f64, f64)], band: f64) -> (String, bool) {
    let Some(found) = compare(pairs, band) else {
        return (format!("{name}: cannot tell (a value is missing)"), false);
    };
    let word = match (found.answer, more_is_better) {
        (Answer::Higher, true) | (Answer::Lower, false) => "better",
        (Answer::Higher, false) | (Answer::Lower, true) => "worse",
        (Answer::Same, _) => "same",
        (Answer::CannotTell, _) => "cannot tell",
    };
    let interval = match found.high.is_finite() {
        true => format!("[{:.3}, {:.3}]", found.low, found.high),
        false => "[no interval below 6 pairs]".to_owned(),
    };
    let decided = found.answer != Answer::CannotTell;
    (format!("{name}: B/A = {:.3} {interval}: B is {word}", found.ratio), decided)
}

/// Blocks in the order ABBA BAAB, so that a drift of the machine falls on both sides.
fn b_first(pair: usize) -> bool {
    matches!(pair % 4, 1 | 2)
}

fn interleaved(args: &CompareArgs) -> anyhow::Result<u8> {
    let [a, b] = args.sides.as_slice() else { anyhow::bail!("give two URLs") };
    let plan = |url: &str| -> anyhow::Result<_> {
        let target = Target::parse(url).map_err(anyhow::Error::msg)?;
        let mut plan = args.request.plan(&target)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        plan.connections = args.connections.max(1);
        plan.threads = cores.min(plan.connections);
        plan.stop = Stop { requests: None, after: Some(args.duration) };
        Ok((plan, target.url()))
    };
    let sides = [plan(a)?, plan(b)?];
    let mut pairs: Vec<[Outcome; 2]> = Vec::new();
    let lines = |pairs: &[[Outcome; 2]]| -> Vec<(String, bool)> {
        let values = |metric: fn(&Outcome) -> f64| -> Vec<(f64, f64)> {
            pairs.iter().map(|[a, b]| (metric(a), metric(b))).collect()
        };
        METRICS.iter().map(|(name, more, of)| say(name, *more, &values(*of), args.band)).collect()
    };
    while pairs.len() < args.pairs {
        let order = if b_first(pairs.len()) { [1, 0] } else { [0, 1] };
        let mut results = [Outcome::default(), Outcome::default()];
        for side in order {
            let (plan, url) = &sides[side];
            results[side] = conduct(plan, url, &[], Show::Nothing)?;
            if results[side].interrupted {
                return Ok(super::INTERRUPTED);
            }
            if results[side].ok == 0 {
                anyhow::bail!("no request succeeded on {url}");
            }
        }
        eprintln!(
            "pair {}: A {:.0}/s, B {:.0}/s",
            pairs.len() + 1,
            results[0].rate,
            results[1].rate
        );
        pairs.push(results);
        if lines(&pairs).iter().all(|(_, decided)| *decided) {
            break;
        }
    }
    println!("A {a}\nB {b}\n{} pairs of {:?}", pairs.len(), args.duration);
    let lines = lines(&pairs);
    for (line, _) in &lines {
        println!("{line}");
    }
    Ok(if lines.iter().any(|(_, decided)| *decided) { super::OK } else { super::INCONCLUSIVE })
}

fn load(path: &str) -> anyhow::Result<Outcome> {
    let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    crate::report::stored(&text).with_context(|| format!("{path} is not a result of weir bench"))
}

/// Two stored results: whole seconds are paired in order, so a trend within a run counts as noise.
fn stored(args: &CompareArgs) -> anyhow::Result<u8> {
    let [a, b] = args.sides.as_slice() else { anyhow::bail!("give two results") };
    let (a, b) = (load(a)?, load(b)?);
    let seconds = |outcome: &Outcome| -> Vec<_> {
        let whole = |s: &&crate::record::Slice| {
            !s.warmup && s.second as f64 + 1.0 <= outcome.asked.warmup_s + outcome.measured_s
        };
        outcome.slices.iter().filter(whole).cloned().collect()
    };
    let (left, right) = (seconds(&a), seconds(&b));
    let mut any = false;
    for (name, more, of) in [
        ("rate", true, (|s| Some(s.ok)) as fn(&crate::record::Slice) -> Option<u64>),
        ("p50 response", false, |s| s.quantile(0.5)),
        ("p99 response", false, |s| s.quantile(0.99)),
    ] {
        let pairs: Vec<_> = left
            .iter()
            .zip(&right)
            .filter_map(|(a, b)| Some((of(a)? as f64, of(b)? as f64)))
            .collect();
        let (line, decided) = say(name, more, &pairs, args.band);
        any |= decided;
        println!("{line}");
    }
    println!(
        "two single runs: differences between runs of one and the same server are not covered"
    );
    Ok(if any { super::OK } else { super::INCONCLUSIVE })
}

fn history(args: &CompareArgs) -> anyhow::Result<u8> {
    let outcomes: Vec<Outcome> =
        args.sides.iter().map(|path| load(path)).collect::<Result<_, _>>()?;
    if outcomes.len() < 10 {
        anyhow::bail!("a history needs at least 10 results, {} given", outcomes.len());
    }
    for (name, _, of) in METRICS {
        let values: Vec<f64> = outcomes.iter().map(of).collect();
        let changes = change_points(&values, 1);
        if changes.is_empty() {
            println!("{name}: no change in {} results", values.len());
        }
        for change in changes {
            println!(
                "{name}: changed at {} ({:+.1} %)",
                args.sides[change.at],
                (change.after / change.before - 1.0) * 100.0
            );
        }
    }
    Ok(super::OK)
}

/// Runs the comparison.
pub(super) fn run(args: &CompareArgs) -> anyhow::Result<u8> {
    let files = args.sides.iter().all(|side| Path::new(side).is_file());
    match (args.history, files) {
        (true, _) => history(args),
        (false, true) => stored(args),
        (false, false) => interleaved(args),
    }
}

#[cfg(test)]
mod tests {
    use super::b_first;

    #[test]
    fn blocks_are_interleaved_both_ways() {
        let order: String = (0..4).map(|pair| if b_first(pair) { "BA" } else { "AB" }).collect();
        assert_eq!(order, "ABBABAAB");
    }
}
