//! `weir bench compare A B`: two URLs in interleaved blocks, or two stored results; and the change
//! points of a history of stored results.

use super::output::OutputArgs;
use super::single::RequestArgs;
use crate::conduct::{Show, conduct};
use crate::outcome::Outcome;
use crate::plan::Stop;
use crate::stats::{Answer, Change, PAIRS_MIN, change_points, compare};
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
    /// Write the answers and what they rest on, or the changes of a history, as JSON ('-' for
    /// standard output)
    #[arg(long, value_name = "FILE", value_parser = super::result_file)]
    json: Option<std::path::PathBuf>,
}

/// The judgement of one metric.
#[derive(Clone, Debug, serde::Serialize)]
struct Said {
    metric: &'static str,
    /// Of A and of B, in pairs; nanoseconds or requests per second.
    pairs: Vec<(f64, f64)>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    answer: Judgement,
}

/// The judgement of B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
enum Judgement {
    #[serde(rename = "better")]
    Better,
    #[serde(rename = "worse")]
    Worse,
    #[serde(rename = "same")]
    Same,
    #[serde(rename = "cannot tell")]
    CannotTell,
}

impl Judgement {
    /// The judgement of an answer, where `more` is better, or where less is.
    fn of(answer: Option<Answer>, more: bool) -> Self {
        match (answer, more) {
            (Some(Answer::Higher), true) | (Some(Answer::Lower), false) => Self::Better,
            (Some(Answer::Higher), false) | (Some(Answer::Lower), true) => Self::Worse,
            (Some(Answer::Same), _) => Self::Same,
            (Some(Answer::CannotTell) | None, _) => Self::CannotTell,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Better => "B is better",
            Self::Worse => "B is worse",
            Self::Same => "B is the same",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// A comparison as it is stored.
#[derive(Debug, serde::Serialize)]
struct Compared<'a> {
    a: &'a str,
    b: &'a str,
    answers: &'a [Said],
}

/// A change in a history: the result it begins with, and the means before it and from it on.
#[derive(Debug, serde::Serialize)]
struct Changed<'a> {
    metric: &'static str,
    at: &'a str,
    before: f64,
    after: f64,
}

/// The changes in a history as they are stored.
#[derive(Debug, serde::Serialize)]
struct History<'a> {
    results: usize,
    changes: &'a [Changed<'a>],
}

/// The name of a metric, whether more is better, and its value in a result.
type Metric = (&'static str, bool, fn(&Outcome) -> f64);

const METRICS: [Metric; 3] = [
    ("rate", true, |outcome| outcome.rate),
    ("p50 response", false, |outcome| outcome.response.quantile(0.5) as f64),
    ("p99 response", false, |outcome| outcome.response.quantile(0.99) as f64),
];

impl Said {
    fn of(metric: &'static str, more: bool, pairs: Vec<(f64, f64)>, band: f64) -> Self {
        let found = compare(&pairs, band);
        let bounded = found.filter(|found| found.high.is_finite());
        let answer = Judgement::of(found.map(|found| found.answer), more);
        let ratio = found.map(|found| found.ratio);
        let (low, high) = (bounded.map(|found| found.low), bounded.map(|found| found.high));
        Self { metric, pairs, ratio, low, high, answer }
    }

    fn decided(&self) -> bool {
        self.answer != Judgement::CannotTell
    }

    fn line(&self, of_what: &str) -> String {
        let name = self.metric;
        let verdict = self.answer.sentence();
        match (self.ratio, self.low.zip(self.high)) {
            (None, _) => {
                format!("{name}: cannot tell, there are no {of_what} with a value in both")
            }
            (Some(ratio), Some((low, high))) => {
                format!("{name}: B/A = {ratio:.3} [{low:.3}, {high:.3}]: {verdict}")
            }
            (Some(ratio), None) => {
                let count = self.pairs.len();
                format!(
                    "{name}: B/A = {ratio:.3}: {verdict}, {count} {of_what} are too few for an \
                     interval ({PAIRS_MIN} make one)"
                )
            }
        }
    }
}

/// Prints and stores the answers; the exit code.
fn conclude(
    args: &CompareArgs,
    answers: &[Said],
    head: &str,
    of_what: &str,
    foot: &str,
) -> anyhow::Result<u8> {
    if let [a, b] = args.sides.as_slice() {
        OutputArgs::write_json(args.json.as_deref(), &Compared { a, b, answers })?;
    }
    if !OutputArgs::json_on_stdout(args.json.as_deref()) {
        let lines: Vec<String> = answers.iter().map(|said| said.line(of_what)).collect();
        super::say(&format!("{head}{}\n{foot}", lines.join("\n")));
    }
    let decided = answers.iter().any(Said::decided);
    Ok(if decided { super::OK } else { super::INCONCLUSIVE })
}

/// Blocks in the order ABBA BAAB, so that a drift of the machine falls on both sides.
fn b_first(pair: usize) -> bool {
    matches!(pair % 4, 1 | 2)
}

fn interleaved(args: &CompareArgs) -> anyhow::Result<u8> {
    let [a, b] = two(args)?;
    anyhow::ensure!(args.pairs > 0, "--pairs must be above 0");
    anyhow::ensure!(!args.duration.is_zero(), "-d must be above 0");
    let plan = |url: &str| -> anyhow::Result<_> {
        let target = Target::parse(url).map_err(anyhow::Error::msg)?;
        let mut plan = args.request.plan(&target)?;
        super::single::reach(&mut plan)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        plan.connections = args.connections.max(1);
        plan.threads = cores.min(plan.connections);
        plan.stop = Stop { requests: None, after: Some(args.duration) };
        Ok((plan, target.url()))
    };
    let sides = [plan(a)?, plan(b)?];
    let mut pairs: Vec<[Outcome; 2]> = Vec::new();
    let answers = |pairs: &[[Outcome; 2]]| -> Vec<Said> {
        let values = |metric: fn(&Outcome) -> f64| -> Vec<(f64, f64)> {
            pairs.iter().map(|[a, b]| (metric(a), metric(b))).collect()
        };
        let said = |&(name, more, of): &Metric| Said::of(name, more, values(of), args.band);
        METRICS.iter().map(said).collect()
    };
    let longest = args.duration.as_secs_f64() * 2.0 * args.pairs as f64;
    eprintln!("{} pairs at most, {longest:.0} s", args.pairs);
    let mut interrupted = false;
    'pairs: while pairs.len() < args.pairs {
        let order = if b_first(pairs.len()) { [1, 0] } else { [0, 1] };
        let mut results = [Outcome::default(), Outcome::default()];
        for side in order {
            let (plan, url) = &sides[side];
            results[side] = conduct(plan, url, &[], Show::Nothing)?;
            if results[side].interrupted {
                interrupted = true;
                break 'pairs;
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
        if answers(&pairs).iter().all(Said::decided) {
            break;
        }
    }
    let (count, length) = (pairs.len(), args.duration);
    let head = format!("A {a}\nB {b}\n{count} pairs of {length:?}\n");
    let code = conclude(args, &answers(&pairs), &head, "pairs", "")?;
    if interrupted {
        eprintln!("interrupted: this is what the pairs so far say");
        return Ok(super::INTERRUPTED);
    }
    Ok(code)
}

/// Both sides.
fn two(args: &CompareArgs) -> anyhow::Result<[&String; 2]> {
    match args.sides.as_slice() {
        [a, b] => Ok([a, b]),
        sides => anyhow::bail!(
            "two URLs or two stored results are compared, {} given (say --history for the changes \
             in ten stored results and more)",
            sides.len()
        ),
    }
}

fn load(path: &str) -> anyhow::Result<Outcome> {
    let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    crate::report::stored(&text).with_context(|| format!("{path} is not a result of weir bench"))
}

/// Two stored results: whole seconds are paired in order, so a trend within a run counts as noise.
fn stored(args: &CompareArgs) -> anyhow::Result<u8> {
    let [a, b] = two(args)?;
    let (a, b) = (load(a)?, load(b)?);
    let seconds = |outcome: &Outcome| -> Vec<_> {
        let whole = |s: &&crate::record::Slice| {
            !s.warmup && s.second as f64 + 1.0 <= outcome.asked.warmup_s + outcome.measured_s
        };
        outcome.slices.iter().filter(whole).cloned().collect()
    };
    let (left, right) = (seconds(&a), seconds(&b));
    type Of = fn(&crate::record::Slice) -> Option<u64>;
    let metrics: [(&'static str, bool, Of); 3] = [
        ("rate", true, |s| Some(s.ok)),
        ("p50 response", false, |s| s.quantile(0.5)),
        ("p99 response", false, |s| s.quantile(0.99)),
    ];
    let said = metrics.map(|(name, more, of)| {
        let both = left.iter().zip(&right);
        let pairs = both.filter_map(|(a, b)| Some((of(a)? as f64, of(b)? as f64))).collect();
        Said::of(name, more, pairs, args.band)
    });
    let foot =
        "two single runs: differences between runs of one and the same server are not covered\n";
    conclude(args, &said, "", "whole seconds", foot)
}

fn history(args: &CompareArgs) -> anyhow::Result<u8> {
    let outcomes: Vec<Outcome> =
        args.sides.iter().map(|path| load(path)).collect::<Result<_, _>>()?;
    if outcomes.len() < 10 {
        anyhow::bail!("a history needs at least 10 results, {} given", outcomes.len());
    }
    let results = outcomes.len();
    let (mut changes, mut lines) = (Vec::new(), String::new());
    for (metric, _, of) in METRICS {
        let values: Vec<f64> = outcomes.iter().map(of).collect();
        let found = change_points(&values, 1);
        if found.is_empty() {
            lines.push_str(&format!("{metric}: no change in {results} results\n"));
        }
        for Change { at, before, after } in found {
            let (at, share) = (&args.sides[at], (after / before - 1.0) * 100.0);
            lines.push_str(&format!("{metric}: changed at {at} ({share:+.1} %)\n"));
            changes.push(Changed { metric, at, before, after });
        }
    }
    OutputArgs::write_json(args.json.as_deref(), &History { results, changes: &changes })?;
    if !OutputArgs::json_on_stdout(args.json.as_deref()) {
        super::say(&lines);
    }
    Ok(super::OK)
}

/// Runs the comparison.
pub(super) fn run(args: &CompareArgs) -> anyhow::Result<u8> {
    OutputArgs::check_file(args.json.as_deref())?;
    if args.history {
        return history(args);
    }
    let file = |side: &String| Path::new(side).is_file() || side.ends_with(".json");
    let url = |side: &String| side.contains("://") && !file(side);
    if args.sides.iter().any(file) && args.sides.iter().any(url) {
        anyhow::bail!("a stored result is not compared with a URL: give two of the same kind");
    }
    // A missing file is reported as one, not taken for a URL.
    if args.sides.iter().any(file) { stored(args) } else { interleaved(args) }
}

#[cfg(test)]
mod tests {
    use super::{Said, b_first};

    fn check(pairs: &[(f64, f64)], expected: &str) {
        assert_eq!(Said::of("rate", true, pairs.to_vec(), 0.02).line("pairs"), expected);
    }

    #[test]
    fn every_answer_is_a_sentence() {
        check(&[], "rate: cannot tell, there are no pairs with a value in both");
        let few =
            "rate: B/A = 2.000: cannot tell, 1 pairs are too few for an interval (6 make one)";
        check(&[(1.0, 2.0)], few);
        check(&[(1.0, 2.0); 8], "rate: B/A = 2.000 [2.000, 2.000]: B is better");
        check(&[(2.0, 1.0); 8], "rate: B/A = 0.500 [0.500, 0.500]: B is worse");
        check(&[(2.0, 2.0); 8], "rate: B/A = 1.000 [1.000, 1.000]: B is the same");
    }

    /// Of a rate more is better, of a time less.
    #[test]
    fn answers_are_stored_by_name() {
        let of = |more| Said::of("m", more, vec![(1.0, 2.0); 8], 0.02);
        let stored = |more| serde_json::to_value(of(more)).unwrap()["answer"].clone();
        assert_eq!((stored(true), stored(false)), ("better".into(), "worse".into()));
    }

    #[test]
    fn blocks_are_interleaved_both_ways() {
        let order: String = (0..4).map(|pair| if b_first(pair) { "BA" } else { "AB" }).collect();
        assert_eq!(order, "ABBABAAB");
    }
}
