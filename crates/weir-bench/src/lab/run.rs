//! Runs an experiment: servers up, commands, tables, one page.

use super::experiment::{EXPERIMENTS, Experiment, Places, Step, fill_value};
use super::measured;
use super::server::{configure, free_address, start};
use super::table::{Filling, text};
use crate::cli;
use crate::descriptors;
use crate::outcome::Outcome;
use crate::report::{self, Stored, Table};
use anyhow::{Context, bail};
use clap::Parser;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// `weir bench`, for the commands of an experiment.
#[derive(Parser)]
#[command(name = "weir bench")]
pub(super) struct Bench {
    #[command(flatten)]
    args: cli::Args,
}

/// Arguments of `weir lab run`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Name of an experiment, or a file
    experiment: String,
    /// As long as published, instead of a short version
    #[arg(long)]
    full: bool,
    /// Folder for results and pages [default: lab-NAME]
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Measure a running Spring Cloud Gateway (or any gateway) beside weir; it must serve the
    /// application.yml that is printed
    #[arg(long, value_name = "URL")]
    scg: Option<String>,
    /// Where the origin listens [default: a free port; 127.0.0.1:9999 with --scg]
    #[arg(long, value_name = "ADDRESS")]
    origin: Option<SocketAddr>,
}

struct Lab<'a> {
    args: &'a RunArgs,
    experiment: &'a Experiment,
    output: PathBuf,
    origin: SocketAddr,
    tables: Vec<Filling>,
    outcomes: Vec<Outcome>,
    /// Commands run.
    count: usize,
    /// Notes for the reader of the tables.
    notes: Vec<String>,
}

/// Runs the requested experiment.
///
/// # Errors
/// When a server does not start or a command fails.
pub(super) fn experiment(args: &RunArgs) -> anyhow::Result<u8> {
    let found = EXPERIMENTS.iter().find(|(name, _)| *name == args.experiment);
    let source = match found {
        Some((_, text)) => (*text).to_owned(),
        None => std::fs::read_to_string(&args.experiment)
            .with_context(|| format!("{} is no experiment and no file", args.experiment))?,
    };
    let experiment = Experiment::parse(&source).with_context(|| args.experiment.clone())?;
    let name = Path::new(&args.experiment).file_stem().unwrap_or_default().to_string_lossy();
    let output = args.output.clone().unwrap_or_else(|| format!("lab-{name}").into());
    std::fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    let origin = match (args.origin, &args.scg) {
        (Some(address), _) if address.port() == 0 => bail!("--origin needs a port"),
        (Some(address), _) => address,
        // A gateway that runs already has its configuration, with the seeds' address in it.
        (None, Some(_)) => SocketAddr::from(([127, 0, 0, 1], 9999)),
        (None, None) => free_address()?,
    };
    let tables = experiment.tables.iter().map(Filling::new).collect();
    let mut lab = Lab {
        args,
        experiment: &experiment,
        output,
        origin,
        tables,
        outcomes: Vec::new(),
        count: 0,
        notes: Vec::new(),
    };
    println!("{}\n", experiment.title);
    let mut code = cli::OK;
    // A gateway needs some for its upstream, too.
    let most = descriptors::raise().map_or(u64::MAX, |files| files / 10 * 9);
    for step in &experiment.steps {
        let (values, cut) = step.within(args.full, most);
        if let Some(cut) = cut.filter(|cut| !lab.notes.contains(cut)) {
            println!("{cut}");
            lab.notes.push(cut);
        }
        for value in values {
            code = lab.step(step, value)?;
            if code == cli::INTERRUPTED {
                break;
            }
        }
        if code == cli::INTERRUPTED {
            break;
        }
    }
    if code == cli::INTERRUPTED {
        lab.notes.push("interrupted: these are the rows so far".to_owned());
    }
    lab.finish()?;
    Ok(code)
}

impl Lab<'_> {
    /// One step for one value: with weir, and with the gateway of `--scg` if the step has one.
    fn step(&mut self, step: &Step, value: Option<u64>) -> anyhow::Result<u8> {
        let table = fill_value(&step.table, value);
        println!("\n== {table}: {}", step.series);
        let flags = format!("origin --quiet --listen {} {}", self.origin, step.origin);
        let log = self.output.join(format!("origin-{}.log", self.count + 1));
        let _origin = start(&fill_value(&flags, value), self.origin, &log)?;
        let dir = self.output.join(format!("gateway-{}", self.count + 1));
        if let Some(pipeline) = &step.pipeline {
            std::fs::create_dir_all(&dir)?;
            return self.pipeline(step, value, pipeline, &dir);
        }
        let Some(more) = &step.gateway else {
            return self.commands(step, value, &step.series, String::new());
        };
        std::fs::create_dir_all(&dir)?;
        let routes: u64 = match fill_value(&step.routes, value).as_str() {
            "" => 0,
            text => text.parse().with_context(|| format!("routes: '{text}'"))?,
        };
        let config = dir.join("application.yml");
        configure(&config, routes, self.origin)?;
        let address = free_address()?;
        let flags = format!(
            "run --log warn --set server.address=127.0.0.1 --set server.port={} \
             --set weir.admin.port=0 --data {} {} {}",
            address.port(),
            dir.join("data").display(),
            fill_value(more, value),
            config.display(),
        );
        let weir = start(&flags, address, &dir.join("log"))?;
        let code = self.commands(step, value, &step.series, format!("http://{address}"))?;
        drop(weir);
        match &self.args.scg {
            Some(url) if code == cli::OK => self.other(step, value, url, &config),
            _ => Ok(code),
        }
    }

    /// One step through the pipeline of an ini file.
    fn pipeline(
        &mut self,
        step: &Step,
        value: Option<u64>,
        pipeline: &str,
        dir: &Path,
    ) -> anyhow::Result<u8> {
        let address = free_address()?;
        let text = pipeline
            .replace("{listen}", &address.to_string())
            .replace("{upstream}", &self.origin.to_string());
        let file = dir.join("proxy.ini");
        std::fs::write(&file, fill_value(&text, value))?;
        let flags = format!(
            "run --log warn --set weir.admin.port=-1 --data {} {}",
            dir.join("data").display(),
            file.display(),
        );
        let _weir = start(&flags, address, &dir.join("log"))?;
        self.commands(step, value, &step.series, format!("http://{address}"))
    }

    /// The same step against a gateway that is already running.
    fn other(
        &mut self,
        step: &Step,
        value: Option<u64>,
        url: &str,
        config: &Path,
    ) -> anyhow::Result<u8> {
        println!("\n{url} must serve {}", config.display());
        let series = step.series.replace("weir", "SCG");
        let series = if series == step.series { format!("SCG {series}") } else { series };
        self.commands(step, value, &series, url.trim_end_matches('/').to_owned())
    }

    fn commands(
        &mut self,
        step: &Step,
        value: Option<u64>,
        series: &str,
        gateway: String,
    ) -> anyhow::Result<u8> {
        let places = Places { origin: self.origin, gateway, value };
        let full = self.args.full;
        let flags = if full { &self.experiment.full } else { &self.experiment.quick };
        for line in step.lines(full) {
            self.count += 1;
            let line = format!("{} {flags}", places.fill(line));
            let json = self.output.join(format!("{:02}.json", self.count));
            let code = bench(line.trim(), &json)?;
            if code == cli::INTERRUPTED {
                return Ok(code);
            }
            let stored = std::fs::read_to_string(&json).ok();
            let Some(stored) = stored.filter(|_| code != cli::FAILED) else {
                bail!("weir bench {line}: failed");
            };
            let row = fill_value(&step.row, value);
            let rows = measured::rows(&serde_json::from_str(&stored)?, &row)?;
            let table = fill_value(&step.table, value);
            let place = self.tables.iter_mut().find(|known| known.name() == table);
            let place = place.with_context(|| format!("no table '{table}'"))?;
            for (key, measured) in rows {
                place.put(series, key, &measured);
            }
            self.page(&json, &stored)?;
        }
        Ok(cli::OK)
    }

    /// A page of one command's result, if it holds runs.
    fn page(&mut self, json: &Path, text: &str) -> anyhow::Result<()> {
        let Ok(stored) = report::read(text) else { return Ok(()) };
        std::fs::write(json.with_extension("html"), report::html::render(&stored)?)?;
        self.outcomes.extend(stored.outcomes);
        Ok(())
    }

    /// The notes to be printed with the tables.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if !self.args.full {
            notes.push("short runs; rows without our numbers belong to --full".to_owned());
        }
        let doubtful = |outcome: &&Outcome| !outcome.verdict.limit.conclusive();
        let (count, all) = (self.outcomes.iter().filter(doubtful).count(), self.outcomes.len());
        if count > 0 {
            notes.push(format!(
                "{count} of {all} runs were limited by the generator or its host and say little \
                 about the server: repeat them where nothing else runs"
            ));
        }
        notes
    }

    /// Prints the tables and writes the page of the whole experiment.
    fn finish(self) -> anyhow::Result<()> {
        let mut tables: Vec<_> =
            self.tables.iter().filter(|table| table.filled()).map(Filling::table).collect();
        println!("\n{}\n", self.experiment.title);
        for table in &tables {
            println!("{}", text(table));
        }
        let notes = self.notes();
        for note in &notes {
            println!("{note}");
        }
        if !notes.is_empty() {
            let rows = notes.into_iter().map(|note| vec![note]).collect();
            tables.push(Table { title: "Notes".into(), head: vec!["note".into()], rows });
        }
        if !self.experiment.conclusions.is_empty() {
            println!("Published conclusions:\n{}", self.experiment.conclusions);
        }
        let page = self.output.join("report.html");
        let title = self.experiment.title.clone();
        let about = match self.experiment.conclusions.as_str() {
            "" => String::new(),
            published => format!("Published:\n{published}"),
        };
        let stored = Stored { outcomes: self.outcomes, tables, title, about, points: vec![] };
        std::fs::write(&page, report::html::render(&stored)?)?;
        println!("Results and pages are in {}", page.display());
        Ok(())
    }
}

/// One bench command, its result stored in `json`.
fn bench(line: &str, json: &Path) -> anyhow::Result<u8> {
    let mut words: Vec<String> =
        std::iter::once("weir-bench").chain(line.split_whitespace()).map(str::to_owned).collect();
    words.extend(["--json".to_owned(), json.to_string_lossy().into_owned()]);
    println!("\n$ weir bench {line}");
    Ok(cli::run(Bench::try_parse_from(words)?.args))
}
