//! `weir bench jmh URL`: JMH's modes, forks and iterations over HTTP, and its table.
//!
//! A fork begins with new connections, and with a new server process if `--server` gives its
//! command. A thread is a connection in a closed loop. Scores and errors are JMH's: the mean over
//! iterations and half the 99.9 % confidence interval.

use super::output::OutputArgs;
use super::single::RequestArgs;
use crate::conduct::{Show, conduct};
use crate::outcome::{Distribution, Outcome};
use crate::plan::{Plan, Stop};
use crate::server::Server;
use crate::stats::{jmh_error, mean, quantile};
use crate::target::Target;
use crate::units;
use std::process::Command;
use std::time::Duration;

/// Arguments of `jmh`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct JmhArgs {
    /// http:// URL; {cell} stands for the cell
    url: String,
    /// Modes
    #[arg(long, value_enum, value_delimiter = ',', default_value = "thrpt,avgt,sample,ss")]
    modes: Vec<Mode>,
    /// Forks
    #[arg(short = 'f', long, default_value_t = 2)]
    forks: usize,
    /// Warm-up iterations of each fork
    #[arg(long = "wi", default_value_t = 1)]
    warmups: usize,
    /// Length of a warm-up iteration [default: that of an iteration]
    #[arg(short = 'w', long, value_parser = units::duration)]
    warmup_time: Option<Duration>,
    /// Measured iterations of each fork
    #[arg(short = 'i', long = "iterations", default_value_t = 5)]
    iterations: usize,
    /// Length of an iteration
    #[arg(short = 'r', long = "time", default_value = "1s", value_parser = units::duration)]
    time: Duration,
    /// Threads, each with one connection
    #[arg(short = 't', long, default_value_t = 2)]
    threads: usize,
    /// Name in the table
    #[arg(long, default_value = "weir.bench")]
    name: String,
    /// Values of {cell}, such as numbers of routes
    #[arg(long, value_delimiter = ',')]
    cells: Vec<String>,
    /// Heading of the cells' column
    #[arg(long, default_value = "routes")]
    cell_name: String,
    /// Command that starts the server of a fork; {cell} stands for the cell
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    #[command(flatten)]
    request: RequestArgs,
    /// Write the rows as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = super::result_file)]
    json: Option<std::path::PathBuf>,
}

/// JMH's modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// Throughput
    Thrpt,
    /// Average time
    Avgt,
    /// Time of each operation
    Sample,
    /// First operation of each iteration, on a new connection
    Ss,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Thrpt => "thrpt",
            Self::Avgt => "avgt",
            Self::Sample => "sample",
            Self::Ss => "ss",
        }
    }
}

/// A line of JMH's table.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
struct Row {
    benchmark: String,
    cell: Option<String>,
    mode: &'static str,
    count: Option<u64>,
    score: f64,
    error: Option<f64>,
    units: &'static str,
}

/// Starts the server of one fork by a shell's command.
fn start(command: &str, target: &Target) -> anyhow::Result<Server> {
    let addresses = target.resolve().map_err(anyhow::Error::msg)?;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec {command}"));
    Server::start(shell, command, &addresses)
}

/// All measured iterations of one mode and cell; `None` if Ctrl-C ended them.
fn measure(args: &JmhArgs, mode: Mode, cell: &str) -> anyhow::Result<Option<Vec<Outcome>>> {
    let url = args.url.replace("{cell}", cell);
    let target = Target::parse(&url).map_err(anyhow::Error::msg)?;
    let mut plan: Plan = args.request.plan(&target)?;
    plan.connections = args.threads.max(1);
    plan.threads = plan.connections;
    plan.stop = match mode {
        Mode::Ss => Stop { requests: Some(1), after: None },
        Mode::Thrpt | Mode::Avgt | Mode::Sample => Stop { requests: None, after: Some(args.time) },
    };
    if mode == Mode::Ss {
        (plan.connections, plan.threads) = (1, 1);
    }
    let mut outcomes = Vec::new();
    for _ in 0..args.forks.max(1) {
        let command = args.server.as_ref().map(|command| command.replace("{cell}", cell));
        let _server = command.map(|command| start(&command, &target)).transpose()?;
        super::single::reach(&mut plan)?;
        for iteration in 0..args.warmups + args.iterations {
            if mode != Mode::Ss {
                let warm = args.warmup_time.filter(|_| iteration < args.warmups);
                plan.stop.after = Some(warm.unwrap_or(args.time));
            }
            let outcome = conduct(&plan, &url, &[], Show::Nothing)?;
            if outcome.interrupted {
                return Ok(None);
            }
            anyhow::ensure!(outcome.failed == 0, "{url}: {} requests failed", outcome.failed);
            if iteration >= args.warmups {
                outcomes.push(outcome);
            }
        }
    }
    Ok(Some(outcomes))
}

fn rows(args: &JmhArgs, mode: Mode, cell: Option<&str>, outcomes: &[Outcome]) -> Vec<Row> {
    let row = |count: Option<u64>, score: f64, error: f64, units: &'static str| Row {
        benchmark: args.name.clone(),
        cell: cell.map(str::to_owned),
        mode: mode.name(),
        count,
        score,
        error: error.is_finite().then_some(error),
        units,
    };
    let seconds = |outcome: &Outcome| outcome.response.mean_ns / 1e9;
    let values: Vec<f64> = match mode {
        Mode::Thrpt => outcomes.iter().map(|outcome| outcome.rate).collect(),
        Mode::Avgt | Mode::Ss => outcomes.iter().map(seconds).collect(),
        Mode::Sample => return samples(args, row, outcomes),
    };
    let units = if mode == Mode::Thrpt { "ops/s" } else { "s/op" };
    vec![row(Some(values.len() as u64), mean(&values), jmh_error(&values), units)]
}

fn samples(
    args: &JmhArgs,
    row: impl Fn(Option<u64>, f64, f64, &'static str) -> Row,
    outcomes: &[Outcome],
) -> Vec<Row> {
    let all = Distribution::together(outcomes.iter().map(|outcome| &outcome.response));
    let n = all.count as f64;
    let error = match all.count {
        0..=2 => f64::NAN,
        _ => quantile(0.9995, n - 1.0) * all.stdev_ns / 1e9 / n.sqrt(),
    };
    let mut rows = vec![row(Some(all.count), all.mean_ns / 1e9, error, "s/op")];
    let method = args.name.rsplit('.').next().unwrap_or(&args.name);
    for (name, share) in [
        ("0.00", 0.0),
        ("0.50", 0.5),
        ("0.90", 0.9),
        ("0.95", 0.95),
        ("0.99", 0.99),
        ("0.999", 0.999),
        ("0.9999", 0.9999),
        ("1.00", 1.0),
    ] {
        let value = if share == 0.0 { all.min_ns } else { all.quantile(share) };
        let mut line = row(None, value as f64 / 1e9, f64::NAN, "s/op");
        line.benchmark = format!("{}:{method}·p{name}", args.name);
        rows.push(line);
    }
    rows
}

/// JMH's table. Times below a millisecond are given in µs, so that they are not all 0.001.
fn table(rows: &[Row], cell_name: &str) -> String {
    let micro = rows.iter().all(|row| row.units != "s/op" || row.score < 0.01);
    let scale = |row: &Row| if micro && row.units == "s/op" { 1e6 } else { 1.0 };
    let cells: Vec<[String; 7]> = rows
        .iter()
        .map(|row| {
            [
                row.benchmark.clone(),
                row.cell.clone().unwrap_or_default(),
                row.mode.to_owned(),
                row.count.map_or(String::new(), |count| count.to_string()),
                format!("{:.3}", row.score * scale(row)),
                row.error.map_or(String::new(), |error| format!("± {:.3}", error * scale(row))),
                if micro && row.units == "s/op" { "us/op" } else { row.units }.to_owned(),
            ]
        })
        .collect();
    let head = ["Benchmark", &format!("({cell_name})"), "Mode", "Cnt", "Score", "Error", "Units"];
    let with_cells = rows.iter().any(|row| row.cell.is_some());
    let mut widths = head.map(|name| name.chars().count());
    for line in &cells {
        for (width, text) in widths.iter_mut().zip(line) {
            *width = (*width).max(text.chars().count());
        }
    }
    let mut out = String::new();
    let mut line = |texts: [&str; 7]| {
        for (at, (text, width)) in texts.into_iter().zip(widths).enumerate() {
            match at {
                0 => out.push_str(&format!("{text:<width$}")),
                1 if !with_cells => {}
                _ => out.push_str(&format!("  {text:>width$}")),
            }
        }
        out.push('\n');
    };
    line(head);
    for cells in &cells {
        line(std::array::from_fn(|at| cells[at].as_str()));
    }
    out
}

/// Runs all cells and modes.
pub(super) fn run(args: &JmhArgs) -> anyhow::Result<u8> {
    let cells: Vec<Option<&str>> = match args.cells.is_empty() {
        true => vec![None],
        false => args.cells.iter().map(|cell| Some(cell.as_str())).collect(),
    };
    let timed = args.modes.iter().filter(|mode| **mode != Mode::Ss).count() * cells.len();
    let warm = args.warmup_time.unwrap_or(args.time) * args.warmups as u32;
    let fork = warm + args.time * args.iterations as u32;
    let about = (timed * args.forks.max(1)) as f64 * fork.as_secs_f64();
    eprintln!("{} cells x {} modes, about {about:.0} s", cells.len(), args.modes.len());
    OutputArgs::check_file(args.json.as_deref())?;
    anyhow::ensure!(args.iterations > 0, "-i must be above 0");
    anyhow::ensure!(!args.time.is_zero(), "-r must be above 0");
    let (mut all, mut interrupted) = (Vec::new(), false);
    'cells: for cell in cells {
        for mode in &args.modes {
            let shown = cell.map(|cell| format!(" ({} {cell})", args.cell_name));
            eprintln!("{}{}", mode.name(), shown.unwrap_or_default());
            let Some(outcomes) = measure(args, *mode, cell.unwrap_or_default())? else {
                interrupted = true;
                break 'cells;
            };
            all.extend(rows(args, *mode, cell, &outcomes));
        }
    }
    OutputArgs::write_json(args.json.as_deref(), &all)?;
    if !OutputArgs::json_on_stdout(args.json.as_deref()) {
        super::say(&table(&all, &args.cell_name));
    }
    if interrupted {
        eprintln!("interrupted: these are the modes that were done");
        return Ok(super::INTERRUPTED);
    }
    Ok(super::OK)
}

#[cfg(test)]
mod tests {
    use super::{Row, table};

    #[test]
    fn the_table_has_jmhs_form() {
        let row = |mode, count, score, error, units, name: &str| Row {
            benchmark: format!("MyBenchmark.testMethod{name}"),
            cell: Some("100".into()),
            mode,
            count,
            score,
            error,
            units,
        };
        let rows = [
            row("thrpt", Some(20), 899.152, Some(137.062), "ops/s", ""),
            row("avgt", Some(20), 0.1412, Some(0.002), "s/op", ""),
            row("sample", None, 0.27, None, "s/op", ":testMethod·p1.00"),
        ];
        insta::assert_snapshot!(table(&rows, "routes"));
    }
}
