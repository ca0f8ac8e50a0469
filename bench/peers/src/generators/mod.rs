//! `cargo xtask peers bench`: CPU per request of `weir bench` beside wrk, wrk2, ab, hey and oha,
//! against one nginx, in interleaved rounds; and the memory of each with thousands of users.
//!
//! CPU is user and system time of the generator's process from its start to its end over the
//! answers it counted. Ratios to wrk are taken round by round: what a round does to both cancels
//! out. A generator that is not on this machine is left out, one that fails is left out of the rest
//! of its table's row; either is told. What is measured is written after every round.

mod child;
mod kind;

use std::fmt::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use weir_testkit::tree::{root, shown};

use self::child::{Sample, measure};
use self::kind::{Generator, Load, find};
use super::interrupt::Interrupt;
use super::machine::Machine;
use super::process::Process;
use super::report::Table;
use super::stats::{Spread, grouped};
use crate::program::{self, Build};

/// The time limit for nginx to listen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Descriptors a generator or nginx needs besides its connections.
const OTHER_FILES: u64 = 100;
/// Length of a measurement of memory.
const MEMORY_S: u64 = 9;

/// Arguments of `xtask peers bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs nginx and wrk. ab, hey, oha and wrk2 are measured if they are there: --install gets ab and hey from
Debian and oha from crates.io; wrk2 is in neither, so build it and put it on PATH.
Ctrl-C ends it and keeps the rounds that are done.")]
pub struct GeneratorArgs {
    /// How often each generator is measured [default: 7; 2 with --quick]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Length of one measurement [default: 2; 1 with --quick]
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// Connections, comma-separated
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,64,1000")]
    connections: Vec<usize>,
    /// Users, or connections, for the memory table; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    users: usize,
    /// To see that it works: few short rounds, nothing written unless --out says where
    #[arg(long)]
    quick: bool,
    /// weir to measure, instead of the one of `cargo xtask release`
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Measures weir as `cargo build --release` makes it
    #[arg(long, conflicts_with = "weir")]
    plain: bool,
    /// Folder for the result, instead of bench/runs/<date>-<machine>; leaves the README alone
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Installs what is missing
    #[arg(long)]
    install: bool,
}

/// Generators with their programs.
type Programs = Vec<(Generator, PathBuf)>;

/// Samples of one generator under one load.
#[derive(Debug, serde::Serialize)]
struct Row {
    generator: Generator,
    connections: usize,
    /// By round; `None` where it failed or was left out.
    samples: Vec<Option<Sample>>,
}

/// A run as far as it has come.
struct Run<'a> {
    args: &'a GeneratorArgs,
    interrupt: Interrupt,
    machine: Machine,
    programs: Programs,
    url: String,
    rows: Vec<Row>,
    memory: Vec<Row>,
    /// Versions; and the rows that are missing from the tables, with reasons.
    notes: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// nginx or wrk is missing, or Ctrl-C.
pub fn run(args: &GeneratorArgs) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let files = super::launch::raise_files();
    let build = Build::of(args.plain);
    let (weir, how) = match args.weir.as_deref() {
        Some(given) => (program::weir(Some(given))?, "weir: the program given by --weir"),
        None => (build.weir()?, build.line()),
    };
    let mut notes = vec![how.to_owned()];
    let programs = programs(&weir, args.install, &mut notes)?;
    let versions = programs.iter().filter_map(|(generator, program)| generator.version(program));
    notes.push(versions.collect::<Vec<_>>().join("; "));
    let machine = Machine::here();
    let work = tempfile::Builder::new().prefix("weir-generators-").tempdir()?;
    let (nginx, url) = nginx(work.path(), files, &interrupt)?;
    let (rows, memory) = (Vec::new(), Vec::new());
    let mut run = Run { args, interrupt, machine, programs, url, rows, memory, notes };
    let ended = run.all(files);
    drop(nginx);
    run.write()?;
    println!("{}", run.markdown());
    ended.context("ended early; what is above was measured before")?;
    if args.out.is_none() && !args.quick {
        run.publish()?;
    }
    Ok(())
}

impl Run<'_> {
    fn rounds(&self) -> usize {
        self.args.rounds.unwrap_or(if self.args.quick { 2 } else { 7 }).max(1)
    }

    fn seconds(&self) -> u64 {
        self.args.seconds.unwrap_or(if self.args.quick { 1 } else { 2 }).max(1)
    }

    /// Runs all requested measurements.
    fn all(&mut self, files: u64) -> anyhow::Result<()> {
        let (rounds, seconds, programs) = (self.rounds(), self.seconds(), self.programs.len());
        let loads = self.args.connections.len();
        let memory_s = if self.args.users > 0 { MEMORY_S } else { 0 };
        let all_s = (loads * rounds * programs) as u64 * seconds + programs as u64 * memory_s;
        eprintln!("{programs} generators, {loads} loads, {rounds} rounds: {all_s} s and more");
        for connections in self.args.connections.clone() {
            self.compare(connections, rounds, seconds)?;
        }
        if self.args.users > 0 {
            self.remember(files)?;
        }
        Ok(())
    }

    /// CPU of all generators on so many connections.
    fn compare(&mut self, connections: usize, rounds: usize, seconds: u64) -> anyhow::Result<()> {
        let first = self.rows.len();
        let row = |(generator, _): &(Generator, PathBuf)| {
            let generator = *generator;
            Row { generator, connections, samples: Vec::new() }
        };
        self.rows.extend(self.programs.iter().map(row));
        let mut failed = vec![false; self.programs.len()];
        for round in 0..rounds {
            let mut told = format!("{connections} connections, round {} of {rounds}:", round + 1);
            for step in 0..self.programs.len() {
                // Each begins a round in its turn.
                let at = (round + step) % self.programs.len();
                let load = Load::Connections(connections, seconds);
                let sample = if failed[at] { None } else { self.sample(at, load)? };
                failed[at] |= sample.is_none();
                let cost = sample.map_or("-".into(), |sample| format!("{:.2}", sample.cpu_us));
                let _ = write!(told, " {} {cost},", self.programs[at].0.name());
                self.rows[first + at].samples.push(sample);
            }
            eprintln!("{} µs", told.trim_end_matches(','));
            self.write()?;
        }
        Ok(())
    }

    /// Memory of all generators with so many users.
    fn remember(&mut self, files: u64) -> anyhow::Result<()> {
        let room = files.saturating_sub(OTHER_FILES) as usize;
        let users = self.args.users.min(room);
        if users < self.args.users {
            let asked = grouped(self.args.users as f64, 0);
            self.notes.push(format!(
                "memory is that of {} users, not {asked}: the system allows a process {files} \
                 descriptors (ulimit -Hn)",
                grouped(users as f64, 0)
            ));
        }
        for at in 0..self.programs.len() {
            let generator = self.programs[at].0;
            let sample = self.sample(at, Load::Users(users, MEMORY_S))?;
            let size = sample.map_or("-".into(), |s| format!("{:.1}", megabytes(s.peak_bytes)));
            eprintln!("{users} users: {} {size} MB", generator.name());
            self.memory.push(Row { generator, connections: users, samples: vec![sample] });
            self.write()?;
        }
        Ok(())
    }

    /// One measurement; `None`, and a note, if the generator fails.
    fn sample(&mut self, at: usize, load: Load) -> anyhow::Result<Option<Sample>> {
        let Some((generator, program)) = self.programs.get(at) else { return Ok(None) };
        let measured = measure(*generator, program, load, &self.url, &self.interrupt);
        self.interrupt.check()?;
        match measured {
            Ok(sample) => Ok(Some(sample)),
            Err(error) => {
                let (name, sockets) = (generator.name(), load.sockets());
                let note = format!("{name} failed on {sockets} connections: {error:#}");
                eprintln!("{note}");
                self.notes.push(note);
                Ok(None)
            }
        }
    }

    fn folder(&self) -> Option<PathBuf> {
        let own = || root().join("bench/runs").join(self.machine.folder());
        self.args.out.clone().or_else(|| (!self.args.quick).then(own))
    }

    /// Writes the results so far.
    fn write(&self) -> anyhow::Result<()> {
        let Some(folder) = self.folder() else { return Ok(()) };
        let json = serde_json::json!({
            "machine": self.machine,
            "notes": self.notes,
            "cpu": self.rows,
            "memory": self.memory,
        });
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        for (name, text) in [
            ("bench.md", self.markdown()),
            ("bench.json", serde_json::to_string_pretty(&json)? + "\n"),
        ] {
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    fn markdown(&self) -> String {
        let mut out = String::from("# What a request costs the generator\n\n");
        let _ = writeln!(
            out,
            "`cargo xtask peers bench --rounds {} --seconds {}`\n\n\
             User and system time of the generator over the answers it counted, against one nginx with\n\
             one worker; keep-alive, three bytes. Median of the rounds, and the least and greatest in\n\
             parentheses; ratios are taken round by round. weir keeps response, service and first-byte\n\
             histograms and one per second; wrk its latencies.\n",
            self.rounds(),
            self.seconds()
        );
        for line in self.machine.lines().iter().chain(&self.notes) {
            let _ = writeln!(out, "- {line}");
        }
        let _ = write!(out, "\n{}", self.cpu_table().markdown());
        if !self.memory.is_empty() {
            let _ = write!(
                out,
                "\n## Memory\n\nThe most each had resident: weir with users that come within a \
                 third of the time and think for\na second, the others with as many connections.\
                 \n\n{}",
                self.memory_table().markdown()
            );
        }
        out
    }

    fn cpu_table(&self) -> Table {
        let head = ["connections", "generator", "CPU µs", "user µs", "ratio to wrk", "requests/s"];
        let mut table = Table::new("CPU per request", &head);
        let each = |row: &Row, value: fn(&Sample) -> f64| -> Vec<f64> {
            row.samples.iter().map(|sample| sample.as_ref().map_or(f64::NAN, value)).collect()
        };
        let show = |spread: Option<Spread>, digits| spread.map_or("-".into(), |s| s.show(digits));
        let middle = |values: Vec<f64>, digits| {
            Spread::of(values).map_or("-".into(), |spread| grouped(spread.median, digits))
        };
        for row in &self.rows {
            let same = |other: &&Row| {
                other.connections == row.connections && other.generator == Generator::Wrk
            };
            let wrk = self.rows.iter().find(same).map(|wrk| each(wrk, |s| s.cpu_us));
            let own = each(row, |sample| sample.cpu_us);
            let ratio = wrk.and_then(|wrk| Spread::ratio(&own, &wrk));
            table.row([
                grouped(row.connections as f64, 0),
                row.generator.name().to_owned(),
                show(Spread::of(own), 2),
                middle(each(row, |sample| sample.user_us), 2),
                show(ratio, 2),
                middle(each(row, |sample| sample.rate), 0),
            ]);
        }
        table
    }

    fn memory_table(&self) -> Table {
        let mut table = Table::new("Memory", &["connections", "generator", "MB", "requests/s"]);
        for row in &self.memory {
            let sample = row.samples.first().copied().flatten();
            let show =
                |value: Option<f64>, digits| value.map_or("-".into(), |v| grouped(v, digits));
            table.row([
                grouped(row.connections as f64, 0),
                row.generator.name().to_owned(),
                show(sample.map(|sample| megabytes(sample.peak_bytes)), 1),
                show(sample.map(|sample| sample.rate), 0),
            ]);
        }
        table
    }

    /// Puts the table of a whole run into the README.
    fn publish(&self) -> anyhow::Result<()> {
        let Some(folder) = self.folder() else { return Ok(()) };
        let block = format!(
            "CPU a request costs `weir bench` and others, in one run ([run]({}),\n\
             `cargo xtask peers bench`):\n\n{}",
            shown(&folder.join("bench.md")),
            self.cpu_table().markdown()
        );
        let notes = self.notes.iter().map(|note| format!("- {note}\n"));
        let block = format!("{block}\n{}", notes.collect::<String>());
        super::report::publish("bench", &block)
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Generators that are here, wrk first.
fn programs(weir: &Path, install: bool, notes: &mut Vec<String>) -> anyhow::Result<Programs> {
    let mut found = Vec::new();
    for generator in kind::ALL {
        let (name, how) = generator.program();
        let wanted = install && find(name).is_none() && generator != Generator::Weir;
        if wanted && !generator.install()? {
            eprintln!("{name} could not be installed");
        }
        match (generator, find(name)) {
            (Generator::Weir, _) => found.push((generator, weir.to_owned())),
            (_, Some(path)) => found.push((generator, path)),
            (Generator::Wrk, None) => bail!("wrk is not on this machine ({how})"),
            (_, None) => {
                let note = format!("{name} is left out: it is not on this machine ({how})");
                eprintln!("{note}");
                notes.push(note);
            }
        }
    }
    Ok(found)
}

/// An nginx with one worker that answers three bytes; and its URL.
fn nginx(work: &Path, files: u64, interrupt: &Interrupt) -> anyhow::Result<(Process, String)> {
    let program = find("nginx").context("nginx is not on this machine (apt-get install nginx)")?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let folder = work.display();
    let config = format!(
        "worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n\
         events {{ worker_connections {files}; }}\n\
         http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;\n\
         server {{ listen {address} backlog=65535; location / {{ return 200 \"ok\\n\"; }} }} }}\n"
    );
    let file = work.join("nginx.conf");
    std::fs::write(&file, config)?;
    let command = [program.display().to_string(), "-c".to_owned(), file.display().to_string()];
    let mut process = Process::start(&command, &[], &work.join("nginx.log"))?;
    let began = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        process.check()?;
        ensure!(began.elapsed() < PATIENCE, "nginx does not listen on {address}");
        interrupt.sleep(Duration::from_millis(10))?;
    }
    Ok((process, format!("http://{address}/")))
}
