//! `weir bench seek URL --slo 'p99<50ms'`: the highest rate that is sustained, as an interval.
//!
//! A closed-loop probe gives a ceiling; rising trials bracket the limit; bisection in log space
//! with growing trials narrows it; repeats at both ends confirm it or widen it. Between trials
//! nothing is in flight. A trial that misses because of the generator or its host is void and
//! repeated once.

use super::output::OutputArgs;
use super::single::RequestArgs;
use crate::arrival::{Arrival, Profile, Schedule, Spacing};
use crate::conduct::{Show, conduct};
use crate::outcome::Outcome;
use crate::plan::{Plan, Stop};
use crate::target::Target;
use crate::units::{self, show_count, show_time};
use crate::verdict::Threshold;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of `seek`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct SeekArgs {
    /// http:// URL
    url: String,
    /// Condition a rate must meet; may be repeated
    #[arg(long, default_values = ["p99<100ms", "errors<0.1%"], value_parser = Threshold::parse)]
    slo: Vec<Threshold>,
    /// Connections at a time
    #[arg(short, long, default_value_t = 64)]
    connections: usize,
    /// Length of the longest trials
    #[arg(long, default_value = "10s", value_parser = units::duration)]
    trial: Duration,
    /// Width of the interval to reach, as a share
    #[arg(long, default_value_t = 0.02)]
    width: f64,
    /// Worker threads [default: one per core]
    #[arg(short = 't', long)]
    threads: Option<usize>,
    #[command(flatten)]
    request: RequestArgs,
    /// Write all trials as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = super::result_file)]
    json: Option<std::path::PathBuf>,
}

/// A trial with fewer requests is inconclusive: the search ends below the rate that yields so many.
const REQUESTS_MIN: f64 = 20.0;

/// One trial.
#[derive(Clone, Debug, Serialize)]
struct Trial {
    rate: f64,
    seconds: f64,
    passed: Option<bool>,
    achieved: f64,
    p50_ns: u64,
    p99_ns: u64,
    failed_share: f64,
    limit: &'static str,
}

/// The answer with everything it rests on.
#[derive(Clone, Debug, Serialize)]
struct Found {
    target: String,
    slo: Vec<String>,
    ceiling: f64,
    low: Option<f64>,
    high: Option<f64>,
    confirmed: bool,
    trials: Vec<Trial>,
}

impl Found {
    /// The trial at the lowest rate there is to try, if even that failed.
    fn out_of_reach(&self) -> Option<&Trial> {
        let last = self.trials.last()?;
        let lowest = last.rate * last.seconds / 2.0 < REQUESTS_MIN;
        (self.low.is_none() && lowest && last.passed == Some(false)).then_some(last)
    }

    /// The answer in a line.
    fn sentence(&self) -> String {
        if let Some(trial) = self.out_of_reach() {
            return format!(
                "no rate is sustained under {}: at {}/s, the lowest tried, p50 was {}, p99 {} and \
                 {:.2} % failed; ask for less with --slo\n",
                self.slo.join(" and "),
                show_count(trial.rate),
                show_time(trial.p50_ns as f64),
                show_time(trial.p99_ns as f64),
                trial.failed_share * 100.0
            );
        }
        let bound = |bound: Option<f64>| bound.map_or("?".to_owned(), show_count);
        format!(
            "sustainable rate under {}: [{}, {}]/s{}\n",
            self.slo.join(" and "),
            bound(self.low),
            bound(self.high),
            if self.confirmed { "" } else { " (not confirmed)" }
        )
    }
}

struct Search<'a> {
    args: &'a SeekArgs,
    plan: Plan,
    target: String,
    trials: Vec<Trial>,
    interrupted: bool,
}

/// Whether a trial passed; `None` if it is void.
///
/// Response times hold the generator's own lateness: a trial that meets the conditions in spite of
/// it has passed. One that misses them has failed only if the server alone can be the cause.
fn passed(outcome: &Outcome, slo: &[Threshold]) -> Option<bool> {
    let offered = outcome.offered.unwrap_or(0) as f64;
    let kept_up = outcome.rate * outcome.measured_s >= 0.99 * offered;
    if kept_up && slo.iter().all(|threshold| threshold.holds(outcome)) {
        return Some(true);
    }
    outcome.verdict.limit.conclusive().then_some(false)
}

impl Search<'_> {
    /// One trial at `rate`; a void one is repeated once. `None` if it is void again: this generator
    /// on this host cannot decide.
    fn trial(&mut self, rate: f64, length: Duration) -> anyhow::Result<Option<bool>> {
        for _ in 0..2 {
            let mut plan = self.plan.clone();
            let spacing = Spacing::Poisson { seed: self.trials.len() as u64 + 1 };
            plan.arrival =
                Arrival::Open(Schedule::Paced(Arc::new(Profile::constant(rate)), spacing));
            plan.stop = Stop { requests: None, after: Some(length) };
            let outcome = conduct(&plan, &self.target, &self.args.slo, Show::Nothing)?;
            if outcome.interrupted {
                self.interrupted = true;
                anyhow::bail!("interrupted");
            }
            let trial = Trial {
                rate,
                seconds: length.as_secs_f64(),
                passed: passed(&outcome, &self.args.slo),
                achieved: outcome.rate,
                p50_ns: outcome.response.quantile(0.5),
                p99_ns: outcome.response.quantile(0.99),
                failed_share: outcome.failed_share(),
                limit: outcome.verdict.limit.title(),
            };
            eprintln!("{}", row(&trial));
            let answer = trial.passed;
            self.trials.push(trial);
            if answer.is_some() {
                return Ok(answer);
            }
        }
        Ok(None)
    }

    /// The highest rate that passed, or the lowest that failed.
    fn best(&self, passed: bool) -> Option<f64> {
        let told = self.trials.iter().filter(|trial| trial.passed == Some(passed));
        let rates = told.map(|trial| trial.rate);
        if passed { rates.reduce(f64::max) } else { rates.reduce(f64::min) }
    }

    /// The interval, and whether repeats at both ends confirmed it.
    fn search(&mut self, ceiling: f64) -> anyhow::Result<(Option<f64>, Option<f64>, bool)> {
        let short = (self.args.trial / 4).max(Duration::from_millis(500));
        let mut rate = 0.3 * ceiling;
        let (mut low, mut high) = (None, None);
        for _ in 0..24 {
            match self.trial(rate, short)? {
                None => return Ok((low, high, false)),
                Some(true) => {
                    low = Some(rate);
                    rate *= 1.25;
                }
                Some(false) => {
                    high = Some(rate);
                    rate /= 2.0;
                }
            }
            if low.is_some() && high.is_some() || rate * short.as_secs_f64() < REQUESTS_MIN {
                break;
            }
        }
        let (Some(low), Some(high)) = (low, high) else { return Ok((low, high, false)) };
        self.narrow(low, high, short)
    }

    /// Bisects in log space, then repeats at both ends and widens what does not hold.
    fn narrow(
        &mut self,
        mut low: f64,
        mut high: f64,
        mut length: Duration,
    ) -> anyhow::Result<(Option<f64>, Option<f64>, bool)> {
        while high / low > 1.0 + self.args.width {
            length = (length * 2).min(self.args.trial);
            let middle = (low * high).sqrt();
            match self.trial(middle, length)? {
                None => return Ok((Some(low), Some(high), false)),
                Some(true) => low = middle,
                Some(false) => high = middle,
            }
        }
        for _ in 0..4 {
            let mut holds = Some(true);
            for _ in 0..3 {
                if holds == Some(true) {
                    holds = self.trial(low, self.args.trial)?;
                }
            }
            match (holds, self.trial(high, self.args.trial)?) {
                (Some(true), Some(false)) => return Ok((Some(low), Some(high), true)),
                (None, _) | (_, None) => break,
                (Some(false), _) => low /= 1.0 + 2.0 * self.args.width,
                (Some(true), Some(true)) => high *= 1.0 + 2.0 * self.args.width,
            }
        }
        Ok((Some(low), Some(high), false))
    }
}

fn row(trial: &Trial) -> String {
    let word = match trial.passed {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "void",
    };
    format!(
        "{:>10}/s {:>6.1}s  {word}  achieved {:>10}/s  p50 {:>8}  p99 {:>8}  failed {:.2} %  {}",
        show_count(trial.rate),
        trial.seconds,
        show_count(trial.achieved),
        show_time(trial.p50_ns as f64),
        show_time(trial.p99_ns as f64),
        trial.failed_share * 100.0,
        trial.limit
    )
}

/// Runs the search.
pub(super) fn run(args: &SeekArgs) -> anyhow::Result<u8> {
    if args.width <= 0.0 {
        anyhow::bail!("--width must be above 0");
    }
    OutputArgs::check_file(args.json.as_deref())?;
    let target = Target::parse(&args.url).map_err(anyhow::Error::msg)?;
    let mut plan = args.request.plan(&target)?;
    plan.connections = args.connections.max(1);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    plan.threads = args.threads.unwrap_or(cores).clamp(1, plan.connections);
    plan.stop =
        Stop { requests: None, after: Some((args.trial / 4).max(Duration::from_millis(500))) };
    let about = args.trial.as_secs_f64() * 10.0;
    super::single::reach(&mut plan)?;
    eprintln!("seeking on {}; about {about:.0} s", target.url());
    let probe = conduct(&plan, &target.url(), &[], Show::Nothing)?;
    if probe.interrupted {
        eprintln!("interrupted before the first trial");
        return Ok(super::INTERRUPTED);
    }
    if probe.ok == 0 {
        anyhow::bail!("no request succeeded on {}", target.url());
    }
    eprintln!("closed-loop ceiling {}/s", show_count(probe.rate));
    let mut search =
        Search { args, plan, target: target.url(), trials: Vec::new(), interrupted: false };
    let result = search.search(probe.rate);
    let (low, high, confirmed) = match result {
        Err(_) if search.interrupted => (search.best(true), search.best(false), false),
        result => result?,
    };
    let found = Found {
        target: target.url(),
        slo: args.slo.iter().map(|slo| slo.text.clone()).collect(),
        ceiling: probe.rate,
        low,
        high,
        confirmed,
        trials: search.trials,
    };
    let interrupted = search.interrupted;
    let out_of_reach = found.out_of_reach().is_some();
    OutputArgs::write_json(args.json.as_deref(), &found)?;
    if !OutputArgs::json_on_stdout(args.json.as_deref()) {
        super::say(&found.sentence());
    }
    Ok(match (interrupted, confirmed) {
        (true, _) => {
            eprintln!("interrupted: this is what the trials so far say");
            super::INTERRUPTED
        }
        (false, true) => super::OK,
        (false, false) if out_of_reach => super::THRESHOLD,
        (false, false) => super::INCONCLUSIVE,
    })
}

#[cfg(test)]
mod tests {
    use super::{Found, Trial};

    fn check(trials: &[(f64, Option<bool>)], bounds: (Option<f64>, Option<f64>), expected: &str) {
        let trial = |&(rate, passed): &(f64, Option<bool>)| Trial {
            rate,
            seconds: 0.5,
            passed,
            achieved: rate,
            p50_ns: 150_000,
            p99_ns: 2_000_000,
            failed_share: 0.0,
            limit: "SERVER LIMITED",
        };
        let found = Found {
            target: "http://h/".into(),
            slo: vec!["p99<1us".into()],
            ceiling: 9_000.0,
            low: bounds.0,
            high: bounds.1,
            confirmed: false,
            trials: trials.iter().map(trial).collect(),
        };
        assert_eq!(found.sentence(), format!("{expected}\n"));
    }

    #[test]
    fn the_answer_is_a_sentence() {
        let failed = [(2_700.0, Some(false)), (1_350.0, Some(false))];
        let interval = "sustainable rate under p99<1us: [?, 1,350]/s (not confirmed)";
        check(&failed, (None, Some(1_350.0)), interval);
        check(&[(60.0, None)], (None, Some(120.0)), &interval.replace("1,350", "120"));
        let none = "no rate is sustained under p99<1us: at 60/s, the lowest tried, p50 was 150µs, \
                    p99 2.00ms and 0.00 % failed; ask for less with --slo";
        check(&[(120.0, Some(false)), (60.0, Some(false))], (None, Some(60.0)), none);
        let low = "sustainable rate under p99<1us: [40, 60]/s (not confirmed)";
        check(&[(60.0, Some(false))], (Some(40.0), Some(60.0)), low);
    }
}
