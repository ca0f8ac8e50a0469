//! `weir lab`: the seeds' experiments, each one command. An experiment is a YAML file under
//! `examples/experiments`: servers to start, bench commands to run, the published numbers to print
//! beside ours. Called by the binary; servers are started from the running executable.

use crate::cli;
use crate::report;
use anyhow::{Context, bail};
use clap::Parser;
use serde::Deserialize;
use std::fmt::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Experiments in the binary: name and text.
const EXPERIMENTS: [(&str, &str); 5] = [
    ("seed-000", include_str!("../../../examples/experiments/seed-000.yaml")),
    ("seed-001", include_str!("../../../examples/experiments/seed-001.yaml")),
    ("seed-002", include_str!("../../../examples/experiments/seed-002.yaml")),
    ("seed-003", include_str!("../../../examples/experiments/seed-003.yaml")),
    ("seed-004", include_str!("../../../examples/experiments/seed-004.yaml")),
];
/// Longest time for a server to listen: 100,000 routes may take a while on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Arguments of `weir lab`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum LabCommand {
    /// List the experiments
    List,
    /// Run one
    Run(RunArgs),
}

/// Arguments of `weir lab run`.
#[derive(Clone, Debug, clap::Args)]
struct RunArgs {
    /// Name of an experiment, or a file
    experiment: String,
    /// As long as published, instead of a short version
    #[arg(long)]
    full: bool,
    /// Folder for results and pages [default: lab-NAME]
    #[arg(short, long)]
    output: Option<PathBuf>,
}

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Experiment {
    title: String,
    published: String,
    /// Flags added to every command of the short version.
    quick: String,
    /// Flags added to every command of the full version.
    full: String,
    #[serde(default)]
    servers: Vec<ServerFile>,
    routes: Option<usize>,
    steps: Vec<Step>,
}

/// Commands under the same servers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    #[serde(default)]
    servers: Vec<ServerFile>,
    routes: Option<usize>,
    bench: Vec<String>,
    full: Option<Vec<String>>,
}

/// A server: `{weir}` is this executable, `{dir}` a fresh folder with `application.yml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerFile {
    command: String,
    listens: SocketAddr,
}

#[derive(Parser)]
#[command(name = "weir bench")]
struct Bench {
    #[command(flatten)]
    args: cli::Args,
}

/// A running server; ended when dropped.
struct Server(Child);

impl Server {
    fn start(file: &ServerFile, dir: &Path) -> anyhow::Result<Self> {
        if TcpStream::connect(file.listens).is_ok() {
            bail!("{} is in use by another server", file.listens);
        }
        let weir = std::env::current_exe()?;
        let put = |word: &str| {
            let word = word.replace("{weir}", &weir.to_string_lossy());
            word.replace("{dir}", &dir.to_string_lossy())
        };
        let mut words = file.command.split_whitespace().map(put);
        let program = words.next().context("an empty command")?;
        let child = Command::new(program).args(words).stdout(Stdio::null()).spawn();
        let mut server = Self(child.with_context(|| file.command.clone())?);
        let patience = Instant::now() + PATIENCE;
        while TcpStream::connect(file.listens).is_err() {
            if let Some(status) = server.0.try_wait()? {
                bail!("{}: ended with {status}", file.command);
            }
            anyhow::ensure!(Instant::now() < patience, "{}: not listening", file.command);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.0.wait().ok();
    }
}

/// A gateway configuration with `count` routes of the seed's shape, then two plain ones.
fn configuration(count: usize) -> String {
    let mut out =
        String::from("server:\n  port: 8888\nspring:\n  cloud:\n    gateway:\n      routes:\n");
    for number in 0..count {
        let _ = write!(
            out,
            "      - id: mock-{number}\n        uri: http://127.0.0.1:9999\n        \
             predicates: [Path=/mock/{number}]\n        filters: \
             [\"AddRequestHeader=x-benchmark-routeId, mock-{number}\", PrefixPath=/ok]\n"
        );
    }
    out.push_str(
        "      - id: hello\n        uri: http://127.0.0.1:9999\n        \
         predicates: [\"Path=/hello/**\"]\n      - id: ok\n        \
         uri: http://127.0.0.1:9999\n        \
         predicates: [\"Path=/ok/**\"]\n",
    );
    out
}

/// Runs `weir lab` and gives its exit code.
pub fn run(args: &Args) -> u8 {
    let result = match &args.command {
        LabCommand::List => {
            list();
            Ok(cli::OK)
        }
        LabCommand::Run(args) => experiment(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("weir lab: {error:#}");
        cli::FAILED
    })
}

fn list() {
    for (name, text) in EXPERIMENTS {
        let title = serde_saphyr::from_str::<Experiment>(text).map(|experiment| experiment.title);
        println!("{name}  {}", title.unwrap_or_default());
    }
}

fn experiment(args: &RunArgs) -> anyhow::Result<u8> {
    let found = EXPERIMENTS.iter().find(|(name, _)| *name == args.experiment);
    let text = match found {
        Some((_, text)) => (*text).to_owned(),
        None => std::fs::read_to_string(&args.experiment)
            .with_context(|| format!("{} is no experiment and no file", args.experiment))?,
    };
    let experiment: Experiment = serde_saphyr::from_str(&text)?;
    let name = Path::new(&args.experiment).file_stem().unwrap_or_default().to_string_lossy();
    let output = args.output.clone().unwrap_or_else(|| format!("lab-{name}").into());
    std::fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    println!("{}\n\nPublished:\n{}", experiment.title, experiment.published);
    let mut number = 0;
    for step in &experiment.steps {
        println!("== {}", step.name);
        let dir = output.join(format!("step-{}", number + 1));
        std::fs::create_dir_all(&dir)?;
        if let Some(count) = step.routes.or(experiment.routes) {
            std::fs::write(dir.join("application.yml"), configuration(count))?;
        }
        let servers = experiment.servers.iter().chain(&step.servers);
        let running: Vec<Server> =
            servers.map(|file| Server::start(file, &dir)).collect::<Result<_, _>>()?;
        let lines = step.full.as_ref().filter(|_| args.full).unwrap_or(&step.bench);
        for line in lines {
            number += 1;
            let flags = if args.full { &experiment.full } else { &experiment.quick };
            let code = bench(line, flags, &output.join(format!("{number:02}")))?;
            if code == cli::INTERRUPTED {
                return Ok(code);
            }
            anyhow::ensure!(code != cli::FAILED, "weir bench {line}: failed");
        }
        drop(running);
    }
    println!("Results and pages are in {}", output.display());
    Ok(cli::OK)
}

/// One bench command; keeps its result, and a page of it if it is one of runs.
fn bench(line: &str, flags: &str, stem: &Path) -> anyhow::Result<u8> {
    let json = stem.with_extension("json");
    let kept = !line.starts_with("ab ");
    let mut words: Vec<String> = ["weir-bench", line, flags]
        .iter()
        .flat_map(|part| part.split_whitespace())
        .map(Into::into)
        .collect();
    if kept {
        words.extend(["--json".to_owned(), json.to_string_lossy().into_owned()]);
    }
    println!("\n$ weir bench {line} {flags}");
    let code = cli::run(Bench::try_parse_from(words)?.args);
    let text = if kept { std::fs::read_to_string(&json).ok() } else { None };
    if let Some(stored) = text.and_then(|text| report::read(&text).ok()) {
        std::fs::write(stem.with_extension("html"), report::html::render(&stored)?)?;
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::{Bench, EXPERIMENTS, Experiment, configuration};
    use clap::Parser;

    /// Every command of every experiment is one that `weir bench` takes.
    #[test]
    fn experiments_hold_commands_that_parse() {
        for (name, text) in EXPERIMENTS {
            let experiment: Experiment = serde_saphyr::from_str(text).unwrap();
            for step in &experiment.steps {
                let quick = step.bench.iter().map(|line| (line, &experiment.quick));
                let full = step.full.as_ref().unwrap_or(&step.bench);
                for (line, flags) in quick.chain(full.iter().map(|line| (line, &experiment.full))) {
                    let line = format!("weir-bench {line} {flags}");
                    let parsed = Bench::try_parse_from(line.split_whitespace());
                    assert!(parsed.is_ok(), "{name}: {line}: {}", parsed.err().unwrap());
                }
            }
        }
    }

    #[test]
    fn routes_have_the_seeds_shape() {
        let text = configuration(2);
        assert_eq!(text.matches("PrefixPath=/ok").count(), 2);
        assert!(text.contains("Path=/mock/1]") && !text.contains("Path=/mock/2"));
    }
}
