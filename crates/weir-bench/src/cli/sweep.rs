//! `weir bench sweep -c 100,200 -R 1k,2k URL…`: a grid of runs in random order, with repeats.

use super::output::OutputArgs;
use super::single::RequestArgs;
use crate::arrival::{Arrival, Profile, Schedule, Spacing};
use crate::conduct::{Show, conduct};
use crate::dice::Dice;
use crate::outcome::Outcome;
use crate::plan::Stop;
use crate::target::Target;
use crate::units::{self, show_time};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of `sweep`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct SweepArgs {
    /// http:// URLs; NAME=URL gives a name
    #[arg(required = true)]
    urls: Vec<String>,
    /// Connections, comma-separated
    #[arg(short, long, value_delimiter = ',', default_value = "64")]
    connections: Vec<usize>,
    /// Rates, comma-separated; without it each cell is a closed loop
    #[arg(short = 'R', long, value_delimiter = ',', value_parser = units::rate)]
    rate: Vec<f64>,
    /// Length of each run
    #[arg(short = 'd', long, default_value = "10s", value_parser = units::duration)]
    duration: Duration,
    /// Not counted at the start of each run
    #[arg(long, default_value = "0s", value_parser = units::duration)]
    warmup: Duration,
    /// Runs of each cell
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Even spacing instead of Poisson arrivals
    #[arg(long)]
    even: bool,
    /// Seed of the order of the cells
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Worker threads [default: one per core]
    #[arg(short = 't', long)]
    threads: Option<usize>,
    #[command(flatten)]
    request: RequestArgs,
    /// Write all results as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = super::result_file)]
    json: Option<std::path::PathBuf>,
}

/// One run of the grid.
#[derive(Clone, Debug, serde::Serialize)]
struct Cell {
    endpoint: String,
    connections: usize,
    rate: Option<f64>,
    repeat: usize,
    outcome: Option<Outcome>,
}

impl Cell {
    /// The key of the tables of the seed: `RATE.ENDPOINT` or, with repeats, `RATE.ENDPOINT.r_N`.
    fn key(&self, repeats: usize) -> String {
        let rate = self.rate.map_or("closed".to_owned(), |rate| format!("{rate}"));
        let repeat = if repeats > 1 { format!(".r_{}", self.repeat) } else { String::new() };
        format!("{rate}.{}{repeat}", self.endpoint)
    }
}

/// Splits `NAME=URL`; a bare URL is its own name.
fn endpoint(text: &str) -> (String, &str) {
    match text.split_once('=') {
        Some((name, url)) if !name.contains(['/', ':']) => (name.to_owned(), url),
        _ => (text.trim_start_matches("http://").to_owned(), text),
    }
}

fn cells(args: &SweepArgs) -> Vec<Cell> {
    let rates: Vec<Option<f64>> = match args.rate.is_empty() {
        true => vec![None],
        false => args.rate.iter().copied().map(Some).collect(),
    };
    let mut cells = Vec::new();
    for url in &args.urls {
        for &connections in &args.connections {
            for &rate in &rates {
                for repeat in 0..args.repeat.max(1) {
                    let endpoint = endpoint(url).0;
                    cells.push(Cell { endpoint, connections, rate, repeat, outcome: None });
                }
            }
        }
    }
    cells
}

/// The grid as a table, with the columns of the seed and the verdict.
fn table(cells: &[Cell], repeats: usize) -> String {
    let width = cells.iter().map(|cell| cell.key(repeats).len()).max().unwrap_or(3).max(3);
    let mut out = format!(
        "{:width$} {:>6} {:>11} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {}\n",
        "KEY", "CONN", "QPS", "TP90", "TP99", "TP999", "MEAN", "STDEV", "FAILED", "VERDICT"
    );
    for cell in cells {
        let Some(outcome) = &cell.outcome else { continue };
        let response = &outcome.response;
        let time = |quantile| show_time(response.quantile(quantile) as f64);
        let _ = writeln!(
            out,
            "{:width$} {:>6} {:>11.2} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6.2}%  {}",
            cell.key(repeats),
            cell.connections,
            outcome.rate,
            time(0.9),
            time(0.99),
            time(0.999),
            show_time(response.mean_ns),
            show_time(response.stdev_ns),
            outcome.failed_share() * 100.0,
            outcome.verdict.limit.title()
        );
    }
    out
}

/// Runs the grid.
pub(super) fn run(args: &SweepArgs) -> anyhow::Result<u8> {
    OutputArgs::check_file(args.json.as_deref())?;
    anyhow::ensure!(!args.connections.contains(&0), "at least one connection is needed");
    anyhow::ensure!(!args.rate.contains(&0.0), "the rate must be above 0");
    anyhow::ensure!(!args.duration.is_zero(), "-d must be above 0");
    for url in &args.urls {
        let target = Target::parse(endpoint(url).1).map_err(anyhow::Error::msg)?;
        super::single::reach(&mut args.request.plan(&target)?)?;
    }
    let mut cells = cells(args);
    let mut order: Vec<usize> = (0..cells.len()).collect();
    Dice::new(args.seed).shuffle(&mut order);
    let each = args.duration + args.warmup;
    eprintln!("{} runs, about {:.0} s", cells.len(), each.as_secs_f64() * cells.len() as f64);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut interrupted = false;
    for (done, index) in order.into_iter().enumerate() {
        let cell = &mut cells[index];
        let url =
            args.urls.iter().map(|url| endpoint(url)).find(|(name, _)| *name == cell.endpoint);
        let Some((_, url)) = url else { continue };
        let target = Target::parse(url).map_err(anyhow::Error::msg)?;
        let mut plan = args.request.plan(&target)?;
        plan.connections = cell.connections.max(1);
        plan.threads = args.threads.unwrap_or(cores).clamp(1, plan.connections);
        plan.warmup = args.warmup;
        plan.stop = Stop { requests: None, after: Some(args.duration) };
        if let Some(rate) = cell.rate {
            let spacing = match args.even {
                true => Spacing::Even,
                false => Spacing::Poisson { seed: args.seed + done as u64 },
            };
            plan.arrival =
                Arrival::Open(Schedule::Paced(Arc::new(Profile::constant(rate)), spacing));
        }
        eprintln!("{} -c {}", cell.key(args.repeat), cell.connections);
        let outcome = conduct(&plan, &target.url(), &[], Show::Nothing)?;
        interrupted = outcome.interrupted;
        cell.outcome = Some(outcome);
        if interrupted {
            break;
        }
    }
    OutputArgs::write_json(args.json.as_deref(), &cells)?;
    if !OutputArgs::json_on_stdout(args.json.as_deref()) {
        super::say(&table(&cells, args.repeat));
    }
    if interrupted {
        eprintln!("interrupted: these are the runs so far");
        return Ok(super::INTERRUPTED);
    }
    Ok(super::OK)
}

#[cfg(test)]
mod tests {
    use super::endpoint;

    #[test]
    fn endpoints_may_have_names() {
        assert_eq!(endpoint("api0=http://h/a"), ("api0".into(), "http://h/a"));
        assert_eq!(endpoint("http://h/a?x=1"), ("h/a?x=1".into(), "http://h/a?x=1"));
    }
}
